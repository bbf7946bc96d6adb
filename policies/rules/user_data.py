"""Do a node's boot text and Karpenter's idea of the node agree?

Karpenter's kubelet block has no swap keys and drops those it does not know; kubelet's own settings in the boot
text are invisible to Karpenter's arithmetic. So each half can be wrong alone, without a word from anybody.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

import yaml
from pulumi_policy import Policy, ResourceValidationArgs, Severity

from floodplain import quantity
from floodplain.kubelet_keys import KARPENTERS_KEYS
from floodplain.problem import Problem
from floodplain.quantity import QuantityError
from nodeconfig import problems_of_user_data

from .boot_text import boot_text_of
from .kinds import is_node_class
from .proxies import Unknowns, get, mapping, shown, text
from .rule import About, of_type, resource_rule

_PLANNED_WITH = ("evictionHard", "evictionSoft", "evictionSoftGracePeriod", "kubeReserved")
_KUBELET_PATH = "spec.kubelet.config"


@lru_cache(maxsize=64)
def _checked(user_data: str) -> tuple[Problem, ...]:
    try:
        return tuple(problems_of_user_data(user_data))
    except (yaml.YAMLError, ValueError, ArithmeticError, RecursionError) as error:
        return (Problem("whole text", f"cannot be read ({type(error).__name__})", "write a MIME archive"),)


def _problems(args: ResourceValidationArgs) -> tuple[Problem, ...]:
    """What nodeconfig's checker finds in user data of AL2023."""
    if boot_text_of(args.props) is None:
        return ()
    return _checked(text(get(args.props, "spec", "userData")) or "")


def malformed(args: ResourceValidationArgs) -> Iterator[str]:
    """Faults of archive, parts, size and character set."""
    for problem in _problems(args):
        if _KUBELET_PATH not in problem.path:
            yield f"spec.userData: {problem}"


def wrong_kubelet_settings(args: ResourceValidationArgs) -> Iterator[str]:
    """Swap that kubelet does not expect or the reverse; settings that Karpenter overwrites or cannot see."""
    for problem in _problems(args):
        if _KUBELET_PATH in problem.path:
            yield f"spec.userData: {problem}"


def dropped_keys(args: ResourceValidationArgs) -> Iterator[str]:
    """Settings that Karpenter's kubelet block does not know and drops."""
    for key in mapping(get(args.props, "spec", "kubelet")):
        if key not in KARPENTERS_KEYS:
            yield f"spec.kubelet.{key}: is dropped by Karpenter up to 1.14; write it in the NodeConfig of spec.userData"
    user_data = text(get(args.props, "spec", "userData")) or ""
    if boot_text_of(args.props) is None and "memory-swap-behavior" in user_data:
        yield "spec.userData: memory-swap-behavior is dropped by Karpenter's Bottlerocket merge; use AL2023"


def unmounted_disk(args: ResourceValidationArgs) -> Iterator[str]:
    """A swap file on a disk that nobody mounts."""
    boot = boot_text_of(args.props)
    needs_disk = boot is not None and boot.sets_up_swap and "/mnt/k8s-disks" in boot.script
    if needs_disk and text(get(args.props, "spec", "instanceStorePolicy")) != "RAID0":
        yield "spec.instanceStorePolicy: is not RAID0, so the disk that the swap file needs is never mounted; set it"


def unequal_reserves(args: ResourceValidationArgs) -> Iterator[str]:
    """systemReserved of a boot-time drop-in, which wins on the node, that is not what Karpenter plans with."""
    boot = boot_text_of(args.props)
    planned = mapping(get(args.props, "spec", "kubelet", "systemReserved"))
    unknowns = Unknowns()
    for config in boot.dropped_in if boot else ():
        reserved = mapping(config.get("systemReserved"))
        # The swap file's own share of the disk is known on the node only.
        resources = {*map(str, reserved), *planned} - {"ephemeral-storage"} if reserved else set()
        for resource in sorted(resources):
            with unknowns:
                here, there = get(reserved, resource), get(planned, resource)
                if not _equal(here, there):
                    yield (
                        f"systemReserved.{resource}: {shown(here)} in spec.userData, {shown(there)} in spec.kubelet; "
                        "write the same in both"
                    )
    unknowns.raise_first()


def hidden_thresholds(args: ResourceValidationArgs) -> Iterator[str]:
    """Thresholds and reserves of a drop-in: they take effect on the node but not in Karpenter's arithmetic."""
    boot = boot_text_of(args.props)
    configs: tuple[Mapping[str, object], ...] = boot.dropped_in if boot else ()
    for config in configs:
        for key in _PLANNED_WITH:
            if key in config:
                yield f"spec.userData: {key} in a drop-in is hidden from Karpenter; write it in spec.kubelet"


def _equal(one: object, other: object) -> bool:
    if one is None or other is None:
        return one is other
    try:
        return quantity.exact(_written(one)) == quantity.exact(_written(other))
    except QuantityError:
        return _written(one) == _written(other)


def _written(value: object) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def unplanned_eviction(args: ResourceValidationArgs) -> Iterator[str]:
    """A swap node without eviction threshold and reserve that Karpenter sees."""
    boot = boot_text_of(args.props)
    if boot is None or not boot.sets_up_swap:
        return
    kubelet = get(args.props, "spec", "kubelet")
    if get(kubelet, "evictionHard", "memory.available") is None:
        yield "spec.kubelet.evictionHard: has no memory.available; set it, below vm.min_free_kbytes, such as 256Mi"
    if get(kubelet, "systemReserved", "memory") is None and get(kubelet, "kubeReserved", "memory") is None:
        yield "spec.kubelet.systemReserved: has no memory; reserve what daemons use, such as 256Mi"


POLICIES: list[Policy] = [
    resource_rule(
        About(
            name="user-data-is-well-formed",
            description="User data is an archive that Karpenter and nodeadm read as it was meant, and fits.",
            remedy="Take the user data that nodeconfig renders, or mend what is named.",
        ),
        of_type(is_node_class),
        malformed,
    ),
    resource_rule(
        About(
            name="user-data-and-kubelet-agree",
            description="Kubelet expects swap if and only if the boot text sets it up; reserves are equal in user data "
            "and spec.kubelet; nothing that Karpenter plans with is hidden in user data or dropped from spec.kubelet.",
            remedy="Write swap keys in the NodeConfig of user data, everything else in spec.kubelet.",
            severity=Severity.CRITICAL,
        ),
        of_type(is_node_class),
        wrong_kubelet_settings,
        dropped_keys,
        unmounted_disk,
        unequal_reserves,
        hidden_thresholds,
    ),
    resource_rule(
        About(
            name="swap-node-reserves-memory-in-sight-of-karpenter",
            description="A node class with swap sets an eviction threshold and a memory reserve in spec.kubelet.",
            remedy="Set evictionHard memory.available and systemReserved memory in spec.kubelet.",
            severity=Severity.MEDIUM,
        ),
        of_type(is_node_class),
        unplanned_eviction,
    ),
]
