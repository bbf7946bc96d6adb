"""Estimates and routes on a terminal: terms in columns, reasons below. Edge: prints with rich."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from floodplain.byte_amount import mib
from floodplain.problem import printable
from floodplain.raster.route import Place
from floodplain.raster.routed import Ground, Routed
from floodplain.raster.tile_line import TileLine
from floodplain.raster.two_pools import TwoPools

_STYLES = {Place.SMALL: "bold green", Place.BIG: "bold yellow", Place.REFUSED: "bold red"}
_SHOWN = 5


@dataclass
class Tally:
    """What became of the tasks for one place."""

    tasks: int = 0
    largest_bytes: int | None = None

    def add(self, one: Routed) -> None:
        self.tasks += 1
        if one.estimate is not None:
            self.largest_bytes = max(self.largest_bytes or 0, one.estimate.peak_bytes)


def print_estimate(screen: Console, headline: str, one: Routed, requests: int | None, pools: TwoPools) -> None:
    """One estimate, term by term."""
    place = one.routing.place
    screen.print(Text(f"{headline}: {place.value}", _STYLES.get(place, "bold")))
    screen.print()
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True, justify="right")
    table.add_column(overflow="fold")
    found = one.estimate
    if found is not None:
        for term in found.terms:
            table.add_row(Text(printable(term.name)), Text(mib(term.bytes)), Text(printable(term.why)))
        if found.factor != 1:
            table.add_row(Text("factor"), Text(f"x {found.factor:g}"), Text("of calibration"))
        table.add_row(Text("peak", "bold"), Text(mib(found.peak_bytes), "bold"), Text("beyond a worker that waits"))
        container = f"with the {mib(pools.baseline_bytes)} of that worker: floodplain.dev/peak"
        table.add_row(Text("container"), Text(mib(found.peak_bytes + pools.baseline_bytes)), Text(container))
    if requests is not None:
        over = "over HTTP, for the header" if requests else "the raster is a local file"
        table.add_row(Text("requests"), Text(str(requests)), Text(over))
    table.add_row(
        Text("pool", "bold"), Text(place.value, _STYLES.get(place, "bold")), Text(printable(one.routing.reason))
    )
    screen.print(table)
    if found is not None and found.notes:
        screen.print()
        screen.print(Text("Notes", "bold"))
        for note in found.notes:
            screen.print(Text(f"- {printable(note)}"))


def print_routed(screen: Console, tallies: Mapping[Place, Tally], files: Mapping[Place, str]) -> None:
    """How many tasks went where."""
    table = Table()
    table.add_column("Pool")
    table.add_column("Tasks", justify="right")
    table.add_column("Largest estimate", justify="right")
    table.add_column("File", overflow="fold")
    for place, tally in tallies.items():
        largest = "-" if tally.largest_bytes is None else mib(tally.largest_bytes)
        table.add_row(
            Text(place.value, _STYLES.get(place, "")), f"{tally.tasks:,}", largest, Text(printable(files[place]))
        )
    screen.print(table)


def reasons(place: Place, told: Sequence[tuple[int, str]], count: int, file: str) -> list[str]:
    """The first lines that went nowhere, with why."""
    lines = [f"line {number} {place.value}: {printable(reason)}" for number, reason in told[:_SHOWN]]
    return [*lines, f"and {count - _SHOWN} more: see {printable(file)}"] if count > _SHOWN else lines


def uncalibrated(tasks: Sequence[TileLine], ground: Ground) -> list[str]:
    """Layers of a list that its history does not know: their estimates are as the model has them."""
    if ground.calibration is None:
        return []
    counts = Counter(task.asked.layer or ground.layer for task in tasks)
    lines = []
    for layer, count in counts.most_common():
        if layer is None:
            lines.append(f"{_tasks(count)} not calibrated: no layer in the line; add it, or --layer")
        elif not (found := ground.calibration.of(layer)).records:
            lines.append(f"{_tasks(count)} not calibrated: {printable(found.reason)}; measure with an estimate")
    left = len(lines) - _SHOWN
    return [*lines[:_SHOWN], f"and {left} more layers are not calibrated"] if left > 0 else lines


def _tasks(count: int) -> str:
    return "1 task" if count == 1 else f"{count:,} tasks"


def progress(screen: Console) -> Progress:
    """A bar that is gone at the end, and is not there at all where nobody sees it."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=screen,
        transient=True,
        disable=not screen.is_terminal,
    )
