"""Pools that a component does not make but has to know: as `SwapNodePool` takes them, with the cluster they are in."""

from __future__ import annotations

from collections.abc import Iterator

from floodplain.pools import PoolDocument
from floodplain.problem import RuleError
from floodplain.rules import RuledSettings, rule

from .cluster import ClusterVersions
from .pool_document import pool_document
from .swap_pool import SwapPool, room_problems


class DescribedPools(RuledSettings):
    """What their nodes offer follows from both, so that nobody writes it a second time."""

    cluster: ClusterVersions | None = None
    pools: tuple[SwapPool, ...] = ()

    @property
    def derived_documents(self) -> tuple[PoolDocument, ...]:
        """The document of each of `pools`, in their order."""
        cluster = self.cluster
        return tuple(pool_document(pool, cluster) for pool in self.pools) if cluster else ()

    @rule("cluster", "pools")
    def _figures_can_be_derived(self) -> Iterator[RuleError]:
        if self.pools and self.cluster is None:
            remedy = "give the one that SwapNodePool gets"
            yield RuleError("is needed with pools, whose memory depends on it", remedy, ("cluster",))

    @rule("cluster", each="pools")
    def _every_node_has_room_for_a_job(self, pool: SwapPool) -> Iterator[RuleError]:
        if self.cluster is not None:
            yield from room_problems(pool, self.cluster.vm_memory_overhead_percent)
