"""The settings of one pool whose jobs spill their memory peak to swap on local NVMe.

Everything that can be checked without the cloud is checked here. What the settings become is in `pool_objects`,
which instance types they admit in `pool_types`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import Field

from floodplain import duration, quantity
from floodplain.duration import Duration
from floodplain.pools import POOL_LABEL
from floodplain.problem import RuleError
from floodplain.quantity import BytesText, QuantityText
from floodplain.rules import WHOLE, RuledSettings, rule
from floodplain.settings import SEVERAL_LINES, Settings

from .cluster import ClusterVersions
from .image_digest import ImageDigest
from .pool_boot import boot_problems
from .pool_choices import CapacityType, GuardrailMode
from .pool_cloud import AmiSettings, RootVolume, SecurityGroupTerms, SubnetTerms
from .pool_disruption import DisruptionSettings
from .pool_kubelet import KubeletSettings
from .pool_names import LabelKey, LabelValue, PoolName, Taint
from .pool_origin import object_problems
from .pool_types import Architecture, admitted, allocatable, family_problems

PAUSE_IMAGE = "registry.k8s.io/pause:3.10@sha256:ee6521f290b2168b6e0935a181d4cff9be1ac3f505666ef0e3c98fae8199917a"
"""Kubernetes' pause image, pinned by digest (multi-architecture)."""

_KUBERNETES_OWN = re.compile(r"(.+\.)?(kubernetes|k8s)\.io")
_ZONE = re.compile(r"[a-z]{2,}(-[a-z]+)+-[0-9]+(-[a-z]+-[0-9]+)*[a-z]")


class PoolLimits(RuledSettings):
    """Most that the pool may own. Karpenter counts whole nodes, not what pods request."""

    cpu: QuantityText
    memory: BytesText
    nodes: int | None = Field(default=None, ge=1)

    @rule("cpu")
    def _cpu_is_a_quantity(self) -> Iterator[RuleError]:
        try:
            quantity.to_millicores(self.cpu)
        except RuleError as error:
            yield RuleError(error.rule, error.remedy, ("cpu",), self.cpu)

    def manifest(self) -> dict[str, str]:
        """NodePool spec.limits."""
        nodes = {} if self.nodes is None else {"nodes": str(self.nodes)}
        return {"cpu": self.cpu, "memory": self.memory, **nodes}


class SwapSettings(Settings):
    """The swap file of each node and how jobs are sized against it.

    `ratio` is k: swap per byte of node memory. `margin` m and `hot_share` enter the limit formula:
    limit = max(((1 + m) x peak + k MiB) / (1 + k), hot_share x peak).
    """

    ratio: float = Field(default=2.0, gt=0, le=16)
    margin: float = Field(default=0.2, ge=0, le=10)
    hot_share: float = Field(default=0.5, ge=0, le=1)
    swappiness: int = Field(default=10, ge=0, le=200)
    page_cluster: int = Field(default=3, ge=0, le=6)
    start_timeout: Duration = "5m"
    power_off_on_failure: bool = True


class DiskSettings(Settings):
    """How the NVMe disk is shared: swap first, then pods' ephemeral storage and images.

    `per_memory` caps a pod's ephemeral-storage request, in bytes per byte of its memory request; `images` is
    kept for container images and logs.
    """

    per_memory: float = Field(default=1.0, gt=0, le=64)
    images: BytesText = "20Gi"


class PriorityClassSettings(Settings):
    """The PriorityClass of the pool's jobs. System classes get no swap, so values stay far below theirs."""

    value: int = Field(default=0, ge=-1_000_000_000, le=1_000_000)
    preempts: bool = False


class SwapPool(RuledSettings):
    """One swap-backed pool, as it stands under `pools` in a stack file."""

    name: PoolName
    families: tuple[str, ...] = Field(min_length=1)
    limits: PoolLimits
    ami: AmiSettings
    architecture: Architecture = Architecture.AMD64
    vcpus: tuple[int, ...] = ()
    capacity_types: tuple[CapacityType, ...] = Field(default=(CapacityType.ON_DEMAND,), min_length=1)
    zones: tuple[str, ...] = ()
    taint: Taint | None = None
    labels: dict[LabelKey, LabelValue] = Field(default_factory=dict)
    swap: SwapSettings = SwapSettings()
    disk: DiskSettings = DiskSettings()
    kubelet: KubeletSettings = KubeletSettings()
    kubelet_config: Annotated[dict[str, Any], SEVERAL_LINES] = Field(default_factory=dict)
    single_process_oom_kill: bool = False
    subnets: SubnetTerms = ()
    security_groups: SecurityGroupTerms = ()
    root_volume: RootVolume = RootVolume()
    longest_job: Duration = "48h"
    disruption: DisruptionSettings = DisruptionSettings()
    headroom: BytesText = "256Mi"
    headroom_image: ImageDigest = PAUSE_IMAGE
    overhead: BytesText = "16Mi"
    priority: PriorityClassSettings = PriorityClassSettings()
    guardrails: GuardrailMode = GuardrailMode.ENFORCE
    weight: int | None = Field(default=None, ge=1, le=100)
    extra_scripts: Annotated[tuple[str, ...], SEVERAL_LINES] = ()
    tags: dict[str, str] = Field(default_factory=dict)

    @property
    def node_taint(self) -> Taint:
        """The taint as set, or `floodplain.dev/pool=<name>:NoSchedule`."""
        return self.taint or Taint(value=self.name)

    @property
    def runtime_class(self) -> str:
        """Name of the RuntimeClass and of the PriorityClass."""
        return f"floodplain-{self.name}"

    @rule("disruption", "longest_job")
    def _jobs_outlive_no_node(self) -> Iterator[RuleError]:
        yield from self.disruption.longest_job_problems(self.longest_job)

    @rule("labels")
    def _labels_are_free(self) -> Iterator[RuleError]:
        for key, value in self.labels.items():
            if key == POOL_LABEL:
                yield RuleError("is a label that is set for you", "remove it", ("labels", key), value)
            elif _KUBERNETES_OWN.fullmatch(key.partition("/")[0]) and key != "kubernetes.io/hostname":
                yield RuleError(
                    "is in Kubernetes' own domain, whose labels say what a node is",
                    "use a domain of your own",
                    ("labels", key),
                    value,
                )

    @rule("taint")
    def _taint_is_free(self) -> Iterator[RuleError]:
        domain = self.node_taint.key.partition("/")[0] if self.taint else ""
        if _KUBERNETES_OWN.fullmatch(domain) or domain.endswith("karpenter.sh"):
            yield RuleError(
                "is a taint that Kubernetes or Karpenter sets and removes itself",
                "use a domain of your own, or leave the taint out",
                ("taint", "key"),
                self.node_taint.key,
            )

    @rule("longest_job")
    def _jobs_take_time(self) -> Iterator[RuleError]:
        if duration.parse(self.longest_job) == 0:
            yield RuleError(
                "is no time at all", "write how long a job may run, such as 24h", ("longest_job",), self.longest_job
            )

    @rule("zones")
    def _zones_have_the_form_of_zones(self) -> Iterator[RuleError]:
        for index, zone in enumerate(self.zones):
            if not _ZONE.fullmatch(zone):
                yield RuleError("is not an availability zone", "write it as eu-central-1a", ("zones", index), zone)

    @rule("vcpus")
    def _vcpus_are_counts(self) -> Iterator[RuleError]:
        for index, value in enumerate(self.vcpus):
            if value < 1 or value in self.vcpus[:index]:
                yield RuleError("is not a number of vCPUs, or is given twice", "mend the list", ("vcpus", index), value)

    @rule("overhead")
    def _overhead_pays_for_a_limit(self) -> Iterator[RuleError]:
        if quantity.to_bytes(self.overhead) < quantity.MIB:
            yield RuleError(
                "is less than the 1 MiB by which a job's limit exceeds its request, so no job could be admitted",
                "set it to 1Mi or more",
                ("overhead",),
                self.overhead,
            )

    @rule("swap", "disk", "kubelet", "kubelet_config", "single_process_oom_kill", "extra_scripts")
    def _boot_text_can_be_made(self) -> Iterator[RuleError]:
        yield from boot_problems(self)

    @rule(WHOLE)
    def _karpenter_takes_the_objects(self) -> Iterator[RuleError]:
        yield from object_problems(self)

    @rule("families", "architecture", "vcpus", "swap", "disk", "kubelet")
    def _families_hold_the_swap(self) -> Iterator[RuleError]:
        yield from family_problems(
            families=self.families,
            architecture=self.architecture,
            vcpus=self.vcpus,
            swap_ratio=self.swap.ratio,
            disk_per_memory=self.disk.per_memory,
            images_bytes=quantity.to_bytes(self.disk.images)
            + quantity.to_bytes(self.kubelet.kube_reserved.get("ephemeral-storage", "0")),
        )


def stack_problems(pool: SwapPool, *, protected: bool) -> Iterator[RuleError]:
    """Rules that depend on where the pool is used: protected stacks pin their machine image."""
    if protected and not pool.ami.pinned:
        yield RuleError(
            "follows the newest image, so the fleet would roll whenever AWS publishes one",
            "pin it in a protected stack, for example al2023@v20260714",
            ("ami", "alias"),
            pool.ami.alias,
        )


def room_problems(pool: SwapPool, overhead_percent: float) -> Iterator[RuleError]:
    """Sizes on which nothing is left for a job. `overhead_percent` is Karpenter's vmMemoryOverheadPercent."""
    taken = quantity.to_bytes(pool.headroom) + quantity.to_bytes(pool.overhead)
    for kind in admitted(pool.families, pool.architecture, pool.vcpus):
        offered = allocatable(kind, pool.kubelet, overhead_percent)
        if offered.cpu_millicores <= 0:
            yield RuleError(
                f"leaves no CPU for a job on {kind.name}, which has {kind.vcpu}",
                "reserve less, or leave the size out of vcpus",
                ("kubelet", "kube_reserved"),
                dict(pool.kubelet.kube_reserved),
            )
            return
        if offered.memory_bytes <= taken:
            yield RuleError(
                f"leaves no memory for a job on {kind.name}, which has {offered.memory_bytes // quantity.MIB} MiB "
                "for pods",
                "lower headroom, overhead or what kubelet reserves, or leave the size out of vcpus",
                ("headroom",),
                pool.headroom,
            )
            return


class SwapNodePoolSettings(RuledSettings):
    """The plain part of what `SwapNodePool` takes."""

    pool: SwapPool
    cluster: ClusterVersions
    protected: bool = False

    @rule("pool", "protected")
    def _where_it_is_used(self) -> Iterator[RuleError]:
        for error in stack_problems(self.pool, protected=self.protected):
            yield RuleError(error.rule, error.remedy, ("pool", *error.path), error.value)

    @rule("pool", "cluster")
    def _every_node_has_room_for_a_job(self) -> Iterator[RuleError]:
        for error in room_problems(self.pool, self.cluster.vm_memory_overhead_percent):
            yield RuleError(error.rule, error.remedy, ("pool", *error.path), error.value)
