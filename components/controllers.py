"""`Controllers`: the pinned charts of a batch platform, each optional, CRDs before what uses them.

Registers releases only; which and with which values is in `controllers_settings`. Karpenter has a component of its own.
"""

from typing import Any, NotRequired, Optional, TypedDict

import pulumi
from pulumi_kubernetes.helm.v3 import Release

from .arguments import read_args
from .controllers_settings import ControllersSettings
from .helm_release import install


class ChartArgs(TypedDict, total=False):
    """A chart to install; what is left out has the default of that chart."""

    version: str
    """Exact chart version."""
    namespace: str
    """Namespace, made where it does not exist."""
    chart: str
    """OCI reference, folder, or the chart's name in `repository`."""
    repository: str
    """Address of the chart repository, with https."""
    timeout_seconds: int
    """How long it may take to become ready. Default 600."""
    values: dict[str, Any]
    """Further chart values. None that floodplain sets itself."""


class MonitoringArgs(TypedDict, total=False):
    """kube-prometheus-stack, with container swap kept, and its operator's CRDs from a chart of their own."""

    # The keys of ChartArgs again: the SDK finds descriptions in a class itself only, not in what it inherits.
    version: str
    """Exact chart version. Default `88.1.5`."""
    namespace: str
    """Namespace, made where it does not exist. Default `monitoring`."""
    chart: str
    """OCI reference, folder, or the chart's name in `repository`. Default `kube-prometheus-stack`."""
    repository: str
    """Address of the chart repository, with https."""
    timeout_seconds: int
    """How long each of the two charts may take to become ready. Default 600."""
    values: dict[str, Any]
    """Further chart values. None that floodplain sets itself."""
    crd_version: str
    """Exact version of the chart of the operator's CRDs; of the same operator minor as `version`. Default `31.0.0`."""
    crd_chart: str
    """Chart of the operator's CRDs, in the same repository."""
    grafana_admin_secret: str
    """Existing Secret with keys admin-user and admin-password. Without it Grafana is not installed."""
    retention: str
    """How long Prometheus keeps metrics. Default `30d`."""
    storage: str
    """Size of Prometheus' volume. Without it metrics live as long as its pod."""
    storage_class: str
    """Storage class of that volume."""
    managed_control_plane: bool
    """The control plane cannot be scraped, as on EKS. Default true."""


class AdditionalChartArgs(TypedDict):
    """A chart of your own."""

    name: str
    """Name of the release."""
    version: str
    """Exact chart version."""
    namespace: str
    """Namespace, made where it does not exist."""
    chart: str
    """OCI reference, folder, or the chart's name in `repository`."""
    repository: NotRequired[str]
    """Address of the chart repository, with https."""
    owns: NotRequired[list[str]]
    """CRDs that the chart brings, as plural and group: two charts must not bring one."""
    skip_crds: NotRequired[bool]
    """Leave the chart's `crds/` folder out. Default false."""
    timeout_seconds: NotRequired[int]
    """How long it may take to become ready. Default 600."""
    values: NotRequired[dict[str, Any]]
    """Chart values."""


class ControllersArgs(TypedDict, total=False):
    """Arguments of Controllers. A chart that is left out is not installed."""

    kueue: ChartArgs
    """Kueue, job queueing with quotas. Default chart 0.17.0 in namespace `kueue-system`."""
    argo_workflows: ChartArgs
    """Argo Workflows. Default chart 2.0.1 in namespace `argo`."""
    kube_prometheus_stack: MonitoringArgs
    """Prometheus, its operator, exporters, and Grafana on demand."""
    additional: list[AdditionalChartArgs]
    """Charts of your own, checked against the others."""


class Controllers(pulumi.ComponentResource):
    """Kueue, Argo Workflows and kube-prometheus-stack, each optional and pinned, and charts of your own."""

    versions: pulumi.Output[dict[str, str]]
    """Installed chart versions by release name."""
    namespaces: pulumi.Output[dict[str, str]]
    """Their namespaces by release name."""

    def __init__(self, name: str, args: ControllersArgs, opts: Optional[pulumi.ResourceOptions] = None) -> None:
        super().__init__("floodplain:index:Controllers", name, {}, opts)
        charts = read_args(ControllersSettings, args).releases()
        crds: list[Release] = []
        for key, chart in charts.items():
            release = install(f"{name}-{key}", chart, parent=self, depends_on=crds)
            if key == "monitoring-crds":
                crds.append(release)
        self.versions = pulumi.Output.from_input({chart.release: chart.version for chart in charts.values()})
        self.namespaces = pulumi.Output.from_input({chart.release: chart.namespace for chart in charts.values()})
        self.register_outputs({"versions": self.versions, "namespaces": self.namespaces})
