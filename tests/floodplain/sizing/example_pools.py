"""Small pools with round figures, so that a reader can do the sums of a test in the head."""

from __future__ import annotations

from typing import Any

from floodplain.pools import POOL_LABEL, PoolDocument, PoolLimits, PoolTaint, PoolType
from floodplain.quantity import GIB, MIB
from floodplain.sizing.settings import SizingSettings

NOTHING_BESIDE = SizingSettings(daemonset_memory="0", daemonset_cpu="0")
"""No DaemonSets: a node's room is what it offers."""


def kind(name: str, memory_gib: int, vcpu: int, **changes: Any) -> PoolType:
    """A type whose pods may have all but 1 GiB of its memory and all of its CPU."""
    values: dict[str, Any] = {
        "name": name,
        "vcpu": vcpu,
        "memory_bytes": memory_gib * GIB,
        "nvme_bytes": 10 * memory_gib * GIB,
        "allocatable_memory_bytes": (memory_gib - 1) * GIB,
        "allocatable_cpu_millicores": vcpu * 1000,
        "pods": 58,
        "swap_bytes_at_most": 2 * memory_gib * GIB,
        "ephemeral_bytes_for_pods": 6 * memory_gib * GIB,
    }
    return PoolType(**{**values, **changes})


SMALL, MIDDLE, LARGE = kind("a.small", 17, 4), kind("a.middle", 33, 8), kind("a.large", 129, 32)


def pool(name: str = "swap", *types: PoolType, **changes: Any) -> PoolDocument:
    """Swap of twice the memory, no margin for headroom and overhead unless asked for."""
    values: dict[str, Any] = {
        "name": name,
        "taint": PoolTaint(key=POOL_LABEL, value=name),
        "node_selector": {POOL_LABEL: name},
        "architecture": "amd64",
        "capacity_types": ("on-demand", "spot"),
        "families": ("a",),
        "types": types or (SMALL, MIDDLE, LARGE),
        "swap_ratio": 2.0,
        "margin": 0.2,
        "hot_share": 0.5,
        "swappiness": 10,
        "limits": PoolLimits(cpu_millicores=1_000_000, memory_bytes=4096 * GIB),
        "longest_job_seconds": 86_400,
        "runtime_class": f"floodplain-{name}",
        "overhead_bytes": MIB,
        "headroom_bytes": 0,
        "ephemeral_bytes_per_memory_byte": 4.0,
    }
    return PoolDocument(**{**values, **changes})
