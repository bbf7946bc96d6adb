"""`floodplain raster`: estimates from headers, routes, and what a fleet of workers needs. Edge: reads and prints."""

from __future__ import annotations

import typer

raster = typer.Typer(help="Raster work: estimate from headers, route, size workers.", no_args_is_help=True)


@raster.callback()
def _root() -> None:
    """Raster work: what a warp will hold, and which worker it goes to."""


import floodplain.cli_raster_fleet  # noqa: E402, F401 - its commands are of this group
