"""`floodplain raster estimate`: what one task will hold, term by term, and the pool that it goes to. Edge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from floodplain import cli_raster_options as options
from floodplain.cli_raster import raster

if TYPE_CHECKING:
    from floodplain.raster.read_headers import Read
    from floodplain.raster.routed import Ground, Routed
    from floodplain.raster.tile_line import Asked

_STATUS = (
    "Exit status: 0 it has a pool or nothing to do, 1 it is refused, or the raster cannot be read, 2 bad options. "
    "Sizes are Kubernetes quantities, such as 64Mi."
)

Source = Annotated[str, typer.Argument(help="A path, or http(s)://, s3:// or /vsi.../.", metavar="SOURCE")]
Tile = Annotated[str | None, typer.Option(help="Of web mercator; y from the north.", metavar="z/x/y")]
Window = Annotated[str | None, typer.Option(help="Pixels of the raster.", metavar="COLUMN,ROW,WIDTH,HEIGHT")]
Bounds = Annotated[str | None, typer.Option(help="In --crs.", metavar="LEFT,BOTTOM,RIGHT,TOP")]
Crs = Annotated[str | None, typer.Option(help="Of the destination; default: the raster's.", metavar="EPSG:n")]


@raster.command("estimate", epilog=_STATUS)
def estimate(
    source: Source,
    tile: Tile = None,
    window: Window = None,
    bounds: Bounds = None,
    crs: Crs = None,
    size: options.Sized = None,
    bands: options.Bands = None,
    dtype: options.Dtype = None,
    resampling: options.Resampling = "nearest",
    way: options.Way = "vrt",
    masked: options.Masked = False,
    warp_memory: options.WarpMemory = "64Mi",
    threads: options.Threads = 1,
    factor: options.Factor = 1.0,
    history: options.History = None,
    layer: options.Layer = None,
    sidecars: options.Sidecars = False,
    pools_file: options.PoolsFile = None,
    slots: options.Slots = None,
    small_memory: options.SmallMemory = None,
    big_memory: options.BigMemory = None,
    baseline: options.Baseline = None,
    cache: options.Cache = None,
    processes: options.Processes = None,
    agent: options.Agent = None,
    threshold: options.Threshold = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the estimate as JSON.")] = False,
) -> None:
    """Estimate what a read or warp will hold, from the raster's header alone: no pixel is read.

    Without tile, window or bounds it is the whole raster.
    """
    import json

    from floodplain.cli_raster_screen import print_estimate
    from floodplain.console import console
    from floodplain.problem import printable
    from floodplain.raster.route import Place

    ground = options.ground_of(
        options.TaskFlags(resampling, way, masked, warp_memory, threads, factor, history, layer),
        options.PoolFlags(pools_file, slots, small_memory, big_memory, baseline, cache, processes, agent, threshold),
    )
    asked = asked_of(tile, window, bounds, crs, size, bands, dtype)
    one, read = answer(source, asked, ground, sidecars)
    requests = getattr(read, "requests", None)
    if as_json:
        found = {"source": source, "requests": requests, **one.to_json()}
        if one.estimate is not None:
            found["container_bytes"] = one.estimate.peak_bytes + ground.pools.baseline_bytes
            found["why"] = {term.name: term.why for term in one.estimate.terms}
        typer.echo(json.dumps(found, indent=2))
    elif one.routing.place is Place.FAILED:
        typer.echo(printable(one.routing.reason), err=True)
    else:
        print_estimate(console(), headline(source, asked), one, requests, ground.pools)
    raise typer.Exit(options.FAILED if one.routing.place in (Place.REFUSED, Place.FAILED) else options.DONE)


def asked_of(
    tile: str | None,
    window: str | None,
    bounds: str | None,
    crs: str | None,
    size: str | None,
    bands: str | None,
    dtype: str | None,
) -> Asked:
    """What options ask for. Ends the command with status 2 after telling what is wrong."""
    from floodplain.raster.routed import crs_problem

    places = {"tile": tile, "window": window, "bounds": bounds, "crs": crs}
    asked = options.asked_of({**places, "size": size, "bands": bands, "dtype": dtype})
    if asked.crs is not None and (problem := crs_problem(asked.crs)) is not None:
        options.bad(f"--crs: {problem}")
    return asked


def answer(source: str, asked: Asked, ground: Ground, sidecars: bool) -> tuple[Routed, Read]:
    """Read the header and route."""
    from floodplain.raster.read_headers import read_headers
    from floodplain.raster.routed import routed

    ((_, read),) = read_headers([source], threads=1, sidecars=sidecars)
    return routed(source, asked, read, ground), read


def headline(source: str, asked: Asked) -> str:
    """The task in a few words."""
    from floodplain.cli_plan_files import shown

    what = "all of it"
    if asked.tile is not None:
        what = f"tile {asked.tile}"
    elif asked.window is not None:
        what = "window " + ",".join(str(number) for number in asked.window)
    elif asked.bounds is not None:
        what = "bounds " + ",".join(f"{number:.10g}" for number in asked.bounds)
    into = f" to {shown(asked.crs)}" if asked.crs else ""
    pixels = f" as {asked.size[0]}x{asked.size[1]}" if asked.size else ""
    return f"{shown(source)}, {what}{into}{pixels}"
