"""Fresh warps against the memory that we say they need, and the rule "3 x the source's bytes" in the same run.

Each task runs in a process of its own, over rasters made for it. `--seed=N` draws other tasks (the model was mended by
seeds 1 to 132; the default is another), `--count=N` as many, `--quick` 60, `--worst=N` prints more of the worst.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from rasterio import open as open_raster

from floodplain.quantity import MIB
from floodplain.raster.header import Header
from floodplain.raster.model import estimate_task
from floodplain.raster.pixel_size import itemsize
from floodplain.raster.read_header import header_of
from floodplain.raster.target import Grid
from floodplain.raster.task import Destination, SourceWindow, Way
from floodplain.raster.terms import Estimate
from floodplain.raster.window import NoOverlap, Reach, reach, windowed

from .ranges_server import serving
from .rows import Row, at_most
from .warp_cases import Case, draw
from .warp_process import grid_of, in_child, make, marginal_peak

SEED, COUNT, QUICK = 141, 200, 60
LIMIT_SECONDS = 15
"""Of one task. Slow ones warp block by block through a small cache: hours of them say no more than minutes."""
BELOW, MEDIAN, P95 = 0.8, 1.3, 1.7
NAIVE = 3
"""The rule of the raster article: so many times the bytes of the source window."""


@dataclass(frozen=True)
class Outcome:
    """A task with what it held and what was said before."""

    case: Case
    grid: Grid
    measured_bytes: int
    estimate: Estimate
    naive_bytes: int
    """Of the source window."""

    @property
    def ratio(self) -> float:
        return self.estimate.peak_bytes / self.measured_bytes

    @property
    def rule_ratio(self) -> float:
        return NAIVE * self.naive_bytes / self.measured_bytes


@dataclass(frozen=True)
class Spread:
    """Of estimate to measurement."""

    below: int
    least: float
    median: float
    p95: float
    most: float


def run(options: Sequence[str] = ()) -> list[Row]:
    """Measure, print the worst on both sides, and the rows."""
    given = dict(option.removeprefix("--").split("=", 1) for option in options if "=" in option)
    count = int(given.get("count", QUICK if "--quick" in options else COUNT))
    seed = int(given.get("seed", SEED))
    began = time.monotonic()
    outcomes = measure(draw(seed, count))
    _print_worst(outcomes, int(given.get("worst", 5)))
    slow = Row(f"tasks not measured, over {LIMIT_SECONDS} s", f"of {count}", count - len(outcomes))
    return [*rows(outcomes), slow, Row("time taken", "s", round(time.monotonic() - began, 1))]


def measure(cases: Sequence[Case]) -> list[Outcome]:
    """Every case, in the order given. Sources are made and removed as they are needed."""
    outcomes = []
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="floodplain-warps-")))
        server = stack.enter_context(serving(folder))
        for source in dict.fromkeys(case.source for case in cases):
            in_child(partial(make, source, folder))
            local = folder / source.name
            for case in (case for case in cases if case.source == source):
                path = f"{server.url}/{source.name}" if case.settings.remote else str(local)
                outcome = _outcome(case, path, local)
                outcomes += [outcome] if outcome else []
            local.unlink()
    return outcomes


def _outcome(case: Case, path: str, local: Path) -> Outcome | None:
    """None for a task that took too long."""
    # The plan in a child too: a CRS that this process has used would cost the measured one nothing.
    grid, header, found = in_child(partial(plan, case, local))
    bands = header.bands + (1 if case.settings.add_alpha else 0)
    destination = Destination(grid.width, grid.height, bands, header.dtypes[0])
    estimate = estimate_task(header, found.windows, destination, case.settings, placement=found.placement)
    naive = sum(window.pixels for window in found.windows) * sum(itemsize(dtype) for dtype in header.dtypes)
    peak = in_child(partial(marginal_peak, case, path, grid), LIMIT_SECONDS)
    return None if peak is None else Outcome(case, grid, peak, estimate, naive)


def plan(case: Case, local: Path) -> tuple[Grid, Header, Reach]:
    """Where the destination lies, and what of the source that needs."""
    grid = grid_of(case)
    with open_raster(local) as dataset:
        header = header_of(dataset)
    if case.settings.way is Way.READ:
        found = windowed(header, case.window, (grid.width, grid.height), case.settings.resampling)
    else:
        found = reach(header, grid, case.settings)
    if isinstance(found, NoOverlap):
        raise RuntimeError(f"{case}: {found.why}")  # noqa: TRY004 - of no type that was given
    if case.settings.way is Way.ARRAY:
        found = replace(found, windows=(SourceWindow(*case.window, 1, header.width, header.height),))
    return grid, header, found


def spread(ratios: Sequence[float]) -> Spread:
    """Their quantiles; `below` counts those under BELOW."""
    ordered = sorted(ratios)
    at = [ordered[min(len(ordered) - 1, round(share * (len(ordered) - 1)))] for share in (0, 0.5, 0.95, 1)]
    return Spread(sum(ratio < BELOW for ratio in ordered), *at)


def rows(outcomes: Sequence[Outcome]) -> list[Row]:
    """Figures beside those of the rule."""
    ours, rule = spread([one.ratio for one in outcomes]), spread([one.rule_ratio for one in outcomes])
    peer = f"{NAIVE} x source bytes"
    return [
        replace(
            at_most(f"fresh warps, estimate below {BELOW} x measured", f"of {len(outcomes)}", ours.below, 0),
            peer=peer,
            peer_value=rule.below,
        ),
        Row("estimate / measured: least", "", round(ours.least, 2), peer=peer, peer_value=round(rule.least, 2)),
        replace(
            at_most("estimate / measured: median", "", ours.median, MEDIAN),
            peer=peer,
            peer_value=round(rule.median, 2),
        ),
        replace(at_most("estimate / measured: p95", "", ours.p95, P95), peer=peer, peer_value=round(rule.p95, 2)),
        Row("estimate / measured: most", "", round(ours.most, 2), peer=peer, peer_value=round(rule.most, 2)),
    ]


def _print_worst(outcomes: Sequence[Outcome], count: int) -> None:
    ordered = sorted(outcomes, key=lambda one: one.ratio)
    for title, some in (("too low", ordered[:count]), ("too high", ordered[: -count - 1 : -1])):
        print(f"estimates that are most {title}:")
        for one in some:
            figures = f"{one.ratio:.2f} = {one.estimate.peak_bytes / MIB:.1f} / {one.measured_bytes / MIB:.1f} MiB"
            print(f"  {figures}  {one.case}")
            print("       " + ", ".join(f"{term.name} {term.bytes / MIB:.1f}" for term in one.estimate.terms))
