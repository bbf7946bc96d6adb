"""The charts beside Karpenter's that a batch platform needs: each one's source, version, settings, values and CRDs.

Which of them are installed together is in `controllers_settings`. What is set here is what the rest of floodplain
relies on, such as swap metrics that the monitoring chart drops by default.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from floodplain.problem import RuleError
from floodplain.quantity import QuantityText
from floodplain.rules import RuledSettings, rule
from floodplain.settings import SEVERAL_LINES

from .helm_release import Chart, KubernetesName, PinnedVersion, merged, source_problems
from .monitoring_values import monitoring_values

KARPENTER_CRDS = (
    "capacitybuffers.autoscaling.x-k8s.io",
    "ec2nodeclasses.karpenter.k8s.aws",
    "nodeclaims.karpenter.sh",
    "nodeoverlays.karpenter.sh",
    "nodepools.karpenter.sh",
)
KUEUE_CRDS = tuple(
    f"{kind}.kueue.x-k8s.io"
    for kind in (
        "admissionchecks",
        "clusterqueues",
        "cohorts",
        "localqueues",
        "multikueueclusters",
        "multikueueconfigs",
        "provisioningrequestconfigs",
        "resourceflavors",
        "topologies",
        "workloadpriorityclasses",
        "workloads",
    )
)
ARGO_WORKFLOWS_CRDS = tuple(
    f"{kind}.argoproj.io"
    for kind in (
        "clusterworkflowtemplates",
        "cronworkflows",
        "workflowartifactgctasks",
        "workfloweventbindings",
        "workflows",
        "workflowtaskresults",
        "workflowtasksets",
        "workflowtemplates",
    )
)
PROMETHEUS_OPERATOR_CRDS = tuple(
    f"{kind}.monitoring.coreos.com"
    for kind in (
        "alertmanagerconfigs",
        "alertmanagers",
        "podmonitors",
        "probes",
        "prometheusagents",
        "prometheuses",
        "prometheusrules",
        "scrapeconfigs",
        "servicemonitors",
        "thanosrulers",
    )
)
PROMETHEUS_CHARTS = "https://prometheus-community.github.io/helm-charts"

_CRD_NAME = re.compile(r"[a-z0-9]+(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?){2,}")


def _crd_name(name: str) -> str:
    if not _CRD_NAME.fullmatch(name):
        raise RuleError("is not the name of a CRD", "write plural and group, such as workflows.argoproj.io")
    return name


CrdName = Annotated[str, AfterValidator(_crd_name)]


class ChartSettings(RuledSettings):
    """A chart whose source and values may be changed. `chart` alone is an OCI reference or a folder."""

    version: PinnedVersion
    namespace: KubernetesName
    chart: str
    repository: str | None = None
    timeout_seconds: int = Field(default=600, ge=60, le=3600)
    values: Annotated[dict[str, Any], SEVERAL_LINES] = Field(default_factory=dict)

    @rule("chart", "repository")
    def _source_is_whole(self) -> Iterator[RuleError]:
        yield from source_problems(self.chart, self.repository)

    def release(self, name: str, ours: Mapping[str, Any], *, skip_crds: bool = False) -> Chart:
        """The chart as a release called `name` with our values and the user's."""
        return Chart(
            release=name,
            namespace=self.namespace,
            chart=self.chart,
            version=self.version,
            repository=self.repository,
            values=merged(ours, self.values),
            skip_crds=skip_crds,
            timeout_seconds=self.timeout_seconds,
        )


class KueueSettings(ChartSettings):
    """Kueue, job queueing with quotas. Its CRDs are templates of the chart and go with it."""

    version: PinnedVersion = "0.17.0"
    namespace: KubernetesName = "kueue-system"
    chart: str = "oci://registry.k8s.io/kueue/charts/kueue"

    def own_values(self, monitoring_namespace: str | None) -> dict[str, Any]:
        """Our values; with monitoring, Prometheus of that namespace may scrape it."""
        if monitoring_namespace is None:
            return {}
        return {"enablePrometheus": True, "metrics": {"prometheusNamespace": monitoring_namespace}}


class ArgoWorkflowsSettings(ChartSettings):
    """Argo Workflows. Its CRDs are templates of the chart that Helm keeps when the release goes."""

    version: PinnedVersion = "2.0.1"
    namespace: KubernetesName = "argo"
    chart: str = "argo-workflows"
    repository: str | None = "https://argoproj.github.io/argo-helm"

    def own_values(self, monitored: bool) -> dict[str, Any]:
        """Our values; `monitored` where a Prometheus operator finds its ServiceMonitor."""
        ours: dict[str, Any] = {"crds": {"install": True, "keep": True}}
        if monitored:
            ours["controller"] = {"metricsConfig": {"enabled": True}, "serviceMonitor": {"enabled": True}}
        return ours


class MonitoringSettings(ChartSettings):
    """kube-prometheus-stack, with the CRDs of its operator from a chart of their own that is installed first.

    `crd_version` goes with `version`: both hold the same minor of the operator (0.93 by default). Grafana is installed
    when `grafana_admin_secret` names a Secret (keys admin-user and admin-password) that exists in the namespace.
    """

    version: PinnedVersion = "88.1.5"
    crd_version: PinnedVersion = "31.0.0"
    namespace: KubernetesName = "monitoring"
    chart: str = "kube-prometheus-stack"
    crd_chart: str = "prometheus-operator-crds"
    repository: str | None = PROMETHEUS_CHARTS
    grafana_admin_secret: KubernetesName | None = None
    retention: str = Field(default="30d", pattern=r"^[0-9]+[hdwy]$")
    storage: QuantityText | None = None
    storage_class: str | None = None
    managed_control_plane: bool = True

    @rule("crd_chart", "repository")
    def _source_of_crds_is_whole(self) -> Iterator[RuleError]:
        yield from source_problems(self.crd_chart, self.repository, key="crd_chart")

    @rule("storage", "storage_class")
    def _class_is_of_a_volume(self) -> Iterator[RuleError]:
        if self.storage_class is not None and self.storage is None:
            yield RuleError("has no effect without storage", "set storage too", ("storage_class",), self.storage_class)

    def crd_release(self) -> Chart:
        """The operator's CRDs, of which all else here has monitors and rules."""
        return Chart(
            release="prometheus-operator-crds",
            namespace=self.namespace,
            chart=self.crd_chart,
            version=self.crd_version,
            repository=self.repository,
            # Without its CRDs every rule and monitor in the cluster is gone, ours or not.
            values={"crds": {"annotations": {"helm.sh/resource-policy": "keep"}}},
            roll_back=False,
            timeout_seconds=self.timeout_seconds,
        )

    def own_values(self) -> dict[str, Any]:
        """Our values of the chart."""
        return monitoring_values(
            retention=self.retention,
            storage=self.storage,
            storage_class=self.storage_class,
            grafana_admin_secret=self.grafana_admin_secret,
            managed_control_plane=self.managed_control_plane,
        )


class AdditionalChart(ChartSettings):
    """A chart of the user's own. `owns` lists the CRDs it brings, so that no two charts bring one."""

    name: KubernetesName
    owns: tuple[CrdName, ...] = ()
    skip_crds: bool = False
