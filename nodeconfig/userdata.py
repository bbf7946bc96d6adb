"""User data of an AL2023 node that Karpenter launches: a MIME archive of a NodeConfig and a shell part.

The order of things at boot (awslabs/amazon-eks-ami, templates/al2023): nodeadm-config reads the NodeConfig,
cloud-init runs the shell part, nodeadm-run sets up the disks and starts containerd and kubelet. So the shell part
makes no swap; it leaves units that kubelet requires. They fail closed: a dependency that failed is not retried
by kubelet's Restart=, and FailureAction= ends the machine.
"""

from __future__ import annotations

from functools import lru_cache

from floodplain.problem import RuleError
from floodplain.quantity import to_bytes

from .boot_settings import BootSettings
from .paths import NodePaths
from .rendering import (
    kubelet_config,
    memory_script,
    memory_unit,
    render,
    swap_script,
    swap_unit,
    yaml_text,
)
from .user_data_check import problems_of_user_data

BOUNDARY = "//"
"""Karpenter writes every archive with this boundary; using it from the start leaves nothing to rewrite."""

SLICES = ("system.slice", "runtime.slice")
"""Daemons, and on AL2023 kubelet and containerd (amazon-eks-ami, kubelet.service: Slice=runtime.slice)."""


def node_config(settings: BootSettings) -> str:
    """The NodeConfig part (node.eks.aws/v1alpha1): kubelet keys that Karpenter leaves alone."""
    config = kubelet_config(settings, swap=settings.swap_ratio > 0)
    document = {
        "apiVersion": "node.eks.aws/v1alpha1",
        "kind": "NodeConfig",
        "spec": {"kubelet": {"config": config}},
    }
    return yaml_text(document)


def boot_script(settings: BootSettings, paths: NodePaths) -> str:
    """The shell part: writes programs, units and the drop-in for allocatable disk, then reloads systemd."""
    swap = settings.swap_ratio > 0
    reserved = dict(settings.system_reserved)
    own_storage_bytes = to_bytes(reserved.pop("ephemeral-storage", "0"))
    units = ["floodplain-memory.service", *(["floodplain-swap.service"] if swap else [])]
    return render(
        "boot.sh.j2",
        paths=paths,
        power_off=settings.power_off_on_failure,
        required_units=units,
        memory_script=memory_script(settings, paths, swap=swap),
        memory_unit=memory_unit(settings, paths),
        swap_script=swap_script(settings, paths, file=paths.swap_file, slices=SLICES) if swap else None,
        swap_unit=swap_unit(settings, paths) if swap else None,
        slices=SLICES,
        system_reserved=reserved,
        reserved_storage_bytes=own_storage_bytes,
    )


@lru_cache(maxsize=128)
def user_data(settings: BootSettings, *, root: str = "") -> str:
    """The whole user data, at most 12 KiB of ASCII; the same settings give the same bytes.

    `root` is put before every path, so that a test can run the text in a folder; leave it empty for a node.
    Raises RuleError if its own checker finds a fault, which no valid settings should cause.
    """
    text = render(
        "userdata.txt.j2",
        boundary=BOUNDARY,
        node_config=node_config(settings),
        boot_script=boot_script(settings, NodePaths(root)),
        extra_scripts=[script if script.endswith("\n") else f"{script}\n" for script in settings.extra_scripts],
    )
    for problem in problems_of_user_data(text):
        raise RuleError(f"renders user data with a fault: {problem}", "report it to floodplain")
    return text
