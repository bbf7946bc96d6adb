"""What callers of `KarpenterController` write, in any Pulumi language: its published schema.

The same fields as the models of `karpenter_settings` and `karpenter_installation`, which hold defaults and rules; a
test compares the two. Which of them may be computed by other resources is `INPUTS`.
"""

from typing import Any, NotRequired, TypedDict

import pulumi

from .cluster_args import PlacedClusterArgs
from .karpenter_settings import Credentials, LogLevel, RunsOn, SpotServiceLinkedRole

INPUTS = ("cluster_endpoint", "node_role_policies", "oidc_provider_arn", "permissions_boundary")
"""Arguments that other resources may compute; the rest is plain, so that a preview can check it."""


class FeatureGatesArgs(TypedDict, total=False):
    """Karpenter's feature gates; defaults are those of its chart."""

    node_repair: bool
    """Replace unhealthy nodes (alpha). Default false."""
    node_overlay: bool
    """NodeOverlay objects (alpha, from 1.8). Default false."""
    reserved_capacity: bool
    """On-demand capacity reservations. Default true."""
    spot_to_spot_consolidation: bool
    """Replace Spot nodes by cheaper Spot nodes (alpha). Default false."""
    static_capacity: bool
    """NodePools with a fixed number of nodes (alpha, from 1.8). Default false."""
    capacity_buffer: bool
    """CapacityBuffer objects (alpha, from 1.14). Default false."""


class ControllerResourcesArgs(TypedDict, total=False):
    """What each replica of the controller requests."""

    cpu: str
    """CPU request. Default `1`."""
    memory: str
    """Memory request and limit. Default `1Gi`."""


class KarpenterArgs(TypedDict, total=False):
    """Karpenter's controller, as it would stand under `karpenter` in a stack file."""

    cluster_endpoint: pulumi.Input[str]
    """Address of the API server, for nodes to join. By default Karpenter asks EKS for it."""
    version: str
    """Karpenter's version, exact. Default `1.14.1`."""
    namespace: str
    """Namespace of the controller. Default `kube-system`."""
    service_account: str
    """Service account of the controller. Default `karpenter`."""
    replicas: int
    """Replicas of the controller, each on a node of its own. Default 2."""
    credentials: Credentials
    """How the controller comes by AWS credentials. Default PodIdentity."""
    oidc_provider_arn: pulumi.Input[str]
    """ARN of the cluster's IAM OIDC provider. Required with Irsa."""
    runs_on: RunsOn
    """Where the controller runs. Default NodeGroup. Fargate needs Irsa, since Pod Identity does not run there."""
    interruption: bool
    """Hear of Spot interruptions and stopped machines: queue, queue policy, event rules and the chart's setting,
    all or none. Default true."""
    spot_service_linked_role: SpotServiceLinkedRole
    """The role that Spot needs, one for each account. Default Existing. Create fails where it exists already."""
    node_role_name: str
    """An existing role (at path /) for nodes, by name. By default one is created."""
    node_role_policies: dict[str, pulumi.Input[str]]
    """Further policies of the created node role: a name of your choice for each, and its ARN."""
    create_access_entry: bool
    """Let nodes of the node role join, by an EKS access entry. Default true; false where the role has one."""
    permissions_boundary: pulumi.Input[str]
    """ARN of the permissions boundary of both roles."""
    feature_gates: FeatureGatesArgs
    """Karpenter's feature gates."""
    vm_memory_overhead_percent: float
    """Share of an instance's memory that Karpenter believes lost until it has seen one: 0.075 is 7.5 %."""
    reserved_enis: int
    """Network interfaces that are not counted for pods (custom networking of the VPC CNI). Default 0."""
    isolated_vpc: bool
    """The VPC reaches only AWS services with an endpoint in it; prices are then not looked up. Default false."""
    zonal_shift: bool
    """Respect zonal shifts. The cluster must be registered with them, or the controller stops. Default false."""
    resources: ControllerResourcesArgs
    """What each replica requests."""
    log_level: LogLevel
    """How much the controller writes. Default info."""
    crd_chart: str
    """Chart of the CRDs: an OCI reference without tag, or a folder."""
    controller_chart: str
    """Chart of the controller: an OCI reference without tag, or a folder."""
    image_repository: str
    """Repository of the controller's image where it is mirrored. Tag and digest stay those of the chart."""
    adopt_crds: bool
    """Take over CRDs that were installed some other way. Default false."""
    timeout_seconds: int
    """How long each chart may take to become ready. Default 600."""
    values: dict[str, Any]
    """Further values of the controller's chart. None that floodplain sets itself."""
    tags: dict[str, str]
    """Tags on every AWS resource made here. Those of instances are the pools'."""


class KarpenterControllerArgs(TypedDict):
    """Karpenter and the cluster it is for."""

    cluster: PlacedClusterArgs
    """The EKS cluster that exists already."""
    karpenter: NotRequired[KarpenterArgs]
    """The controller."""
