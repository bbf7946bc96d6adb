"""Fill the generated parts of README.md and docs/: `python -m docs.tables`, or `make docs`.

A generated part stands between `<!-- generated: WHAT -->` and `<!-- end -->`; everything else is written by hand and
left alone. Not for checking that the committed files are fresh: tests/docs does that with `refreshed`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from docs import (
    benchmark_tables,
    component_tables,
    fact_tables,
    key_tables,
    mosaic_samples,
    peak_tables,
    plan_samples,
    raster_fleet_samples,
    raster_route_samples,
    samples,
)

ROOT = Path(__file__).resolve().parent.parent

_PART = re.compile(r"(?P<head><!-- generated: (?P<what>[^>]+?) -->\n).*?(?P<tail>^<!-- end -->$)", re.S | re.M)

MAKERS: dict[str, Callable[..., str]] = {
    "inputs": component_tables.inputs,
    "outputs": component_tables.outputs,
    "types": component_tables.types,
    "stack keys": key_tables.stack_keys,
    "commands": key_tables.commands,
    "caught": benchmark_tables.caught,
    "missed": benchmark_tables.missed,
    "charts": fact_tables.charts,
    "versions": fact_tables.versions,
    "events": fact_tables.events,
    "families": fact_tables.families,
    "kernel reserve": fact_tables.reserves,
    "limits": fact_tables.limits,
    "no swap": fact_tables.no_swap,
    "peaks": peak_tables.peaks,
    "missed peaks": peak_tables.missed_peaks,
    "wasteful peaks": peak_tables.wasteful_peaks,
    "observations": peak_tables.observations,
    "plan": plan_samples.plan_of,
    "policies": fact_tables.policies,
    "policy settings": fact_tables.policy_settings,
    "since": fact_tables.since,
    "unknowns": fact_tables.unknowns,
    "mosaic routes": mosaic_samples.routes,
    "preview": samples.preview_of,
    "raster annotate": raster_route_samples.annotated,
    "raster bill": raster_fleet_samples.bill,
    "raster estimate": raster_route_samples.estimated,
    "raster route": raster_route_samples.routed,
    "raster workers": raster_fleet_samples.workers,
    "raster worker pools": samples.worker_pools,
    "routed line": raster_route_samples.a_line,
    "edited preview": samples.edited,
    "faults": samples.faults,
}
"""What can be generated. Words after the longest matching name are its arguments."""


class UnknownPartError(ValueError):
    """A marker names something that nobody can generate."""


def pages() -> Iterator[Path]:
    """Every page that a reader may open, README first."""
    yield ROOT / "README.md"
    yield from sorted((ROOT / "docs").rglob("*.md"))
    yield from sorted((ROOT / "examples").rglob("*.md"))


def make(what: str) -> str:
    """The text of one generated part. Raises UnknownPartError."""
    names = sorted((name for name in MAKERS if what == name or what.startswith(f"{name} ")), key=len)
    if not names:
        raise UnknownPartError(f"nothing generates {what!r}; known: {', '.join(sorted(MAKERS))}")
    return MAKERS[names[-1]](*what[len(names[-1]) :].split())


def refreshed(text: str) -> str:
    """The page with every generated part made anew."""
    return _PART.sub(lambda part: f"{part['head']}\n{make(part['what']).strip()}\n\n{part['tail']}", text)


def main() -> int:
    """Rewrite what is stale and name it."""
    for page in pages():
        if not page.exists():
            continue
        text = page.read_text(encoding="utf-8")
        fresh = refreshed(text)
        if fresh != text:
            page.write_text(fresh, encoding="utf-8")
            print(f"{page.relative_to(ROOT)}: refreshed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
