"""What callers of `SwapNodePool` write, in any Pulumi language: the published schema of one pool.

The same fields as the models of `swap_pool` and its neighbours, which hold defaults and rules; a test compares
the two field by field. The texts below are the descriptions in the schema and in the docs' tables.
"""

from typing import Any, NotRequired, TypedDict

from .pool_choices import CapacityType, GuardrailMode, TaintEffect
from .pool_cloud import VolumeType
from .pool_disruption import DisruptionReason
from .pool_types import Architecture


class PoolLimitsArgs(TypedDict):
    """Most that a pool may own. Karpenter counts whole nodes, not what pods request."""

    cpu: str
    """vCPUs, such as `"288"`."""
    memory: str
    """Memory, such as `2304Gi`."""
    nodes: NotRequired[int]
    """Number of nodes."""


class TaintArgs(TypedDict):
    """A Kubernetes taint."""

    key: NotRequired[str]
    """Taint key, by default `floodplain.dev/pool`."""
    value: str
    """Taint value."""
    effect: NotRequired[TaintEffect]
    """Taint effect, by default NoSchedule."""


class SwapArgs(TypedDict, total=False):
    """The swap file of each node, and how jobs are sized against it."""

    ratio: float
    """k, bytes of swap per byte of node memory. Default 2."""
    margin: float
    """m, added to a predicted peak as a share of it. Default 0.2."""
    hot_share: float
    """Share of a peak that is touched all the time and must stay in memory. Default 0.5."""
    swappiness: int
    """vm.swappiness, 0 to 200. Default 10."""
    page_cluster: int
    """vm.page-cluster: 2 to this power pages are read from swap at once, 0 to 6. Default 3."""
    start_timeout: str
    """How long the swap unit may take at boot before the node is given up. Default `5m`."""
    power_off_on_failure: bool
    """Whether a node without swap powers itself off, so that Karpenter replaces it. Default true. Kubelet does
    not start without swap either way; false leaves the machine up for a look at it."""


class DiskArgs(TypedDict, total=False):
    """How the NVMe disk is shared."""

    per_memory: float
    """Most ephemeral storage a pod may request, in bytes per byte of its memory request. Default 1."""
    images: str
    """Kept for container images and logs. Default `20Gi`."""


class KubeletArgs(TypedDict, total=False):
    """Kubelet settings that Karpenter must see. A map that is given replaces its default whole."""

    eviction_hard: dict[str, str]
    """Hard eviction thresholds. Default memory.available 256Mi, nodefs.available 10%, nodefs.inodesFree 5%."""
    eviction_soft: dict[str, str]
    """Soft eviction thresholds; each needs a grace period."""
    eviction_soft_grace_period: dict[str, str]
    """Grace period of each soft threshold."""
    eviction_max_pod_grace_period: int
    """Longest pod grace period at a soft eviction, in seconds."""
    kube_reserved: dict[str, str]
    """Kept for kubelet and containerd. Default: Karpenter's formula by pod count."""
    system_reserved: dict[str, str]
    """Kept for the operating system. Default memory 256Mi. Disk for swap is added on each node."""
    max_pods: int
    """Most pods on a node. Default: the limit of the network interfaces."""
    pods_per_core: int
    """Most pods for each vCPU."""
    image_gc_high_threshold_percent: int
    """Disk use at which images are collected. Default 85."""
    image_gc_low_threshold_percent: int
    """Disk use down to which images are collected. Default 80."""


class AmiArgs(TypedDict, total=False):
    """The machine image, by alias or by ids."""

    alias: str
    """Alias such as `al2023@v20260714`; `al2023@latest` is refused in protected stacks."""
    ids: list[str]
    """Image ids, made from AL2023."""


class SelectorTermArgs(TypedDict, total=False):
    """One term of a selector: tags or an id."""

    tags: dict[str, str]
    """Tags that all must match."""
    id: str
    """Id of the subnet or security group."""


class RootVolumeArgs(TypedDict, total=False):
    """The root EBS volume; pods, images and swap are on the instance store."""

    size: str
    """Size. Default `30Gi`."""
    type: VolumeType
    """EBS volume type. Default gp3."""
    iops: int
    """Provisioned IOPS."""
    throughput: int
    """Provisioned throughput in MiB/s."""
    kms_key_id: str
    """Key to encrypt with; by default the account's EBS key."""


class BudgetArgs(TypedDict):
    """How many nodes may be disrupted at a time."""

    nodes: str
    """A number or a percentage, such as `"1"` or `10%`."""
    reasons: NotRequired[list[DisruptionReason]]
    """Reasons it applies to; all when left out."""
    schedule: NotRequired[str]
    """Cron expression, with `duration`."""
    duration: NotRequired[str]
    """How long the schedule's window is open."""


class DisruptionArgs(TypedDict, total=False):
    """When nodes may be taken away. Consolidation is always WhenEmpty."""

    consolidate_after: str
    """How long an empty node is kept. Default `1m`."""
    budgets: list[BudgetArgs]
    """Default: one drifted node at a time, empty nodes at once."""
    expire_after: str
    """Age at which a node is replaced, or Never. Default `720h`."""
    termination_grace_period: str
    """How long pods of a node that must go may still run. Default: the longest job and an hour."""


class PriorityClassArgs(TypedDict, total=False):
    """The PriorityClass of the pool's jobs."""

    value: int
    """Priority. Default 0."""
    preempts: bool
    """Whether jobs may push out pods of lower priority. Default false."""


class SwapPoolArgs(TypedDict):
    """One swap-backed pool."""

    name: str
    """Name of the NodePool and EC2NodeClass; lower case, at most 40 characters."""
    families: list[str]
    """EC2 instance families, such as `r6id`. Each must have NVMe disks that hold the swap file."""
    limits: PoolLimitsArgs
    """Most that the pool may own."""
    ami: AmiArgs
    """Machine image."""
    architecture: NotRequired[Architecture]
    """Processor architecture. Default amd64."""
    vcpus: NotRequired[list[int]]
    """Sizes by vCPU count; all sizes of the families when left out."""
    capacity_types: NotRequired[list[CapacityType]]
    """How instances are bought. Default on-demand."""
    zones: NotRequired[list[str]]
    """Availability zones; all when left out."""
    taint: NotRequired[TaintArgs]
    """Taint of the nodes. Default `floodplain.dev/pool=<name>:NoSchedule`."""
    labels: NotRequired[dict[str, str]]
    """Further node labels."""
    swap: NotRequired[SwapArgs]
    """Swap."""
    disk: NotRequired[DiskArgs]
    """Shares of the NVMe disk."""
    kubelet: NotRequired[KubeletArgs]
    """Kubelet settings that Karpenter must see."""
    kubelet_config: NotRequired[dict[str, Any]]
    """Further keys of KubeletConfiguration, for the node alone."""
    single_process_oom_kill: NotRequired[bool]
    """Whether only the process that hit the limit is killed, not the whole container. Default false."""
    subnets: NotRequired[list[SelectorTermArgs]]
    """Subnets. Default: those tagged `karpenter.sh/discovery: <cluster>`."""
    security_groups: NotRequired[list[SelectorTermArgs]]
    """Security groups. Default: those tagged `karpenter.sh/discovery: <cluster>`."""
    root_volume: NotRequired[RootVolumeArgs]
    """Root volume."""
    longest_job: NotRequired[str]
    """Longest time one job may run. Default `48h`."""
    disruption: NotRequired[DisruptionArgs]
    """When nodes may be taken away."""
    headroom: NotRequired[str]
    """Memory kept on each node for DaemonSets that request less than they use. Default `256Mi`."""
    headroom_image: NotRequired[str]
    """Pause image of the headroom DaemonSet, by digest."""
    overhead: NotRequired[str]
    """RuntimeClass overhead: pays for what limits exceed requests by. Default `16Mi`."""
    priority: NotRequired[PriorityClassArgs]
    """PriorityClass of the jobs."""
    guardrails: NotRequired[GuardrailMode]
    """What happens to pods that break the pool's rules. Default enforce."""
    weight: NotRequired[int]
    """Preference among pools, 1 to 100."""
    extra_scripts: NotRequired[list[str]]
    """Shell scripts that run once at first boot, before kubelet."""
    tags: NotRequired[dict[str, str]]
    """Tags of the instances, volumes and launch templates."""
