"""A pool's settings as the one document that sizing, guardrails, preview and doctor read."""

from __future__ import annotations

from functools import lru_cache

from floodplain import duration, quantity
from floodplain.pools import POOL_LABEL, PoolDocument, PoolLimits, PoolTaint, pool_type

from .cluster import ClusterVersions
from .pool_types import admitted, reserves
from .swap_pool import SwapPool


@lru_cache(maxsize=256)
def pool_document(pool: SwapPool, cluster: ClusterVersions) -> PoolDocument:
    """The pool in bytes, millicores and seconds, with every instance type it may launch."""
    taint = pool.node_taint
    return PoolDocument(
        name=pool.name,
        taint=PoolTaint(key=taint.key, value=taint.value, effect=taint.effect.value),
        node_selector={POOL_LABEL: pool.name},
        architecture=pool.architecture.value,
        capacity_types=tuple(kind.value for kind in pool.capacity_types),
        families=pool.families,
        types=tuple(
            pool_type(
                kind,
                ratio=pool.swap.ratio,
                images_bytes=quantity.to_bytes(pool.disk.images),
                reserves=reserves(pool.kubelet, cluster.vm_memory_overhead_percent),
            )
            for kind in admitted(pool.families, pool.architecture, pool.vcpus)
        ),
        swap_ratio=pool.swap.ratio,
        margin=pool.swap.margin,
        hot_share=pool.swap.hot_share,
        swappiness=pool.swap.swappiness,
        limits=PoolLimits(
            cpu_millicores=quantity.to_millicores(pool.limits.cpu),
            memory_bytes=quantity.to_bytes(pool.limits.memory),
            nodes=pool.limits.nodes,
        ),
        longest_job_seconds=duration.parse(pool.longest_job),
        runtime_class=pool.runtime_class,
        overhead_bytes=quantity.to_bytes(pool.overhead),
        headroom_bytes=quantity.to_bytes(pool.headroom),
        ephemeral_bytes_per_memory_byte=pool.disk.per_memory,
    )
