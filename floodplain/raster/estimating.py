"""The public `estimate`: from a raster and a target to the terms of the task's peak. Reads a header if given a path."""

from __future__ import annotations

from floodplain.raster.header import Header
from floodplain.raster.model import estimate_task
from floodplain.raster.read_header import read_header
from floodplain.raster.target import Bounds, Target, complete
from floodplain.raster.task import Destination, GdalSettings, SourceWindow, Way
from floodplain.raster.terms import Estimate
from floodplain.raster.tile import parse_tile, tile_target
from floodplain.raster.window import NoOverlap, windows


class NothingToDo(ValueError):  # noqa: N818 - not an error of the caller's
    """The target shares no pixel with the raster: skip the task."""


def estimate(
    source: str | Header,
    *,
    target: Target | None = None,
    tile: str | tuple[int, int, int] | None = None,
    window: tuple[int, int, int, int] | None = None,
    crs: str | None = None,
    bounds: Bounds | None = None,
    width: int | None = None,
    height: int | None = None,
    settings: GdalSettings | None = None,
    factor: float = 1.0,
) -> Estimate:
    """What reading or warping `source` will hold beyond an idle worker. Raises RasterUnreadable and NothingToDo."""
    settings = settings or GdalSettings()
    notes: tuple[str, ...] = ()
    if isinstance(source, str):
        reading = read_header(source)
        header, notes = reading.header, reading.notes
    else:
        header = source
    if window is not None:
        column, row, across, down = window
        taken = (SourceWindow(column, row, across, down, 1, header.width, header.height),)
        settings = GdalSettings(**{**vars(settings), "way": Way.READ})
        destination = Destination(width or across, height or down, header.bands, header.dtypes[0])
        return estimate_task(header, taken, destination, settings, factor=factor, notes=notes)
    if tile is not None:
        target = parse_tile(tile) if isinstance(tile, str) else tile_target(*tile)
    grid = complete(target or Target(crs, bounds, width, height), header)
    found = windows(header, grid, settings)
    if isinstance(found, NoOverlap):
        raise NothingToDo(found.why)
    destination = Destination(grid.width, grid.height, header.bands, header.dtypes[0])
    return estimate_task(header, found, destination, settings, factor=factor, notes=notes)
