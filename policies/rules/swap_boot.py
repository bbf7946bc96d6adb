"""Does a node that sets up swap take care of its failure, its disk and its daemons?

nodeconfig finds the weak points in the boot text, however it was written; here each becomes a rule of its own, and
what the EC2NodeClass says beside the text is taken into account. What the unit really does on a node is shown by the
node tests, not here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache

import yaml
from pulumi_policy import Policy, ResourceValidationArgs, Severity

from floodplain.problem import Problem
from nodeconfig import weak_points_of_user_data

from .boot_text import boot_text_of
from .kinds import is_node_class
from .protected import PROTECTED_STACKS_SCHEMA, is_protected
from .proxies import get, text
from .rule import About, of_type, resource_rule

_DISK = "systemReserved.ephemeral-storage"


def _ends_the_node(problem: Problem) -> bool:
    return "FailureAction" in problem.remedy


def _is_about_start(problem: Problem) -> bool:
    return "kubelet.service" in problem.path or "TimeoutStartSec" in problem.remedy


def _is_about_disk(problem: Problem) -> bool:
    return problem.path == _DISK


def _is_about_daemons(problem: Problem) -> bool:
    return ".slice" in problem.path


def _is_about_reserve(problem: Problem) -> bool:
    return problem.path.startswith("vm.")


def _is_about_anything_else(problem: Problem) -> bool:
    kinds = (_ends_the_node, _is_about_start, _is_about_disk, _is_about_daemons, _is_about_reserve)
    return not any(kind(problem) for kind in kinds)


@lru_cache(maxsize=64)
def _weak_points_of(user_data: str) -> tuple[Problem, ...]:
    try:
        return tuple(weak_points_of_user_data(user_data))
    except (yaml.YAMLError, ValueError, ArithmeticError, RecursionError):
        # Unreadable: user-data-is-well-formed says so.
        return ()


def _weak_points(kind: Callable[[Problem], bool]) -> Callable[[ResourceValidationArgs], Iterator[str]]:
    def check(args: ResourceValidationArgs) -> Iterator[str]:
        if boot_text_of(args.props) is None:
            return
        for problem in _weak_points_of(text(get(args.props, "spec", "userData")) or ""):
            if kind(problem):
                yield f"spec.userData: {problem}"

    return check


def disk_counted_twice(args: ResourceValidationArgs) -> Iterator[str]:
    """A swap file that the scheduler still counts as room for pods."""
    if get(args.props, "spec", "kubelet", "systemReserved", "ephemeral-storage") is None:
        yield from _weak_points(_is_about_disk)(args)


POLICIES: list[Policy] = [
    resource_rule(
        About(
            name="swap-fails-closed",
            description="Kubelet requires the swap unit and starts after it, and the unit's start is bounded.",
            remedy="Take nodeconfig's swap unit, or add Requires=, After= and TimeoutStartSec=.",
            severity=Severity.CRITICAL,
        ),
        of_type(is_node_class),
        _weak_points(_is_about_start),
        _weak_points(_is_about_anything_else),
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
        _weak_points(_ends_the_node),
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
        _weak_points(_is_about_daemons),
    ),
    resource_rule(
        About(
            name="kernel-reserve-follows-memory",
            description="vm.min_free_kbytes and vm.watermark_scale_factor are computed from the node's memory.",
            remedy="Compute both at boot, as nodeconfig does.",
            severity=Severity.MEDIUM,
        ),
        of_type(is_node_class),
        _weak_points(_is_about_reserve),
    ),
]
