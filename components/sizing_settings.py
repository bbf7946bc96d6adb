"""How the sizing service is set up in a cluster: the `sizing` key of a stack file.

What it plans by is `SizingSettings`, which the service reads from a file. What it is installed with beside these, its
image and the pools, is in `sizing_installation`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from pydantic import Field, field_validator

from floodplain import quantity
from floodplain.problem import RuleError
from floodplain.quantity import BytesText, QuantityText
from floodplain.rules import RuledSettings, rule
from floodplain.settings import Settings
from floodplain.sizing.settings import SizingSettings

from .cron_text import CronText
from .helm_release import KubernetesName
from .pool_choices import GuardrailMode
from .pool_names import LabelKey, LabelValue
from .push_address import PushAddress

KUBERNETES_NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")

_LEAST_MEMORY = 128 * quantity.MIB


class ServiceResources(Settings):
    """What each pod of the service requests. Memory is limited to the same, CPU is not limited.

    Admission answers within seconds or not at all, so that it must neither swap nor be throttled.
    """

    cpu: QuantityText = "100m"
    memory: BytesText = "256Mi"


class DoctorSettings(Settings):
    """When `floodplain doctor` looks at the cluster, and how much it may see.

    On unless it is switched off: what breaks a plan's promise does so without a word, and a look costs a short pod that
    may only read. Kubelets are left out unless asked for, since that right is more than reading.
    """

    enabled: bool = True
    schedule: CronText = "17 * * * *"
    push: PushAddress | None = None
    kubelets: bool = False


class SizingServiceSettings(RuledSettings):
    """The service's place and size, and what it plans by."""

    namespace: KubernetesName = "floodplain"
    replicas: Annotated[int, Field(ge=1, le=10)] = 1
    resources: ServiceResources = ServiceResources()
    node_selector: dict[LabelKey, LabelValue] = Field(default_factory=dict)
    metrics_namespace: KubernetesName = "monitoring"
    guardrails: GuardrailMode = GuardrailMode.ENFORCE
    doctor: DoctorSettings = DoctorSettings()
    settings: SizingSettings = SizingSettings()

    @field_validator("settings", mode="before")
    @classmethod
    def _whole_numbers_stay_whole(cls, value: Any) -> Any:
        # The engine knows doubles only, and the SDK (3.272) leaves them so where a key is an integer.
        if not isinstance(value, Mapping):
            return value
        return {key: int(one) if isinstance(one, float) and one.is_integer() else one for key, one in value.items()}

    @rule("namespace")
    def _namespace_is_its_own(self) -> Iterator[RuleError]:
        if self.namespace in KUBERNETES_NAMESPACES:
            yield RuleError(
                "is a namespace of Kubernetes, and the service's takes in no other pods and shuts its network",
                "give it a namespace of its own, such as floodplain",
                ("namespace",),
                self.namespace,
            )

    @rule("resources")
    def _it_starts_with_that_memory(self) -> Iterator[RuleError]:
        if quantity.to_bytes(self.resources.memory) < _LEAST_MEMORY:
            yield RuleError(
                "is less than the service needs to start",
                "set it to 128Mi or more",
                ("resources", "memory"),
                self.resources.memory,
            )
