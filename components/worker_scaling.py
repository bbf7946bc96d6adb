"""How many small workers there are: a fixed number, or what a HorizontalPodAutoscaler chooses.

Not for the big pool, which is one worker by construction.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import Field

from floodplain import quantity
from floodplain.problem import RuleError
from floodplain.quantity import QuantityText
from floodplain.rules import RuledSettings, rule

from .pool_names import LabelValue

CPU_PERCENT = 70
LEAST_WINDOW_SECONDS, MOST_WINDOW_SECONDS = 300, 3600
"""Kubernetes' default, and the most that it allows."""


class WorkerMetric(RuledSettings):
    """A metric of the workers' pods, or of something outside the cluster."""

    name: str = Field(min_length=1, max_length=253)
    average: QuantityText
    selector: dict[str, LabelValue] = Field(default_factory=dict)
    external: bool = False

    @rule("average")
    def _average_is_something(self) -> Iterator[RuleError]:
        if quantity.exact(self.average) == 0:
            yield RuleError("is nothing, and the pool is scaled by it", "write 1 or more", ("average",), self.average)

    @rule("selector", "external")
    def _only_external_metrics_are_selected(self) -> Iterator[RuleError]:
        if self.selector and not self.external:
            yield RuleError(
                "selects an external metric, and this is one of the workers' pods",
                "set external: true, or leave the selector out",
                ("selector",),
                self.selector,
            )

    def manifest(self) -> dict[str, Any]:
        """As autoscaling/v2 has it."""
        metric: dict[str, Any] = {"name": self.name}
        if self.selector:
            metric["selector"] = {"matchLabels": dict(sorted(self.selector.items()))}
        kind = "external" if self.external else "pods"
        return {
            "type": kind.capitalize(),
            kind: {"metric": metric, "target": {"type": "AverageValue", "averageValue": self.average}},
        }


class WorkerAutoscaling(RuledSettings):
    """Between how many workers, and by what."""

    max_replicas: int = Field(ge=1, le=5000)
    min_replicas: int = Field(default=1, ge=1, le=5000)
    cpu_percent: int | None = Field(default=None, ge=1, le=100)
    metric: WorkerMetric | None = None

    @rule("max_replicas", "min_replicas")
    def _most_is_not_below_fewest(self) -> Iterator[RuleError]:
        if self.max_replicas < self.min_replicas:
            yield RuleError(
                f"is below minReplicas ({self.min_replicas})",
                f"write {self.min_replicas} or more",
                ("max_replicas",),
                self.max_replicas,
            )

    def metrics(self) -> list[dict[str, Any]]:
        """By default CPU. Where several are given, the one that asks for most workers wins."""
        percent = self.cpu_percent or (None if self.metric else CPU_PERCENT)
        found = []
        if percent is not None:
            target = {"type": "Utilization", "averageUtilization": percent}
            found.append({"type": "Resource", "resource": {"name": "cpu", "target": target}})
        return found + ([self.metric.manifest()] if self.metric else [])

    def spec(self, deployment: str, longest_task_seconds: int) -> dict[str, Any]:
        """The autoscaler's spec. It takes workers away slowly: each loses the time that its tasks need to end."""
        window = min(max(longest_task_seconds, LEAST_WINDOW_SECONDS), MOST_WINDOW_SECONDS)
        return {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": deployment},
            "minReplicas": self.min_replicas,
            "maxReplicas": self.max_replicas,
            "metrics": self.metrics(),
            "behavior": {
                "scaleDown": {
                    "stabilizationWindowSeconds": window,
                    "selectPolicy": "Max",
                    "policies": [{"type": "Pods", "value": 1, "periodSeconds": 60}],
                },
            },
        }
