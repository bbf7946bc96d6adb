"""What floodplain says of a pod before it exists: which types could take it, and which of them would be launched."""

from __future__ import annotations

from functools import cache

from components.pool_document import pool_document
from components.swap_pool import SwapPool
from floodplain.pools import PoolType
from testbed import engines
from testbed.aws import prices
from testbed.aws.running import KARPENTER_MODULE, PRICES
from tests.cluster.karpenter.bed import VERSIONS


@cache
def price_table() -> dict[str, float]:
    return prices.read_table((engines.module_folder(KARPENTER_MODULE) / PRICES).read_text())


def types(pool: SwapPool) -> tuple[PoolType, ...]:
    """The pool's instance types, cheapest first."""
    return tuple(sorted(pool_document(pool, VERSIONS).types, key=lambda kind: price_table()[kind.name]))


def fitting(pool: SwapPool, memory_bytes: int, cpu_millicores: int = 100) -> tuple[str, ...]:
    """Names of the types that can take a request, cheapest first. Empty: the pod is refused."""
    return tuple(
        kind.name
        for kind in types(pool)
        if kind.allocatable_memory_bytes >= memory_bytes and kind.allocatable_cpu_millicores >= cpu_millicores
    )
