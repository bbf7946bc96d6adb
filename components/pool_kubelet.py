"""The part of kubelet's settings that Karpenter must see to know what a node can hold.

Swap settings are not here: Karpenter's kubelet block has no such keys and drops them, so they travel in the
node's own boot text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from pydantic import Field

from floodplain import quantity
from floodplain.duration import Duration
from floodplain.kubelet_keys import EVICTION_SIGNALS, RESERVABLE
from floodplain.problem import RuleError
from floodplain.quantity import QuantityText
from floodplain.rules import RuledSettings, rule

_PERCENT = re.compile(r"([0-9]{1,2}(?:\.[0-9]+)?|100)%")

# Where the disk rule of a pool ends: swap, ephemeral storage and images together fill at most 85 % of the NVMe.
_DISK_PERCENT = 85


# Pods' files, images and swap share one disk, so that nodefs and imagefs are the same.
_MOST_PERCENT = {"nodefs.available": 100 - _DISK_PERCENT, "imagefs.available": 100 - _DISK_PERCENT}
_MOST_OF_THE_REST = 50


def _threshold_problems(key: str, thresholds: Mapping[str, str]) -> Iterator[RuleError]:
    for signal, value in thresholds.items():
        if signal not in EVICTION_SIGNALS:
            yield RuleError("is not an eviction signal", f"known: {', '.join(EVICTION_SIGNALS)}", (key, signal), value)
            continue
        match = _PERCENT.fullmatch(value)
        most = _MOST_PERCENT.get(signal, _MOST_OF_THE_REST)
        if match and float(match[1]) > most:
            used = f"used as planned, up to {_DISK_PERCENT} % of its disk" if signal in _MOST_PERCENT else "hardly used"
            yield RuleError(
                f"would evict pods of a node that is {used}", f"set it to at most {most}%", (key, signal), value
            )
        if match:
            continue
        if signal in _MOST_PERCENT:
            yield RuleError("is no percentage, and the pool's disks differ in size", "write 10%", (key, signal), value)
            continue
        try:
            quantity.to_bytes(value)
        except RuleError as error:
            remedy = "write a quantity such as 256Mi or a percentage such as 10%"
            yield RuleError(error.rule, remedy, (key, signal), value)


class KubeletSettings(RuledSettings):
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

    @rule("eviction_hard")
    def _hard_thresholds_are_sound(self) -> Iterator[RuleError]:
        yield from _threshold_problems("evictionHard", self.eviction_hard)

    @rule("eviction_soft")
    def _soft_thresholds_are_sound(self) -> Iterator[RuleError]:
        yield from _threshold_problems("evictionSoft", self.eviction_soft)

    @rule("eviction_soft", "eviction_soft_grace_period")
    def _soft_thresholds_have_grace(self) -> Iterator[RuleError]:
        if self.eviction_soft.keys() != self.eviction_soft_grace_period.keys():
            yield RuleError(
                "every soft threshold needs a grace period and the reverse",
                "give evictionSoft and evictionSoftGracePeriod the same keys",
                ("evictionSoftGracePeriod",),
                self.eviction_soft_grace_period,
            )

    @rule("kube_reserved", "system_reserved")
    def _reserves_are_known(self) -> Iterator[RuleError]:
        for key, reserved in (("kubeReserved", self.kube_reserved), ("systemReserved", self.system_reserved)):
            for resource, value in reserved.items():
                if resource not in RESERVABLE:
                    known = f"known: {', '.join(RESERVABLE)}"
                    yield RuleError("is not a resource that can be reserved", known, (key, resource), value)
                    continue
                try:
                    (quantity.to_millicores if resource == "cpu" else quantity.to_bytes)(value)
                except RuleError as error:
                    yield RuleError(error.rule, error.remedy, (key, resource), value)
        if "ephemeral-storage" in self.system_reserved:
            yield RuleError(
                "is computed on each node from its swap file",
                "remove it; reserve disk for daemons in kubeReserved",
                ("systemReserved", "ephemeral-storage"),
                self.system_reserved["ephemeral-storage"],
            )

    @rule("image_gc_high_threshold_percent", "image_gc_low_threshold_percent")
    def _images_are_collected_in_time(self) -> Iterator[RuleError]:
        if self.image_gc_low_threshold_percent >= self.image_gc_high_threshold_percent:
            yield RuleError(
                f"must be below imageGcHighThresholdPercent ({self.image_gc_high_threshold_percent})",
                "lower it",
                ("imageGcLowThresholdPercent",),
                self.image_gc_low_threshold_percent,
            )
        if self.image_gc_high_threshold_percent < _DISK_PERCENT:
            yield RuleError(
                f"would collect images on a node whose disk is used as planned, up to {_DISK_PERCENT} %",
                f"set it to {_DISK_PERCENT} or more",
                ("imageGcHighThresholdPercent",),
                self.image_gc_high_threshold_percent,
            )

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
