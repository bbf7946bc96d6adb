"""Which pixels of a source a target needs, and of which level of it. Pure: nothing is opened."""

from __future__ import annotations

import math
from dataclasses import dataclass

from floodplain.problem import RuleError
from floodplain.raster.header import Header
from floodplain.raster.target import Bounds, Grid
from floodplain.raster.task import GdalSettings, SourceWindow

DENSIFY_POINTS = 21
"""Along each side of the bounds; corners alone lose what bulges between them."""


@dataclass(frozen=True)
class NoOverlap:
    """The target shares no pixel with the source: there is no task, which is not a task of size 0."""

    why: str


def full_bounds(header: Header) -> Bounds:
    """left, bottom, right, top of the raster in its own CRS, whichever way its rows and columns run."""
    a, b, c, d, e, f = header.transform
    xs = [c + a * column + b * row for column in (0, header.width) for row in (0, header.height)]
    ys = [f + d * column + e * row for column in (0, header.width) for row in (0, header.height)]
    return min(xs), min(ys), max(xs), max(ys)


def windows(header: Header, grid: Grid, settings: GdalSettings) -> tuple[SourceWindow, ...] | NoOverlap:
    """What a warp to `grid` reads: one window, or two across the antimeridian."""
    from affine import Affine
    from rasterio.warp import transform_bounds

    boxes = [grid.bounds]
    if grid.crs is not None and header.crs is not None and grid.crs != header.crs:
        left, bottom, right, top = transform_bounds(grid.crs, header.crs, *grid.bounds, densify_pts=DENSIFY_POINTS)
        boxes = (
            [(left, bottom, right, top)] if left <= right else [(left, bottom, 180, top), (-180, bottom, right, top)]
        )
    inverse = ~Affine(*header.transform)
    found = []
    for left, bottom, right, top in boxes:
        corners = [inverse @ (x, y) for x in (left, right) for y in (bottom, top)]
        if not all(math.isfinite(number) for corner in corners for number in corner):
            raise RuleError("the bounds have no place in the raster's CRS", "check bounds and CRS", value=grid.bounds)
        west, east = min(x for x, _ in corners), max(x for x, _ in corners)
        north, south = min(y for _, y in corners), max(y for _, y in corners)
        column, row = max(0, math.floor(west)), max(0, math.floor(north))
        last_column, last_row = min(header.width, math.ceil(east)), min(header.height, math.ceil(south))
        if last_column > column and last_row > row:
            found.append(
                SourceWindow(column, row, last_column - column, last_row - row, 1, header.width, header.height)
            )
    return tuple(found) or NoOverlap("the target lies outside the raster")
