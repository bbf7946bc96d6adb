"""Which charts a platform installs beside Karpenter, and the rules between them: one owner for each CRD, one name each.

Not for a single chart's own settings, which are in `controller_charts`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import model_validator

from floodplain.problem import BrokenRulesError, RuleError, raise_rules
from floodplain.settings import Settings

from .controller_charts import (
    ARGO_WORKFLOWS_CRDS,
    KARPENTER_CRDS,
    KUEUE_CRDS,
    PROMETHEUS_OPERATOR_CRDS,
    AdditionalChart,
    ArgoWorkflowsSettings,
    ChartSettings,
    KueueSettings,
    MonitoringSettings,
)
from .helm_release import Chart


class ControllersSettings(Settings):
    """Which of the charts are installed: those that are there, `kueue: {}` with its defaults."""

    kueue: KueueSettings | None = None
    argo_workflows: ArgoWorkflowsSettings | None = None
    kube_prometheus_stack: MonitoringSettings | None = None
    additional: tuple[AdditionalChart, ...] = ()

    @model_validator(mode="after")
    def _charts_go_together(self) -> ControllersSettings:
        raise_rules([*self._taken_names(), *self._twice_owned()])
        self.releases()
        return self

    def _taken_names(self) -> Iterator[RuleError]:
        seen = {"kueue", "argo-workflows", "kube-prometheus-stack", "prometheus-operator-crds", "karpenter"}
        for index, chart in enumerate(self.additional):
            if chart.name in seen:
                yield RuleError(
                    "is the name of another chart here",
                    "choose another name",
                    path=("additional", index, "name"),
                    value=chart.name,
                )
            seen.add(chart.name)

    def _twice_owned(self) -> Iterator[RuleError]:
        owner = dict.fromkeys(KARPENTER_CRDS, "KarpenterController")
        if self.kueue:
            owner |= dict.fromkeys(KUEUE_CRDS, "kueue")
        if self.argo_workflows:
            owner |= dict.fromkeys(ARGO_WORKFLOWS_CRDS, "argoWorkflows")
        if self.kube_prometheus_stack:
            owner |= dict.fromkeys(PROMETHEUS_OPERATOR_CRDS, "kubePrometheusStack")
        for index, chart in enumerate(self.additional):
            for position, crd in enumerate(chart.owns):
                if crd in owner:
                    yield RuleError(
                        f"is owned by {owner[crd]} already: two charts would overwrite each other's",
                        f"turn the CRDs of {chart.name} off in its values and take the name out of owns, "
                        "or install only one of the two",
                        path=("additional", index, "owns", position),
                        value=crd,
                    )
                owner.setdefault(crd, chart.name)

    def releases(self) -> dict[str, Chart]:
        """Every release by the name of its resource, those that bring CRDs to others first."""
        found: dict[str, Chart] = {}
        monitoring = self.kube_prometheus_stack
        if monitoring:
            found["monitoring-crds"] = monitoring.crd_release()
            found["monitoring"] = _at(
                "kube_prometheus_stack", monitoring, "kube-prometheus-stack", monitoring.own_values(), skip_crds=True
            )
        if self.kueue:
            found["kueue"] = _at(
                "kueue", self.kueue, "kueue", self.kueue.own_values(monitoring.namespace if monitoring else None)
            )
        if self.argo_workflows:
            found["argo-workflows"] = _at(
                "argo_workflows",
                self.argo_workflows,
                "argo-workflows",
                self.argo_workflows.own_values(monitoring is not None),
            )
        for chart in self.additional:
            found[chart.name] = chart.release(chart.name, {}, skip_crds=chart.skip_crds)
        return found


def warnings(settings: ControllersSettings) -> tuple[str, ...]:
    """What is allowed but should be known: each a line for a person."""
    monitoring = settings.kube_prometheus_stack
    if monitoring and monitoring.storage is None:
        return ("kubePrometheusStack.storage is not set: metrics are lost whenever Prometheus moves to another node",)
    return ()


def _at(key: str, chart: ChartSettings, name: str, ours: dict[str, Any], *, skip_crds: bool = False) -> Chart:
    """The release, with what is wrong about its values told at the chart's own key."""
    try:
        return chart.release(name, ours, skip_crds=skip_crds)
    except BrokenRulesError as broken:
        raise BrokenRulesError(
            RuleError(error.rule, error.remedy, (key, *error.path), error.value) for error in broken.errors
        ) from None
