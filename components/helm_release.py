"""A Helm chart to install: where it comes from, which version, which values; and the release made from it.

The first part is pure. Charts are `helm.v3.Release`s, so that Helm's own hooks and rollback work and a preview shows
changed values instead of every rendered line. `helm.v4.Chart` would also show a difference on each run: it renders
the chart anew, and templates that draw random certificates or passwords never give the same text twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

import pulumi
from pulumi_kubernetes.helm.v3 import Release, ReleaseArgs, RepositoryOptsArgs
from pydantic import AfterValidator

from floodplain.exact_version import is_exact
from floodplain.problem import RuleError, raise_rules

from .cloud_names import DNS_LABEL


def _pinned(version: str) -> str:
    if not is_exact(version):
        raise RuleError(
            "is not one exact chart version", "pin it as three numbers, such as 1.14.1: no range, no latest, not empty"
        )
    return version


def _chart_reference(chart: str) -> str:
    if not chart.startswith(("oci://", "./", "../", "/")):
        raise RuleError(
            "is neither an OCI chart nor a folder",
            "write oci://REGISTRY/PATH, or a path that starts with ./ or /",
        )
    if chart.startswith("oci://") and ":" in chart.rsplit("/", 1)[-1]:
        raise RuleError("has a tag", "leave the tag out and set the version")
    return chart


def _dns_label(name: str) -> str:
    if not DNS_LABEL.accepts(name):
        raise RuleError(
            "is not a Kubernetes name", "use 1 to 63 lower-case letters, digits and dashes, no dash at the ends"
        )
    return name


def source_problems(chart: str, repository: str | None, *, key: str = "chart") -> Iterator[RuleError]:
    """What keeps the two from saying where a chart is: a reference alone, or a name in an https repository.

    `key` is the setting that holds the chart.
    """
    if repository is None:
        try:
            _chart_reference(chart)
        except RuleError as error:
            yield RuleError(error.rule, error.remedy, (key,), chart)
        return
    secure = repository.startswith("https://")
    if not secure:
        yield RuleError(
            "is not the https address of a chart repository",
            "write https://..., or an OCI reference as chart and no repository",
            ("repository",),
            repository,
        )
    # Where the repository is to go, a reference is right.
    if not DNS_LABEL.accepts(chart) and (secure or not chart.startswith("oci://")):
        yield RuleError(
            "is not the name of a chart in a repository",
            "write the name alone, or leave repository out",
            (key,),
            chart,
        )


PinnedVersion = Annotated[str, AfterValidator(_pinned)]
ChartReference = Annotated[str, AfterValidator(_chart_reference)]
KubernetesName = Annotated[str, AfterValidator(_dns_label)]


@dataclass(frozen=True)
class Chart:
    """One release to be. `chart` is an OCI reference, a folder, or a name in `repository` (an https address)."""

    release: str
    namespace: str
    chart: str
    version: str
    repository: str | None = None
    values: Mapping[str, Any] = field(default_factory=dict)
    skip_crds: bool = False
    roll_back: bool = True
    take_ownership: bool = False
    timeout_seconds: int = 600

    @property
    def is_folder(self) -> bool:
        """Whether the chart lies on this machine; it then has the version that its Chart.yaml says."""
        return self.repository is None and not self.chart.startswith("oci://")


def merged(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> dict[str, Any]:
    """Our chart values with a user's beside them, maps merged key by key. Raises all of `clashes`."""
    raise_rules(clashes(ours, theirs))
    return _union(ours, theirs)


def clashes(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> Iterator[RuleError]:
    """One RuleError for each of a user's values that would change one of ours.

    Ours have settings, and some are what makes the rest work, so that neither side may silently win.
    """
    for at in _clashes(ours, theirs):
        yield RuleError(
            "is set by floodplain already", "remove it here; where it may vary it is a setting", ("values", *at)
        )


def _clashes(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    for key in sorted(set(ours) & set(theirs)):
        if isinstance(ours[key], Mapping) and isinstance(theirs[key], Mapping):
            yield from ((key, *rest) for rest in _clashes(ours[key], theirs[key]))
        else:
            yield (key,)


def _union(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> dict[str, Any]:
    union = dict(theirs) | dict(ours)
    for key in set(ours) & set(theirs):
        union[key] = _union(ours[key], theirs[key])
    return {key: union[key] for key in sorted(union)}


def install(name: str, chart: Chart, *, parent: pulumi.Resource, depends_on: Sequence[pulumi.Resource] = ()) -> Release:
    """The Pulumi resource of one chart. It waits until what it installed is ready.

    `roll_back` returns to the last good release when an upgrade fails, and takes a failed first install away. Without
    it what a failed upgrade has made stays too: Helm's clean-up would delete CRDs that are new in that version, and
    with them every object of their kinds.
    """
    return Release(
        name,
        ReleaseArgs(
            name=chart.release,
            namespace=chart.namespace,
            create_namespace=chart.namespace != "kube-system",
            chart=chart.chart,
            version=None if chart.is_folder else chart.version,
            repository_opts=RepositoryOptsArgs(repo=chart.repository) if chart.repository else None,
            values=dict(chart.values),
            skip_crds=chart.skip_crds,
            atomic=chart.roll_back,
            cleanup_on_fail=chart.roll_back,
            take_ownership=True if chart.take_ownership else None,
            max_history=10,
            timeout=chart.timeout_seconds,
        ),
        opts=pulumi.ResourceOptions(parent=parent, depends_on=list(depends_on)),
    )
