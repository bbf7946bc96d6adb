"""Does the stack say exactly which charts it installs?"""

from __future__ import annotations

import re
from collections.abc import Iterator

from pulumi_policy import Policy, ResourceValidationArgs

from floodplain.exact_version import is_exact

from .kinds import is_chart
from .proxies import Path, get, known_leaves, place, shown, text
from .rule import About, of_type, resource_rule

_VERSION_KEYS = re.compile(r"(?i)(.*tag|.*version)")


def _is_local(chart: str) -> bool:
    """A folder or archive on disk has its version inside. `name/chart` is a repository, `./chart` a folder."""
    return chart.startswith((".", "/")) or chart.endswith((".tgz", ".tar.gz"))


def inexact_version(args: ResourceValidationArgs) -> Iterator[str]:
    """A chart without version, with a range or with `latest`."""
    chart = text(get(args.props, "chart")) or ""
    version = get(args.props, "version")
    if version is None and _is_local(chart):
        return
    if version is None:
        yield f"version: chart {shown(chart)} has none, so the newest is installed; name one, such as 1.2.3"
    elif not is_exact(text(version) or ""):
        yield f"version: {shown(version)} of chart {shown(chart)} is not exact; write one version, such as 1.2.3"


def development_versions(args: ResourceValidationArgs) -> Iterator[str]:
    """`devel` makes Helm take pre-releases instead of the version."""
    if get(args.props, "devel") is True:
        yield "devel: true takes the newest pre-release; remove it and name a version"


def latest_in_values(args: ResourceValidationArgs) -> Iterator[str]:
    """Values that name the tag or version `latest`."""
    for below, value in known_leaves(get(args.props, "values")):
        path: Path = ("values", *below)
        key = str(path[-1])
        if isinstance(value, str) and value.lower() == "latest" and _VERSION_KEYS.fullmatch(key):
            yield f"{place(path)}: 'latest' is not a version; name one"
        elif isinstance(value, str) and value.endswith(":latest") and "image" in key.lower():
            yield f"{place(path)}: {shown(value)} follows `latest`; name a version or a digest"


POLICIES: list[Policy] = [
    resource_rule(
        About(
            name="charts-have-an-exact-version",
            description="A Helm chart has one exact version: no range, no `latest`, nor do its values name one.",
            remedy="Write the version that was tested, such as version: 1.2.3; local charts carry their own.",
        ),
        of_type(is_chart),
        inexact_version,
        development_versions,
        latest_in_values,
    ),
]
