"""What was seen of a cluster, as plain values: bytes, names, times. Reading it is `observe`, judging it the checks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

from floodplain.doctor.finding import Severity
from floodplain.pools import PoolDocument
from floodplain.swap import Qos, SwapContainer

ContainerKey = tuple[str, str, str]
"""Namespace, pod, container."""


@dataclass(frozen=True)
class Unseen:
    """A reading that was not to be had. `where` is one of many places with the same cause."""

    what: str
    why: str
    remedy: str
    where: str = ""
    severity: Severity = Severity.WARNING


@dataclass(frozen=True)
class Measured:
    """What a kubelet measures of one container. None is what it does not say."""

    working_set_bytes: int | None = None
    resource_swap_limit_bytes: int | None = None
    """container_swap_limit_bytes of /metrics/resource (kubelet 1.34 and newer)."""
    summary_swap_limit_bytes: int | None = None
    """swapAvailableBytes + swapUsageBytes of /stats/summary."""
    cadvisor_swap_limit_bytes: int | None = None
    """container_spec_memory_swap_limit_bytes of /metrics/cadvisor; 0 may stand for no limit."""
    oom_events: int | None = None
    """Kills counted by cAdvisor since kubelet knows the container."""

    @property
    def swap_limit_bytes(self) -> int | None:
        """memory.swap.max as far as it can be known.

        A zero counts only where cAdvisor knows the container: before it does, kubelet fills in zeros, in
        /metrics/resource and in /stats/summary. Kubelets before kubernetes/kubernetes#137098 (1.36) report 0 in
        /metrics/resource, whatever the container has, since containerd does not tell them.
        """
        if self.resource_swap_limit_bytes:
            return self.resource_swap_limit_bytes
        if self.cadvisor_swap_limit_bytes is not None:
            return self.cadvisor_swap_limit_bytes
        return self.summary_swap_limit_bytes or None

    @property
    def filled_in(self) -> bool:
        """Whether kubelet has written zeros for what cAdvisor has not looked at yet."""
        return self.swap_limit_bytes is None and 0 in (self.resource_swap_limit_bytes, self.summary_swap_limit_bytes)


@dataclass(frozen=True)
class KubeletSeen:
    """What a node's kubelet says of itself."""

    swap_behavior: str | None = None
    """None where its settings could not be read, "" where it does not set it."""
    fail_swap_on: bool | None = None
    memory_eviction: str | None = None
    """evictionHard memory.available, a quantity or a percentage of capacity."""
    containers: Mapping[ContainerKey, Measured] = field(default_factory=dict)
    pods_available_bytes: int | None = None
    """What kubelet believes is left in the pods' cgroup: the signal allocatableMemory.available."""


@dataclass(frozen=True)
class PoolSeen:
    """A swap pool, from its document or, without one, from its NodePool's label and annotation."""

    name: str
    label: tuple[str, str]
    swap_ratio: float | None
    runtime_class: str
    document: PoolDocument | None = None

    @property
    def largest_limit_bytes(self) -> int | None:
        """The largest memory limit of one pod, if the document says so."""
        return None if self.document is None else self.document.largest_job_memory_bytes


@dataclass(frozen=True)
class NodeSeen:
    name: str
    pool: PoolSeen | None
    ready: bool
    kubelet_version: str
    memory_bytes: int | None
    """Capacity, which is MemTotal."""
    allocatable_bytes: int | None
    swap_bytes: int | None
    """nodeInfo.swap.capacity, which is SwapTotal; None where kubelet does not say it."""
    kubelet: KubeletSeen | None = None


@dataclass(frozen=True)
class Death:
    """How a container ended, now or the last time."""

    reason: str
    exit_code: int | None
    finished_at: str = ""

    @property
    def out_of_memory(self) -> bool:
        return self.reason == "OOMKilled"

    @property
    def killed(self) -> bool:
        """128 + SIGKILL: by the kernel for want of memory, or by kubelet after the grace period."""
        return self.exit_code == 137


@dataclass(frozen=True)
class ContainerSeen:
    name: str
    request_bytes: int | None
    limit_bytes: int | None
    sidecar: bool = False
    initial: bool = False
    """Runs and ends before the others start."""
    running: bool = False
    restarts: int = 0
    death: Death | None = None


@dataclass(frozen=True)
class PodSeen:
    namespace: str
    name: str
    node: str
    phase: str
    qos: Qos
    containers: tuple[ContainerSeen, ...]
    reason: str = ""
    message: str = ""
    priority: int = 0
    static: bool = False
    daemon_set: str = ""
    headroom: bool = False
    runtime_class: str = ""
    planned: bool = False
    """Carries our plan."""

    @property
    def title(self) -> str:
        return f"pod {self.namespace}/{self.name}"

    @property
    def active(self) -> bool:
        return self.phase in ("Pending", "Running")

    @property
    def of_the_node(self) -> bool:
        """Belongs to the node, not to a job: a DaemonSet's or a static pod."""
        return bool(self.daemon_set) or self.static

    def swap_container(self, container: ContainerSeen) -> SwapContainer:
        return SwapContainer(container.request_bytes, container.limit_bytes, self.qos, self.priority, self.static)

    @property
    def steady(self) -> tuple[ContainerSeen, ...]:
        """Those that run side by side."""
        return tuple(one for one in self.containers if not one.initial)

    @property
    def unlimited(self) -> tuple[str, ...]:
        return tuple(one.name for one in self.containers if one.limit_bytes is None)

    @property
    def limit_bytes(self) -> int:
        """What its containers may hold in memory at one time; those without a limit count with their request."""
        together = sum(_bound(one) for one in self.steady)
        return max([together, *(_bound(one) for one in self.containers if one.initial)])

    @property
    def request_bytes(self) -> int:
        return sum(one.request_bytes or one.limit_bytes or 0 for one in self.steady)


def _bound(container: ContainerSeen) -> int:
    return container.limit_bytes if container.limit_bytes is not None else container.request_bytes or 0


@dataclass(frozen=True)
class LimitRangeSeen:
    """The memory part of one item of a LimitRange."""

    namespace: str
    name: str
    kind: str
    """Container or Pod."""
    default_bytes: int | None = None
    default_request_bytes: int | None = None
    min_bytes: int | None = None
    max_bytes: int | None = None
    ratio: float | None = None


@dataclass(frozen=True)
class WebhookSeen:
    """The admission webhook's configuration: CA bundle by entry."""

    name: str
    bundles: tuple[tuple[str, bytes], ...]


@dataclass(frozen=True)
class KarpenterSeen:
    namespace: str
    name: str
    version: str
    interruption_queue: str


@dataclass(frozen=True)
class ConditionSeen:
    """A condition of a NodePool or EC2NodeClass that is not as it should be."""

    object: str
    condition: str
    message: str


@dataclass(frozen=True)
class RuleSeen:
    """An EventBridge rule whose target is the queue."""

    name: str
    enabled: bool
    pattern: str


@dataclass(frozen=True)
class QueueSeen:
    """What AWS says of an interruption queue."""

    name: str
    exists: bool
    rules: tuple[RuleSeen, ...] = ()


@dataclass(frozen=True)
class Cluster:
    """Everything that was seen, at `now`. None where it was not to be seen, with an `Unseen` that says why."""

    now: datetime
    server_version: str = ""
    pools: tuple[PoolSeen, ...] = ()
    nodes: tuple[NodeSeen, ...] | None = ()
    pods: tuple[PodSeen, ...] | None = ()
    limit_ranges: tuple[LimitRangeSeen, ...] | None = ()
    sized_namespaces: Mapping[str, str] | None = field(default_factory=dict)
    """Namespaces with a mode of admission."""
    webhook: WebhookSeen | None = None
    secret_ca: bytes | None = None
    karpenters: tuple[KarpenterSeen, ...] | None = ()
    conditions: tuple[ConditionSeen, ...] = ()
    queues: tuple[QueueSeen, ...] | None = None
    """None where AWS was not asked."""
    kubelets_asked: bool = True
    """False where nobody wanted to see what only they know."""
    unseen: tuple[Unseen, ...] = ()

    @property
    def pool_nodes(self) -> tuple[NodeSeen, ...]:
        return tuple(node for node in self.nodes or () if node.pool is not None)

    @cached_property
    def _pods_by_node(self) -> dict[str, list[PodSeen]]:
        found: dict[str, list[PodSeen]] = {}
        for pod in self.pods or ():
            found.setdefault(pod.node, []).append(pod)
        return found

    def pods_on(self, node: NodeSeen) -> tuple[PodSeen, ...]:
        return tuple(self._pods_by_node.get(node.name, ()))

    def pod_of_pool(self, pod: PodSeen) -> PoolSeen | None:
        """The pool a pod is or was meant for."""
        by_class = {pool.runtime_class: pool for pool in self.pools}
        by_node = self._pool_by_node.get(pod.node)
        return by_node or by_class.get(pod.runtime_class)

    @cached_property
    def _pool_by_node(self) -> dict[str, PoolSeen]:
        return {node.name: node.pool for node in self.nodes or () if node.pool is not None}
