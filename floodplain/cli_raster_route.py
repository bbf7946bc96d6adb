"""`floodplain raster route`: a list of tasks, split over the two pools before anything is allocated. Edge."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from floodplain.cli_raster import raster
from floodplain.cli_raster_ground import ground_of
from floodplain.cli_raster_options import PoolFlags, Sidecars, TaskFlags, print_assumed
from floodplain.cli_raster_status import DONE, FAILED, INTERRUPTED
from floodplain.grouped_options import grouped

if TYPE_CHECKING:
    from floodplain.cli_raster_files import RoutedFiles
    from floodplain.raster.read_headers import Read
    from floodplain.raster.routed import Ground
    from floodplain.raster.tile_line import TileLine

_STATUS = (
    "Exit status: 0 every task has a pool or nothing to do, 1 a task was refused or failed, or a file cannot be read, "
    "understood or written (then nothing is written), 2 bad options, 130 interrupted and 143 terminated "
    "(nothing is written)."
)


@raster.command("route", epilog=_STATUS)
@grouped
def route(
    tiles: Annotated[str, typer.Argument(help="A JSON object a line; - reads stdin.", metavar="TILES")],
    out: Annotated[str, typer.Option(help="Folder for small.jsonl, big.jsonl and others.", metavar="DIR")],
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace what an earlier run wrote there.")] = False,
    parallel: Annotated[int, typer.Option(min=1, max=256, help="Headers that are read at once.")] = 16,
    *,
    on_failure: Annotated[
        str, typer.Option(help="fail, or big: a task whose estimate cannot be had goes to the big pool.")
    ] = "fail",
    tasks: TaskFlags,
    sidecars: Sidecars = False,
    pools: PoolFlags,
    as_json: Annotated[bool, typer.Option("--json", help="Print the counts as JSON.")] = False,
) -> None:
    r"""Split a list of tasks by their estimates: small.jsonl, big.jsonl, and refused, skipped and failed if there are.

    A line names a raster and what of it:
    {"source": "s3://b/a.tif", "tile": "14/8716/5685"}.
    In place of tile: window \[column, row, width, height],
    or bounds \[left, bottom, right, top] with crs.
    size, bands, dtype, resampling, way, masked and layer of a line go before options.
    Every line is kept as it is and gets the key `estimate`. A header is read once.
    """
    from concurrent.futures.process import BrokenProcessPool

    from floodplain.cli_plan_files import FileError
    from floodplain.cli_raster_files import RoutedFiles
    from floodplain.stop_signals import stoppable

    ground = ground_of(tasks, pools, on_failure=on_failure, layer_of_line=True)
    files = RoutedFiles(out, overwrite=overwrite)
    try:
        with stoppable():
            status = _read_and_route(tiles, ground, files, parallel, sidecars, as_json)
        if files.committed and not as_json:
            print_assumed(pools, ground.pools)
    except FileError as error:
        typer.echo(str(error), err=True)
        status = FAILED
    except BrokenProcessPool:
        typer.echo(
            "A process of this command was killed, as for memory: nothing was written. Route fewer lines at once.",
            err=True,
        )
        status = FAILED
    except KeyboardInterrupt as stop:
        typer.echo(f"Interrupted: {'the files are written' if files.committed else 'nothing was written'}.", err=True)
        status = getattr(stop, "status", INTERRUPTED)
    raise typer.Exit(status)


def _read_and_route(
    tiles: str, ground: Ground, files: RoutedFiles, parallel: int, sidecars: bool, as_json: bool
) -> int:
    from floodplain.cli_raster_files import read_lines

    tasks, problems = read_lines("TILES", tiles)
    problems += _unknown_crs(tasks) if not problems else []
    if problems:
        for problem in problems:
            typer.echo(problem, err=True)
        typer.echo("Nothing was written: mend these lines first.", err=True)
        return FAILED
    return _route(tasks, ground, files, parallel, sidecars, as_json)


def _route(
    tasks: Sequence[TileLine], ground: Ground, files: RoutedFiles, parallel: int, sidecars: bool, as_json: bool
) -> int:
    import json

    from rich.console import Console

    from floodplain.cli_raster_screen import Tally, print_routed, progress, reasons, uncalibrated
    from floodplain.console import console
    from floodplain.raster.read_headers import read_headers
    from floodplain.raster.route import Place
    from floodplain.raster.route_many import route_many
    from floodplain.raster.tile_line import with_estimate

    tallies = {place: Tally() for place in Place}
    told: dict[Place, list[tuple[int, str]]] = {Place.REFUSED: [], Place.FAILED: []}
    sources = list(dict.fromkeys(task.source for task in tasks))
    headers: dict[str, Read] = {}
    with files, progress(Console(stderr=True)) as bar:
        reading = bar.add_task("headers", total=len(sources))
        for source, read in read_headers(sources, threads=parallel, sidecars=sidecars):
            headers[source] = read
            bar.advance(reading)
        routing = bar.add_task("tasks", total=len(tasks))
        for task, one in zip(tasks, route_many(tasks, headers, ground), strict=True):
            place = one.routing.place
            tallies[place].add(one)
            if place in told:
                told[place].append((task.number, one.routing.reason))
            files.write(place, with_estimate(task, one.to_json()))
            bar.advance(routing)
        written = files.commit()
    for line in uncalibrated(tasks, ground):
        typer.echo(line, err=True)
    counted = {place: tally for place, tally in tallies.items() if place in written}
    for place, some in told.items():
        for line in reasons(place, some, len(some), written.get(place, "")):
            typer.echo(line, err=True)
    if as_json:
        found = {
            place.value: {"tasks": one.tasks, "largest_bytes": one.largest_bytes, "file": written[place]}
            for place, one in counted.items()
        }
        typer.echo(json.dumps({"headers": len(sources), "pools": found}, indent=2))
    else:
        print_routed(console(), counted, written)
    return FAILED if told[Place.REFUSED] or told[Place.FAILED] else DONE


def _unknown_crs(tasks: Sequence[TileLine]) -> list[str]:
    from floodplain.raster.routed import crs_problem

    return [
        f"line {task.number}, crs: {problem}"
        for task in tasks
        if task.asked.crs is not None and (problem := crs_problem(task.asked.crs)) is not None
    ]
