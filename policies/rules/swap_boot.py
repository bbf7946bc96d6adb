"""Does a node that sets up swap do it so that its failure, its disk and its daemons are taken care of?

Asked of the shell text in user data, however it was written. What the unit really does on a node is shown by
the node tests, not here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from pulumi_policy import Policy, ResourceValidationArgs, Severity

from .boot_text import BootText
from .kinds import is_node_class
from .protected import PROTECTED_STACKS_SCHEMA, is_protected
from .proxies import get
from .rule import About, of_type, resource_rule
from .user_data import boot_text_of

_SLICES = ("system.slice", "runtime.slice")
_REQUIRED = re.compile(
    r"kubelet\.service\.d/.*?^\s*Requires=\S|kubelet\.service\.requires/|^\s*RequiredBy=[^\n]*kubelet",
    re.MULTILINE | re.DOTALL,
)
_ORDERED = re.compile(r"kubelet\.service\.d/.*?^\s*After=\S|^\s*Before=[^\n]*kubelet", re.MULTILINE | re.DOTALL)
_TIMEOUT = re.compile(r"^\s*TimeoutStartSec=(?!\s*(0|infinity)\s*$)\s*\d", re.MULTILINE)
_ENDS_THE_NODE = re.compile(r"^\s*(FailureAction|OnFailure)=\S*(poweroff|halt)", re.MULTILINE)
_CONSTANT = re.compile(r"vm[./](min_free_kbytes|watermark_scale_factor)\s*=\s*[\"']?(\d+)")
_NO_SWAP = {name: re.compile(re.escape(name) + r".{0,300}?MemorySwapMax=0\b", re.DOTALL) for name in _SLICES}
_IO_PROTECTION = re.compile(r"IODeviceLatencyTargetSec=|IOWeight=|io\.latency|io\.weight")


def _swap_text(args: ResourceValidationArgs) -> BootText | None:
    boot = boot_text_of(args.props)
    return boot if boot is not None and boot.sets_up_swap else None


def open_failure(args: ResourceValidationArgs) -> Iterator[str]:
    """Swap that may fail while the node takes jobs."""
    boot = _swap_text(args)
    if boot is None:
        return
    if not _REQUIRED.search(boot.script):
        yield "spec.userData: kubelet does not require the swap unit; add Requires= in kubelet.service.d"
    if not _ORDERED.search(boot.script):
        yield "spec.userData: kubelet may start before swap is on and then grants none; add After= or Before="
    if not _TIMEOUT.search(boot.script):
        yield "spec.userData: the swap unit has no TimeoutStartSec, so a hanging start holds the node; set one"


def lingering_failure(args: ResourceValidationArgs) -> Iterator[str]:
    """A node whose swap failed, paid for until Karpenter's registration timeout of 15 minutes."""
    boot = _swap_text(args)
    if boot is not None and not _ENDS_THE_NODE.search(boot.script):
        yield "spec.userData: a node whose swap fails lives on for 15 minutes; set FailureAction=poweroff-force"


def disk_counted_twice(args: ResourceValidationArgs) -> Iterator[str]:
    """A swap file that the scheduler still counts as room for pods."""
    boot = _swap_text(args)
    if boot is None:
        return
    reserved = any(
        get(config, "systemReserved", "ephemeral-storage") is not None for config in boot.dropped_in_kubelet_configs()
    )
    if not reserved and get(args.props, "spec", "kubelet", "systemReserved", "ephemeral-storage") is None:
        yield (
            "spec.userData: the swap file is not taken out of allocatable disk; write systemReserved.ephemeral-storage "
            "in a NodeConfig drop-in at boot"
        )


def swapped_daemons(args: ResourceValidationArgs) -> Iterator[str]:
    """Daemons that may be swapped out or starved of IO: on AL2023 kubelet itself runs in runtime.slice."""
    boot = _swap_text(args)
    if boot is None:
        return
    for name, pattern in _NO_SWAP.items():
        if not pattern.search(boot.script):
            yield f"spec.userData: {name} may be swapped out; set MemorySwapMax=0 on it"
    if not _IO_PROTECTION.search(boot.script):
        yield "spec.userData: daemons compete with swap for the disk; set IODeviceLatencyTargetSec on their slices"


def constant_reserve(args: ResourceValidationArgs) -> Iterator[str]:
    """Kernel reserves as constants, which suit one size of machine only."""
    boot = _swap_text(args)
    if boot is None:
        return
    for match in _CONSTANT.finditer(boot.script):
        yield (f"spec.userData: vm.{match[1]} is {match[2]} on every size of node; compute it from MemTotal at boot")


POLICIES: list[Policy] = [
    resource_rule(
        About(
            name="swap-fails-closed",
            description="Kubelet requires the swap unit and starts after it, and the unit's start is bounded.",
            remedy="Take nodeconfig's swap unit, or add Requires=, After= and TimeoutStartSec=.",
            severity=Severity.CRITICAL,
        ),
        of_type(is_node_class),
        open_failure,
    ),
    resource_rule(
        About(
            name="failed-swap-ends-the-node-in-protected-stacks",
            description="In a protected stack a node whose swap failed powers itself off and is replaced.",
            remedy="Leave powerOffOnFailure on; switch it off only to debug, outside protected stacks.",
            severity=Severity.MEDIUM,
            config=PROTECTED_STACKS_SCHEMA,
        ),
        lambda args: is_node_class(args.resource_type) and is_protected(args),
        lingering_failure,
    ),
    resource_rule(
        About(
            name="swap-is-taken-off-allocatable-disk",
            description="The swap file's bytes are reserved, so that the scheduler does not promise them to pods.",
            remedy="Take nodeconfig's boot-time drop-in, or set systemReserved ephemeral-storage.",
        ),
        of_type(is_node_class),
        disk_counted_twice,
    ),
    resource_rule(
        About(
            name="daemons-stay-in-memory",
            description="system.slice and runtime.slice are kept out of swap and have IO protection.",
            remedy="Set MemorySwapMax=0 and an IO latency target on both slices.",
        ),
        of_type(is_node_class),
        swapped_daemons,
    ),
    resource_rule(
        About(
            name="kernel-reserve-follows-memory",
            description="vm.min_free_kbytes and vm.watermark_scale_factor are computed from the node's memory.",
            remedy="Compute both at boot, as nodeconfig does.",
            severity=Severity.MEDIUM,
        ),
        of_type(is_node_class),
        constant_reserve,
    ),
]
