"""The pool that plans are made for where nobody has named one: what SwapNodePool makes of two families. Pure.

For a first look only. A cluster's own pools come from `python -m preview show pools --json`.
"""

from __future__ import annotations

from functools import cache

from floodplain.catalogue import load
from floodplain.pools import POOL_LABEL, PoolDocument, PoolLimits, PoolTaint, pool_type
from floodplain.quantity import GIB, MIB

NAME = "example"
_FAMILIES = ("m6id", "r6id")
_IMAGES_BYTES = 20 * GIB


@cache
def default_pool() -> PoolDocument:
    """m6id and r6id from 4 to 128 vCPUs with swap of twice their memory, without a limit that matters."""
    kinds = [kind for kind in load() if kind.family in _FAMILIES and not kind.metal and 4 <= kind.vcpu <= 128]
    return PoolDocument(
        name=NAME,
        taint=PoolTaint(key=POOL_LABEL, value=NAME),
        node_selector={POOL_LABEL: NAME},
        architecture="amd64",
        capacity_types=("on-demand", "spot"),
        families=_FAMILIES,
        types=tuple(pool_type(kind, ratio=2, images_bytes=_IMAGES_BYTES) for kind in kinds),
        swap_ratio=2.0,
        margin=0.2,
        hot_share=0.5,
        swappiness=10,
        limits=PoolLimits(cpu_millicores=1_000_000, memory_bytes=8192 * GIB),
        longest_job_seconds=48 * 3600,
        runtime_class=f"floodplain-{NAME}",
        overhead_bytes=16 * MIB,
        headroom_bytes=256 * MIB,
        ephemeral_bytes_per_memory_byte=1.0,
    )
