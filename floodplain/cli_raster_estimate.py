"""`floodplain raster estimate`: what one task will hold, term by term, and the pool that it goes to. Edge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from floodplain.cli_raster import raster
from floodplain.cli_raster_ground import asked_of, ground_of
from floodplain.cli_raster_options import PoolFlags, Sidecars, TargetFlags, TaskFlags, print_assumed
from floodplain.cli_raster_status import DONE, FAILED
from floodplain.grouped_options import grouped

if TYPE_CHECKING:
    from floodplain.raster.read_headers import Read
    from floodplain.raster.routed import Ground, Routed
    from floodplain.raster.tile_line import Asked

_STATUS = (
    "Exit status: 0 it has a pool or nothing to do, 1 it is refused, or raster or file cannot be read, 2 bad options. "
    "Sizes are Kubernetes quantities, such as 64Mi."
)


@raster.command("estimate", epilog=_STATUS)
@grouped
def estimate(
    source: Annotated[str, typer.Argument(help="A path, or https://, s3://, gs:// or /vsi.../.", metavar="SOURCE")],
    *,
    target: TargetFlags,
    tasks: TaskFlags,
    sidecars: Sidecars = False,
    pools: PoolFlags,
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

    ground, asked = ground_of(tasks, pools), asked_of(target)
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
        if one.estimate is not None:
            print_assumed(pools, ground.pools)
    raise typer.Exit(FAILED if one.routing.place in (Place.REFUSED, Place.FAILED) else DONE)


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
