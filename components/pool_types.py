"""Which instance types a pool admits, and whether the disk of each can hold what it must.

Pure: the same answer at preview and at `up`, from the catalogue that ships with floodplain.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cache

from floodplain import catalogue, quantity
from floodplain.catalogue import Allocatable, InstanceType, KubeletReserves
from floodplain.problem import RuleError, did_you_mean
from floodplain.swap import family_fits

from .pool_kubelet import KubeletSettings


class Architecture(StrEnum):
    """Processor architectures, as Kubernetes names them."""

    AMD64 = "amd64"
    """x86-64."""
    ARM64 = "arm64"
    """64-bit Arm (Graviton)."""


@cache
def by_family() -> Mapping[str, tuple[InstanceType, ...]]:
    """The catalogue's virtual (Nitro) types by family; bare metal boots too slowly for this and is left out."""
    families: dict[str, tuple[InstanceType, ...]] = {}
    for kind in catalogue.load():
        if kind.hypervisor == "nitro":
            families[kind.family] = (*families.get(kind.family, ()), kind)
    return families


def admitted(families: Sequence[str], architecture: Architecture, vcpus: Sequence[int]) -> tuple[InstanceType, ...]:
    """The types a pool may launch, smallest memory first."""
    found = [
        kind
        for family in families
        for kind in by_family().get(family, ())
        if kind.arch == architecture.value and (not vcpus or kind.vcpu in vcpus)
    ]
    return tuple(sorted(found, key=lambda kind: (kind.memory_mib, kind.name)))


def reserves(kubelet: KubeletSettings, overhead_percent: float) -> KubeletReserves:
    """What Karpenter takes off a node of this pool. `overhead_percent` is its vmMemoryOverheadPercent, a share."""
    return KubeletReserves(
        vm_memory_overhead_percent=overhead_percent,
        kube_reserved=kubelet.kube_reserved,
        system_reserved=kubelet.system_reserved,
        eviction_hard=kubelet.eviction_hard,
        max_pods=kubelet.max_pods,
        pods_per_core=kubelet.pods_per_core,
    )


def allocatable(kind: InstanceType, kubelet: KubeletSettings, overhead_percent: float) -> Allocatable:
    """Karpenter's idea of what pods may request on a node of this type."""
    return catalogue.allocatable(kind, reserves(kubelet, overhead_percent))


def family_problems(
    *,
    families: Sequence[str],
    architecture: Architecture,
    vcpus: Sequence[int],
    swap_ratio: float,
    disk_per_memory: float,
    images_bytes: int,
) -> Iterator[RuleError]:
    """Every family that cannot be used, and why: unknown, wrong architecture, spinning or too small a disk.

    The disk rule is k x RAM + ephemeral + images <= 0.85 x NVMe, over every admitted type; 0.85 is where kubelet
    starts to collect images. Ephemeral is what the cap lets the pods of a full node request.
    """
    for index, family in enumerate(families):
        if family in families[:index]:
            yield RuleError("is given twice", "remove one", ("families", index), family)
            continue
        problem = _family_problem(family, architecture, vcpus, swap_ratio, disk_per_memory, images_bytes)
        if problem:
            yield RuleError(*problem, ("families", index), family)


def _family_problem(
    family: str,
    architecture: Architecture,
    vcpus: Sequence[int],
    swap_ratio: float,
    disk_per_memory: float,
    images_bytes: int,
) -> tuple[str, str] | None:
    types = by_family().get(family)
    if "." in family:
        name, _, size = family.partition(".")
        kind = next((one for one in by_family().get(name, ()) if one.size == size), None)
        sizes = f", and vcpus: [{kind.vcpu}] for that size alone" if kind else ""
        return "is an instance type where a family is wanted", f"write {name}{sizes}"
    if not types:
        meant = did_you_mean(family, by_family())
        return (
            "has no instance store, or is not in the catalogue",
            f"{meant}{' ' if meant else ''}`python -m floodplain catalogue show` lists the families with local NVMe",
        )
    if types[0].storage == "hdd":
        return "has spinning disks, too slow for swap", "choose a family with NVMe SSD"
    if all(kind.arch != architecture.value for kind in types):
        return (
            f"is {types[0].arch}, but the pool's architecture is {architecture.value}",
            f"choose a family of that architecture, or set architecture: {types[0].arch} if the images run on it",
        )
    chosen = admitted([family], architecture, vcpus)
    if not chosen:
        sizes = ", ".join(str(count) for count in sorted({kind.vcpu for kind in types}))
        return "has no size among the pool's vcpus", f"its sizes have {sizes} vCPUs"
    (fit,) = family_fits(chosen, ratio=swap_ratio, ephemeral_per_memory=disk_per_memory, images_bytes=images_bytes)
    for one in fit.types:
        if one.shortfall_bytes:
            return (
                f"cannot hold the swap: {one.kind.name} lacks {_gib(one.shortfall_bytes)} of disk for swap of "
                f"{swap_ratio:g} x {_gib(one.kind.memory_bytes)}, ephemeral storage and images within 85 % of "
                f"{one.kind.nvme_gb} GB",
                f"lower swap.ratio to at most {math.floor(fit.largest_ratio * 100) / 100:.2f}, lower disk.perMemory "
                "or disk.images, or choose a family with more NVMe",
            )
    return None


def _gib(count: int) -> str:
    return f"{count / quantity.GIB:,.1f} GiB"
