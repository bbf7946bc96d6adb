"""The part of kubelet's settings that Karpenter must see to know what a node can hold.

Swap settings are not here: Karpenter's kubelet block has no such keys and drops them, so they travel in the
node's own boot text.
"""

from __future__ import annotations

import re

from pydantic import Field, model_validator

from floodplain import quantity
from floodplain.duration import Duration
from floodplain.problem import RuleError
from floodplain.quantity import QuantityText
from floodplain.settings import Settings

_SIGNALS = (
    "memory.available",
    "nodefs.available",
    "nodefs.inodesFree",
    "imagefs.available",
    "imagefs.inodesFree",
    "pid.available",
)
_RESERVABLE = ("cpu", "memory", "ephemeral-storage", "pid")
_PERCENT = re.compile(r"(\d{1,2}(\.\d+)?|100)%")


def _check_thresholds(key: str, thresholds: dict[str, str]) -> None:
    for signal, value in thresholds.items():
        if signal not in _SIGNALS:
            raise RuleError("is not an eviction signal", f"known: {', '.join(_SIGNALS)}", (key, signal), value)
        if not _PERCENT.fullmatch(value):
            try:
                quantity.to_bytes(value)
            except RuleError as error:
                raise RuleError(
                    error.rule, "write a quantity such as 256Mi or a percentage such as 10%", (key, signal), value
                ) from None


class KubeletSettings(Settings):
    """EC2NodeClass spec.kubelet. A map that is given replaces its default whole, as in kubelet itself."""

    eviction_hard: dict[str, str] = Field(
        default={"memory.available": "256Mi", "nodefs.available": "10%", "nodefs.inodesFree": "5%"}
    )
    eviction_soft: dict[str, str] = Field(default_factory=dict)
    eviction_soft_grace_period: dict[str, Duration] = Field(default_factory=dict)
    eviction_max_pod_grace_period: int | None = Field(default=None, ge=0)
    kube_reserved: dict[str, QuantityText] = Field(default_factory=dict)
    system_reserved: dict[str, QuantityText] = Field(default={"memory": "256Mi"})
    max_pods: int | None = Field(default=None, ge=1, le=1000)
    pods_per_core: int | None = Field(default=None, ge=0)
    image_gc_high_threshold_percent: int = Field(default=85, ge=1, le=100)
    image_gc_low_threshold_percent: int = Field(default=80, ge=0, le=100)

    @model_validator(mode="after")
    def _rules(self) -> KubeletSettings:
        _check_thresholds("evictionHard", self.eviction_hard)
        _check_thresholds("evictionSoft", self.eviction_soft)
        if self.eviction_soft.keys() != self.eviction_soft_grace_period.keys():
            raise RuleError(
                "every soft threshold needs a grace period and the reverse",
                "give evictionSoft and evictionSoftGracePeriod the same keys",
                ("evictionSoftGracePeriod",),
                self.eviction_soft_grace_period,
            )
        for key, reserved in (("kubeReserved", self.kube_reserved), ("systemReserved", self.system_reserved)):
            for resource, value in reserved.items():
                if resource not in _RESERVABLE:
                    raise RuleError(
                        "is not a resource that can be reserved",
                        f"known: {', '.join(_RESERVABLE)}",
                        (key, resource),
                        value,
                    )
        if "ephemeral-storage" in self.system_reserved:
            raise RuleError(
                "is computed on each node from its swap file",
                "remove it; reserve disk for daemons in kubeReserved",
                ("systemReserved", "ephemeral-storage"),
                self.system_reserved["ephemeral-storage"],
            )
        if self.image_gc_low_threshold_percent >= self.image_gc_high_threshold_percent:
            raise RuleError(
                f"must be below imageGcHighThresholdPercent ({self.image_gc_high_threshold_percent})",
                "lower it",
                ("imageGcLowThresholdPercent",),
                self.image_gc_low_threshold_percent,
            )
        return self

    def manifest(self) -> dict[str, object]:
        """EC2NodeClass spec.kubelet, without what is not set."""
        keys: dict[str, object] = {
            "evictionHard": self.eviction_hard,
            "evictionSoft": self.eviction_soft,
            "evictionSoftGracePeriod": self.eviction_soft_grace_period,
            "evictionMaxPodGracePeriod": self.eviction_max_pod_grace_period,
            "kubeReserved": self.kube_reserved,
            "systemReserved": self.system_reserved,
            "maxPods": self.max_pods,
            "podsPerCore": self.pods_per_core,
            "imageGCHighThresholdPercent": self.image_gc_high_threshold_percent,
            "imageGCLowThresholdPercent": self.image_gc_low_threshold_percent,
        }
        return {key: value for key, value in keys.items() if value not in (None, {})}
