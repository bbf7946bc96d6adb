"""Which charts a platform installs beside Karpenter, and the rules between them: one owner for each CRD, one name each.

Not for a single chart's own settings, which are in `controller_charts`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from floodplain.problem import Problem, RuleError
from floodplain.rules import RuledSettings, rule

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
from .helm_release import Chart, clashes
from .karpenter_installation import CRD_RELEASE, RELEASE


class ControllersSettings(RuledSettings):
    """Which of the charts are installed: those that are there, `kueue: {}` with its defaults."""

    kueue: KueueSettings | None = None
    argo_workflows: ArgoWorkflowsSettings | None = None
    kube_prometheus_stack: MonitoringSettings | None = None
    additional: tuple[AdditionalChart, ...] = ()

    @rule("kueue", "kube_prometheus_stack")
    def _kueue_values(self) -> Iterator[RuleError]:
        yield from _set_twice("kueue", self.kueue, self._kueue_own())

    @rule("argo_workflows", "kube_prometheus_stack")
    def _argo_workflows_values(self) -> Iterator[RuleError]:
        yield from _set_twice("argo_workflows", self.argo_workflows, self._argo_workflows_own())

    @rule("kube_prometheus_stack")
    def _monitoring_values(self) -> Iterator[RuleError]:
        monitoring = self.kube_prometheus_stack
        yield from _set_twice("kube_prometheus_stack", monitoring, monitoring.own_values() if monitoring else {})

    @rule(each="additional")
    def _name_is_not_one_of_ours(self, chart: AdditionalChart) -> Iterator[RuleError]:
        if chart.name in names_of_ours():
            yield RuleError("is a name that floodplain's own charts use", "choose another", ("name",), chart.name)

    @rule("additional")
    def _names_differ(self) -> Iterator[RuleError]:
        seen: dict[str, int] = {}
        for index, chart in enumerate(self.additional):
            first = seen.setdefault(chart.name, index)
            if first != index:
                yield RuleError(
                    f"is the name of additional[{first}] too",
                    "choose another name",
                    ("additional", index, "name"),
                    chart.name,
                )

    @rule("kueue", "argo_workflows", "kube_prometheus_stack", each="additional")
    def _crds_are_not_ours(self, chart: AdditionalChart) -> Iterator[RuleError]:
        owner = dict.fromkeys(KARPENTER_CRDS, "KarpenterController")
        if self.kueue:
            owner |= dict.fromkeys(KUEUE_CRDS, "kueue")
        if self.argo_workflows:
            owner |= dict.fromkeys(ARGO_WORKFLOWS_CRDS, "argoWorkflows")
        if self.kube_prometheus_stack:
            owner |= dict.fromkeys(PROMETHEUS_OPERATOR_CRDS, "kubePrometheusStack")
        for position, crd in enumerate(chart.owns):
            if crd in owner:
                yield _owned(crd, owner[crd], chart, ("owns", position))

    @rule("additional")
    def _crds_have_one_owner(self) -> Iterator[RuleError]:
        owner: dict[str, str] = {}
        for index, chart in enumerate(self.additional):
            for position, crd in enumerate(chart.owns):
                if crd in owner:
                    yield _owned(crd, owner[crd], chart, ("additional", index, "owns", position))
                owner.setdefault(crd, chart.name)

    def _kueue_own(self) -> dict[str, Any]:
        monitoring = self.kube_prometheus_stack
        return self.kueue.own_values(monitoring.namespace if monitoring else None) if self.kueue else {}

    def _argo_workflows_own(self) -> dict[str, Any]:
        watched = self.kube_prometheus_stack is not None
        return self.argo_workflows.own_values(watched) if self.argo_workflows else {}

    def releases(self) -> dict[str, Chart]:
        """Every release by the name of its resource, those that bring CRDs to others first."""
        found: dict[str, Chart] = {}
        monitoring = self.kube_prometheus_stack
        if monitoring:
            found["monitoring-crds"] = monitoring.crd_release()
            found["monitoring"] = monitoring.release("kube-prometheus-stack", monitoring.own_values(), skip_crds=True)
        if self.kueue:
            found["kueue"] = self.kueue.release("kueue", self._kueue_own())
        if self.argo_workflows:
            found["argo-workflows"] = self.argo_workflows.release("argo-workflows", self._argo_workflows_own())
        for chart in self.additional:
            found[chart.name] = chart.release(chart.name, {}, skip_crds=chart.skip_crds)
        return found


@cache
def names_of_ours() -> frozenset[str]:
    """What no other chart may be called: our resources and our releases, installed or not, and Karpenter's."""
    ours = ControllersSettings(
        kueue=KueueSettings(), argo_workflows=ArgoWorkflowsSettings(), kube_prometheus_stack=MonitoringSettings()
    ).releases()
    return frozenset({CRD_RELEASE, RELEASE, *ours, *(chart.release for chart in ours.values())})


def warnings(settings: ControllersSettings) -> list[Problem]:
    """What is allowed but should be known, by key."""
    monitoring = settings.kube_prometheus_stack
    if monitoring and monitoring.storage is None:
        return [
            Problem(
                "kubePrometheusStack.storage",
                "is not set, so metrics are lost whenever Prometheus moves to another node",
                "set a size, such as 50Gi",
            )
        ]
    return []


def _set_twice(key: str, chart: ChartSettings | None, ours: dict[str, Any]) -> Iterator[RuleError]:
    """Values of a chart that we set too, told at the chart's own key."""
    for error in clashes(ours, chart.values if chart else {}):
        yield RuleError(error.rule, error.remedy, (key, *error.path), error.value)


def _owned(crd: str, owner: str, chart: AdditionalChart, path: tuple[str | int, ...]) -> RuleError:
    return RuleError(
        f"is owned by {owner} already: two charts would overwrite each other's",
        f"turn the CRDs of {chart.name} off in its values and take the name out of owns, "
        "or install only one of the two",
        path,
        crd,
    )
