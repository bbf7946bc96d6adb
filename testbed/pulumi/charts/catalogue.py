"""Which charts the stand-in has: host and path as stack files and components name them, version, and where from.

Karpenter's CRD chart and controller chart lie in its Go module. Everything else is empty and called so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from components.controllers_settings import ControllersSettings
from components.helm_release import Chart
from components.karpenter_settings import KarpenterSettings
from testbed import engines
from testbed.pulumi.charts.archive import empty, packed

KARPENTER_MODULE = "github.com/aws/karpenter-provider-aws"
EARLIER_KARPENTER = "1.14.0"
"""Served too, with the content of the other, so that a change of version can be previewed."""


@dataclass(frozen=True)
class Published:
    """A chart at its place: `host` and `path` without scheme. `oci` tells a registry from a repository."""

    host: str
    path: str
    name: str
    version: str
    oci: bool
    archive: Callable[[], bytes]


def published() -> tuple[Published, ...]:
    """All that the components install, at the versions that they install by default."""
    karpenter = KarpenterSettings()
    folder = engines.module_folder(KARPENTER_MODULE) / "charts"
    ours = [
        _oci(reference, version, partial(packed, folder / name, version))
        for version in (karpenter.version, EARLIER_KARPENTER)
        for reference, name in ((karpenter.crd_chart, "karpenter-crd"), (karpenter.controller_chart, "karpenter"))
    ]
    everything = ControllersSettings.model_validate(
        {"kueue": {}, "argo_workflows": {}, "kube_prometheus_stack": {}}
    ).releases()
    return (*ours, *(_stand_in(chart) for chart in everything.values()))


def _stand_in(chart: Chart) -> Published:
    name = chart.chart.rpartition("/")[2]
    if chart.repository is None:
        return _oci(chart.chart, chart.version, partial(empty, name, chart.version))
    host, _, path = chart.repository.removeprefix("https://").rstrip("/").partition("/")
    return Published(host, path, name, chart.version, False, partial(empty, name, chart.version))


def _oci(reference: str, version: str, archive: Callable[[], bytes]) -> Published:
    host, _, path = reference.removeprefix("oci://").partition("/")
    return Published(host, path, path.rpartition("/")[2], version, True, archive)
