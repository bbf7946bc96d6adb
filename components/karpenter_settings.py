"""What can be set about Karpenter's controller: the part of a stack file, and the rules between its keys.

Not for ARNs and endpoints, which other resources may compute: those are inputs of the component itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated, Any

from pydantic import Field, field_validator
from pydantic.alias_generators import to_camel

from floodplain.problem import RuleError, raise_rules
from floodplain.quantity import QuantityText
from floodplain.rules import RuledSettings, rule
from floodplain.settings import SEVERAL_LINES, Settings
from floodplain.settings_path import Location

from . import compatibility
from .cloud_names import role_name_problems
from .compatibility import KarpenterVersion
from .helm_release import ChartReference, KubernetesName


class Credentials(StrEnum):
    """How the controller's pods come by AWS credentials."""

    POD_IDENTITY = "PodIdentity"
    """EKS Pod Identity: needs the add-on eks-pod-identity-agent on the nodes the controller runs on."""
    IRSA = "Irsa"
    """A role for the service account through the cluster's OIDC provider."""


class RunsOn(StrEnum):
    """Where the controller's pods run. Never on nodes it manages itself."""

    NODE_GROUP = "NodeGroup"
    """A node group."""
    FARGATE = "Fargate"
    """Fargate, by a profile that matches the namespace and the label app.kubernetes.io/name=karpenter."""


class SpotServiceLinkedRole(StrEnum):
    """The service-linked role that Spot needs, one for the whole account."""

    EXISTING = "Existing"
    """The account has it: any earlier Spot request made it."""
    CREATE = "Create"
    """Create it, and keep it when the stack is destroyed."""


class LogLevel(StrEnum):
    """How much the controller writes."""

    ERROR = "error"
    """Failures alone."""
    INFO = "info"
    """What it does with nodes, too."""
    DEBUG = "debug"
    """And why."""


class FeatureGates(Settings):
    """Karpenter's feature gates; defaults are those of its chart."""

    node_repair: bool = False
    node_overlay: bool = False
    reserved_capacity: bool = True
    spot_to_spot_consolidation: bool = False
    static_capacity: bool = False
    capacity_buffer: bool = False


class ControllerResources(Settings):
    """What each replica requests. Its memory limit is its request: a starved controller should be seen at once."""

    cpu: QuantityText = "1"
    memory: QuantityText = "1Gi"


class KarpenterSettings(RuledSettings):
    """Karpenter's controller and the AWS things it needs. `vm_memory_overhead_percent` is a share: 0.075 is 7.5 %."""

    version: KarpenterVersion = compatibility.DEFAULT_KARPENTER
    namespace: KubernetesName = "kube-system"
    service_account: KubernetesName = "karpenter"
    replicas: int = Field(default=2, ge=1, le=5)
    credentials: Credentials = Credentials.POD_IDENTITY
    runs_on: RunsOn = RunsOn.NODE_GROUP
    interruption: bool = True
    spot_service_linked_role: SpotServiceLinkedRole = SpotServiceLinkedRole.EXISTING
    node_role_name: str | None = None
    create_access_entry: bool = True
    feature_gates: FeatureGates = FeatureGates()
    vm_memory_overhead_percent: float = Field(default=0.075, ge=0, lt=1)
    reserved_enis: int = Field(default=0, ge=0)
    isolated_vpc: bool = False
    zonal_shift: bool = False
    resources: ControllerResources = ControllerResources()
    log_level: LogLevel = LogLevel.INFO
    crd_chart: ChartReference = "oci://public.ecr.aws/karpenter/karpenter-crd"
    controller_chart: ChartReference = "oci://public.ecr.aws/karpenter/karpenter"
    image_repository: str | None = None
    adopt_crds: bool = False
    timeout_seconds: int = Field(default=600, ge=60, le=3600)
    values: Annotated[dict[str, Any], SEVERAL_LINES] = Field(default_factory=dict)
    tags: dict[str, str] = Field(default_factory=dict)

    @field_validator("node_role_name")
    @classmethod
    def _name_not_arn(cls, name: str | None) -> str | None:
        raise_rules(role_name_problems(name) if name is not None else ())
        return name

    @rule("runs_on", "credentials")
    def _fargate_has_no_agent(self) -> Iterator[RuleError]:
        if self.runs_on is RunsOn.FARGATE and self.credentials is Credentials.POD_IDENTITY:
            yield RuleError(
                "PodIdentity does not work on Fargate, where its agent cannot run",
                "set credentials Irsa and give the cluster's OIDC provider",
                ("credentials",),
            )

    @rule("version", "feature_gates")
    def _gates_exist(self) -> Iterator[RuleError]:
        gates = self.feature_gates
        for name in ("node_overlay", "static_capacity", "capacity_buffer"):
            if getattr(gates, name):
                yield from self._since(to_camel(name), ("feature_gates", name))

    @rule("version", "zonal_shift")
    def _zonal_shift_exists(self) -> Iterator[RuleError]:
        if self.zonal_shift:
            yield from self._since("enableZonalShift", ("zonal_shift",))

    def _since(self, thing: str, path: Location) -> Iterator[RuleError]:
        if not compatibility.supports(self.version, thing):
            yield RuleError(
                f"needs Karpenter {compatibility.SINCE[thing]} or newer, and version is {self.version}",
                "turn it off or raise version",
                path,
            )


def warnings(settings: KarpenterSettings, kubernetes_version: str) -> tuple[str, ...]:
    """What is allowed but should be known about a valid installation: each a line for a person."""
    found = list(compatibility.warnings(kubernetes_version, settings.version))
    if not settings.interruption:
        found.append(
            "interruption is off: Spot warnings go unheard, and a node that powered itself off because its swap did "
            "not come up is replaced after 15 minutes instead of one or two"
        )
    if settings.replicas == 1:
        found.append("replicas is 1: while that pod moves, no node is launched and no interruption is heard")
    if settings.node_role_name is not None and settings.create_access_entry:
        found.append(
            f"an access entry is created for the existing role {settings.node_role_name}: if a managed node group "
            "uses that role it has one already, and createAccessEntry must be false"
        )
    return tuple(found)
