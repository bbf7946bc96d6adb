"""What a whole platform consists of: the cluster, Karpenter, pools, controllers, and rules between them.

Not for what a single part means: each part's own settings say that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pydantic import Field

from floodplain import quantity
from floodplain.problem import RuleError
from floodplain.rules import RuledSettings, rule
from floodplain.settings import Settings

from .cluster import Cluster, ClusterVersions
from .controllers_settings import ControllersSettings
from .image_digest import ImageDigest
from .karpenter_installation import KarpenterInstallation, installation_problems
from .karpenter_settings import KarpenterSettings
from .pool_origin import TAGS_MOST, tag_problems
from .pool_types import admitted
from .sizing_settings import SizingServiceSettings
from .swap_pool import SwapPool, room_problems, stack_problems
from .worker_image import digest_problems
from .worker_platform import namespace_problems, swap_pool_problems, twins
from .worker_settings import Workers


class PlatformKarpenter(KarpenterSettings):
    """Karpenter's settings with those of its inputs that a stack file can hold as text."""

    cluster_endpoint: str | None = None
    oidc_provider_arn: str | None = None
    permissions_boundary: str | None = None
    node_role_policies: dict[str, str] = Field(default_factory=dict)


class ImageSettings(Settings):
    """floodplain's own images, by digest, as a release writes them. Without one its services stay off."""

    service: ImageDigest | None = None
    agent: ImageDigest | None = None


class PlatformSettings(RuledSettings):
    """Everything about a platform that can be checked without the cloud."""

    cluster: Cluster
    pools: tuple[SwapPool, ...] = Field(min_length=1)
    install_karpenter: bool = True
    karpenter: PlatformKarpenter = PlatformKarpenter()
    controllers: ControllersSettings = ControllersSettings()
    sizing: SizingServiceSettings = SizingServiceSettings()
    worker_pools: tuple[Workers, ...] = ()
    images: ImageSettings = ImageSettings()
    protected: bool = False
    tags: dict[str, str] = Field(default_factory=dict)

    @rule("cluster", "karpenter")
    def _karpenter_can_be_installed(self) -> Iterator[RuleError]:
        # Also where it is not installed by us: its version must go with the cluster, whoever installed it.
        yield from installation_problems(
            KarpenterInstallation.model_construct(cluster=self.cluster, karpenter=self.karpenter)
        )

    @rule("install_karpenter", "karpenter")
    def _role_of_existing_karpenter_is_named(self) -> Iterator[RuleError]:
        if not self.install_karpenter and self.karpenter.node_role_name is None:
            yield RuleError(
                "is needed when the cluster keeps the Karpenter it has (installKarpenter: false)",
                "name the IAM role its nodes use",
                ("karpenter", "node_role_name"),
            )

    @rule("karpenter", "controllers", "sizing", "images")
    def _namespace_of_sizing_is_its_own(self) -> Iterator[RuleError]:
        if self.images.service is None and "sizing" not in self.model_fields_set:
            return
        owners = {self.karpenter.namespace: "karpenter"}
        owners |= {chart.namespace: chart.release for chart in self.controllers.releases().values()}
        if self.sizing.namespace in owners:
            yield RuleError(
                f"is the namespace of {owners[self.sizing.namespace]}, whose pods could not start in it",
                "give sizing a namespace of its own",
                ("sizing", "namespace"),
                self.sizing.namespace,
            )

    @rule("tags")
    def _tags_suit_instances(self) -> Iterator[RuleError]:
        yield from tag_problems(self.tags)

    @rule("tags", each="pools")
    def _tags_are_not_too_many(self, pool: SwapPool) -> Iterator[RuleError]:
        count = len({**self.tags, **pool.tags})
        if count > TAGS_MOST:
            yield RuleError(
                f"are {count} with those of the platform, and EC2 allows {TAGS_MOST} beside Karpenter's own",
                "leave some out",
                ("tags",),
            )

    @rule("protected", each="pools")
    def _pool_suits_the_stack(self, pool: SwapPool) -> Iterator[RuleError]:
        yield from stack_problems(pool, protected=self.protected)

    @rule("karpenter", each="pools")
    def _every_node_has_room_for_a_job(self, pool: SwapPool) -> Iterator[RuleError]:
        yield from room_problems(pool, float(self.karpenter.vm_memory_overhead_percent))

    @rule("cluster", each="pools")
    def _zones_are_in_the_region(self, pool: SwapPool) -> Iterator[RuleError]:
        for index, zone in enumerate(pool.zones):
            if not zone.startswith(self.cluster.region):
                yield RuleError(f"is not in the region {self.cluster.region}", "correct it", ("zones", index), zone)

    @rule(each="pools")
    def _pool_can_launch_a_node(self, pool: SwapPool) -> Iterator[RuleError]:
        yield from _limit_problems(pool)

    @rule("pools")
    def _pools_differ(self) -> Iterator[RuleError]:
        yield from _twins(self.pools)

    @rule("worker_pools")
    def _workers_differ(self) -> Iterator[RuleError]:
        yield from twins(self.worker_pools)

    @rule("protected", each="worker_pools")
    def _workers_suit_the_stack(self, workers: Workers) -> Iterator[RuleError]:
        yield from digest_problems(workers.image, protected=self.protected)

    @rule("cluster", "pools", "karpenter", each="worker_pools")
    def _the_swap_pool_takes_the_big_worker(self, workers: Workers) -> Iterator[RuleError]:
        yield from swap_pool_problems(workers, self.pools, self.cluster_versions)

    @rule("karpenter", "controllers", "sizing", "images", each="worker_pools")
    def _namespaces_of_workers_are_their_own(self, workers: Workers) -> Iterator[RuleError]:
        yield from namespace_problems(workers, self._namespaces())

    def _namespaces(self) -> dict[str, str]:
        """Whose each namespace is that the platform makes for something else."""
        found = {chart.namespace: chart.release for chart in self.controllers.releases().values()}
        found[self.karpenter.namespace] = "karpenter"
        if self.images.service is not None:
            found[self.sizing.namespace] = "sizing"
        return found

    @property
    def cluster_versions(self) -> ClusterVersions:
        """What a pool must know of the cluster."""
        return ClusterVersions(
            name=self.cluster.name,
            kubernetes_version=self.cluster.kubernetes_version,
            karpenter_version=self.karpenter.version,
            vm_memory_overhead_percent=float(self.karpenter.vm_memory_overhead_percent),
        )


def _twins(pools: Sequence[SwapPool]) -> Iterator[RuleError]:
    """Pools that share a name or a taint."""
    names: dict[str, int] = {}
    taints: dict[tuple[str, str], int] = {}
    for index, pool in enumerate(pools):
        first = names.setdefault(pool.name, index)
        if first != index:
            yield RuleError(
                f"is the name of pools[{first}] too", "give each pool its own name", ("pools", index, "name"), pool.name
            )
        taint = (pool.node_taint.key, pool.node_taint.value)
        first = taints.setdefault(taint, index)
        if first != index and pool.name != pools[first].name:
            yield RuleError(
                f"is the taint of pools[{first}] too, so their pods would mix",
                "give each pool its own taint",
                ("pools", index, "taint"),
                "=".join(taint),
            )


def _limit_problems(pool: SwapPool) -> Iterator[RuleError]:
    """A limit below the smallest node means a pool that can never launch one."""
    types = admitted(pool.families, pool.architecture, pool.vcpus)
    smallest_cpu = min(types, key=lambda kind: kind.vcpu)
    if quantity.to_millicores(pool.limits.cpu) < smallest_cpu.vcpu * 1000:
        yield RuleError(
            f"is below the smallest node ({smallest_cpu.name} counts {smallest_cpu.vcpu}), so no node could launch",
            "raise it: limits count whole nodes",
            ("limits", "cpu"),
            pool.limits.cpu,
        )
    if quantity.to_bytes(pool.limits.memory) < types[0].memory_bytes:
        yield RuleError(
            f"is below the smallest node ({types[0].name} has {quantity.from_bytes(types[0].memory_bytes)}), "
            "so no node could launch",
            "raise it: limits count whole nodes",
            ("limits", "memory"),
            pool.limits.memory,
        )
