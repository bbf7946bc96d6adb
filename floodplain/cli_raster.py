"""`floodplain raster`: estimates from headers, routes, and what a fleet of workers needs. Edge: reads and prints."""

from __future__ import annotations

import typer

raster = typer.Typer(help="Raster work: estimate from headers, route, size workers.", no_args_is_help=True)


@raster.callback()
def _root() -> None:
    """Raster work: what a warp will hold, and which worker it goes to."""


from floodplain import (  # noqa: E402, I001 - their commands are of this group, and help shows them in this order
    cli_raster_estimate,  # noqa: F401
    cli_raster_route,  # noqa: F401
    cli_raster_annotate,  # noqa: F401
    cli_raster_fleet,  # noqa: F401
)
