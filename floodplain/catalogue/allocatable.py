"""What Karpenter believes a node of a type can give to pods, before any such node has registered.

Source of the arithmetic: aws/karpenter-provider-aws, pkg/providers/instancetype/types.go (1.14). It is
the pessimistic figure: after a first node of a type has registered, Karpenter uses what that node reports.
Not what kubelet reports on a real node, and for AL2023 only (the reserve follows the ENI limit).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from floodplain.catalogue.instance_type import InstanceType
from floodplain.problem import RuleError
from floodplain.quantity import GIB, MIB, to_bytes, to_millicores

# Gravitons keep 64 MiB of contiguous memory that pods cannot use.
_ARM64_RESERVED_MIB = 64
_EVICTION_MEMORY_BYTES = 100 * MIB
_EVICTION_NODEFS_PERCENT = 10.0
# Shares of a core that are reserved, per thousand of the first, second, third and fourth, and later cores.
_CPU_STEPS = ((0, 1000, Fraction(6, 100)), (1000, 2000, Fraction(1, 100)), (2000, 4000, Fraction(5, 1000)))
_CPU_REST = (4000, Fraction(25, 10000))


@dataclass(frozen=True)
class KubeletReserves:
    """The settings that take from a node's capacity, with Karpenter's defaults.

    `kube_reserved`, `system_reserved` and `eviction_hard` are spec.kubelet's maps: quantities, and for
    `eviction_hard` also percentages. `eviction_soft` is not here since it takes nothing.
    """

    vm_memory_overhead_percent: float = 0.075
    kube_reserved: Mapping[str, str] = field(default_factory=dict)
    system_reserved: Mapping[str, str] = field(default_factory=dict)
    eviction_hard: Mapping[str, str] = field(default_factory=dict)
    max_pods: int | None = None
    pods_per_core: int | None = None
    instance_store_raid0: bool = True
    root_volume: str = "20Gi"


@dataclass(frozen=True)
class Allocatable:
    """What is left for pods, and the capacity it was taken from."""

    memory_bytes: int
    capacity_memory_bytes: int
    cpu_millicores: int
    pods: int
    ephemeral_bytes: int
    ephemeral_capacity_bytes: int


def allocatable(kind: InstanceType, reserves: KubeletReserves | None = None) -> Allocatable:
    """Karpenter's estimate for one type. Never below zero.

    Raises RuleError (with the key as its path) for a reserve that is no quantity.
    """
    reserves = reserves or KubeletReserves()
    memory_capacity = _memory_capacity_bytes(kind, reserves.vm_memory_overhead_percent)
    memory = (
        memory_capacity
        - _bytes(reserves.kube_reserved, "memory", "kube_reserved", (11 * kind.pods + 255) * MIB)
        - _bytes(reserves.system_reserved, "memory", "system_reserved", 0)
        - _eviction_bytes(reserves, "memory.available", memory_capacity, _EVICTION_MEMORY_BYTES)
    )
    disk_capacity = _disk_capacity_bytes(kind, reserves)
    disk = (
        disk_capacity
        - _bytes(reserves.kube_reserved, "ephemeral-storage", "kube_reserved", GIB)
        - _bytes(reserves.system_reserved, "ephemeral-storage", "system_reserved", 0)
        - _eviction_bytes(reserves, "nodefs.available", disk_capacity, _share(disk_capacity, _EVICTION_NODEFS_PERCENT))
    )
    return Allocatable(
        memory_bytes=max(0, memory),
        capacity_memory_bytes=memory_capacity,
        cpu_millicores=max(0, _cpu_millicores(kind, reserves)),
        pods=_pods(kind, reserves),
        ephemeral_bytes=max(0, disk),
        ephemeral_capacity_bytes=disk_capacity,
    )


def _memory_capacity_bytes(kind: InstanceType, overhead_percent: float) -> int:
    size_mib = kind.memory_mib - (_ARM64_RESERVED_MIB if kind.arch == "arm64" else 0)
    # Doubles in Karpenter's order on purpose: with another percentage an exact product could be rounded
    # up to the next MiB where Karpenter's is not, or the reverse.
    overhead_mib = math.ceil(float(size_mib * MIB) * overhead_percent / 1024 / 1024)
    return max(0, (size_mib - overhead_mib) * MIB)


def _disk_capacity_bytes(kind: InstanceType, reserves: KubeletReserves) -> int:
    if reserves.instance_store_raid0 and kind.nvme_gb:
        # The whole instance store: nothing is taken off for a swap file on it.
        return kind.nvme_bytes
    try:
        return to_bytes(reserves.root_volume)
    except RuleError as error:
        raise RuleError(error.rule, error.remedy, ("root_volume",), reserves.root_volume) from error


def _cpu_millicores(kind: InstanceType, reserves: KubeletReserves) -> int:
    capacity = kind.vcpu * 1000
    if "cpu" in reserves.kube_reserved:
        reserved = _millicores(reserves.kube_reserved, "kube_reserved")
    else:
        # Each step is cut to whole millicores, as Karpenter does.
        reserved = sum(math.floor(max(0, min(capacity, end) - start) * share) for start, end, share in _CPU_STEPS)
        start, share = _CPU_REST
        reserved += math.floor(max(0, capacity - start) * share)
    if "cpu" in reserves.system_reserved:
        reserved += _millicores(reserves.system_reserved, "system_reserved")
    return capacity - reserved


def _pods(kind: InstanceType, reserves: KubeletReserves) -> int:
    count = kind.pods if reserves.max_pods is None else reserves.max_pods
    return min(count, reserves.pods_per_core * kind.vcpu) if reserves.pods_per_core else count


def _eviction_bytes(reserves: KubeletReserves, signal: str, capacity: int, default: int) -> int:
    text = reserves.eviction_hard.get(signal)
    if text is None:
        return default
    if not text.endswith("%"):
        return _bytes(reserves.eviction_hard, signal, "eviction_hard", 0)
    try:
        percent = eviction_percent(text)
    except RuleError as error:
        raise RuleError(error.rule, error.remedy, ("eviction_hard", signal), text) from error
    # 100 % switches a threshold off in kubelet, and Karpenter reads it so too.
    return 0 if percent == 100 else _share(capacity, percent)


def eviction_percent(text: str) -> float:
    """The number of a threshold such as `7.5%`. Raises RuleError."""
    try:
        percent = float(text.removesuffix("%"))
    except ValueError:
        percent = math.nan
    if not text.endswith("%") or not 0 <= percent <= 100:
        raise RuleError("is not a percentage", "write a number from 0 to 100 and %, such as 5%", value=text)
    return percent


def _share(capacity: int, percent: float) -> int:
    return math.ceil(float(capacity) / 100 * percent)


def _bytes(amounts: Mapping[str, str], key: str, owner: str, default: int) -> int:
    if key not in amounts:
        return default
    try:
        return to_bytes(amounts[key])
    except RuleError as error:
        raise RuleError(error.rule, error.remedy, (owner, key), amounts[key]) from error


def _millicores(amounts: Mapping[str, str], owner: str) -> int:
    try:
        return to_millicores(amounts["cpu"])
    except RuleError as error:
        raise RuleError(error.rule, error.remedy, (owner, "cpu"), amounts["cpu"]) from error
