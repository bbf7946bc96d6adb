"""What callers write about the sizing service, in any Pulumi language: the published schema of `sizing`."""

from typing import TypedDict

from floodplain.sizing.settings import Compatibility, Placement

from .pool_choices import GuardrailMode


class ServiceResourcesArgs(TypedDict, total=False):
    """What each pod of the service requests. Memory is limited to the same, CPU is not limited."""

    cpu: str
    """CPU request. Default `100m`."""
    memory: str
    """Memory request and limit. Default `256Mi`."""


class SizingSettingsArgs(TypedDict, total=False):
    """What every plan takes for granted."""

    compatibility: Compatibility
    """Size as another planner does, and warn where that breaks containment. By default as floodplain does."""
    on_demand_from_images: int
    """Jobs of this many images or more run on demand where the pool has it; 0 for none. Default 5000."""
    ephemeral_share: float
    """Ephemeral storage as a share of the predicted peak, where work is kept on a volume. Default 0.3."""
    ephemeral_least: str
    """At least this much ephemeral storage. Default `10Gi`."""
    placement: Placement
    """How planned pods are put on their pool's nodes. Default runtime-class."""
    capacity_selector: bool
    """Select nodes by Karpenter's capacity type. Default true; false where nodes are not Karpenter's."""
    daemonset_memory: str
    """Memory that DaemonSets request on each node, the pool's headroom apart. Default `128Mi`."""
    daemonset_cpu: str
    """CPU that DaemonSets request on each node. Default `300m`."""


class DoctorArgs(TypedDict, total=False):
    """When `floodplain doctor` looks at the cluster, and how much it may see. With defaults it is on and only reads."""

    enabled: bool
    """Whether there is such a CronJob. Default true: it needs no right but to read, and not that of kubelets."""
    schedule: str
    """When it looks, in cron's five fields and UTC. Default `17 * * * *`, once an hour."""
    push: str
    """Address of a pushgateway that gets its metrics, such as `http://pushgateway.monitoring.svc:9091`. Default none:
    findings are in the log."""
    kubelets: bool
    """Whether it may ask kubelets, so that it sees real grants. Default false: the right, get on nodes/proxy, also
    allows running commands in pods (kubernetes/kubernetes#119640)."""


class SizingServiceSettingsArgs(TypedDict, total=False):
    """The sizing service's place and size, and what it plans by."""

    namespace: str
    """Namespace, made for the service alone. Default `floodplain`."""
    replicas: int
    """Replicas of the service that plans over HTTP, 1 to 10. Default 1. Admission always has two."""
    resources: ServiceResourcesArgs
    """What each pod requests."""
    node_selector: dict[str, str]
    """Labels of the nodes that it may run on, beside Linux."""
    metrics_namespace: str
    """Namespace from which metrics may be read. Default `monitoring`."""
    guardrails: GuardrailMode
    """What to do about a pod that asks to be sized, in a namespace labelled `floodplain.dev/sizing: enforce`, and was
    not. Default enforce."""
    doctor: DoctorArgs
    """A CronJob that looks whether the cluster keeps what plans promise."""
    settings: SizingSettingsArgs
    """What every plan takes for granted."""
