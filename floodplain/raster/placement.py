"""How a destination lies in its source: where its corners are, and whether both share a datum. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from floodplain.raster.crs_boxes import datum_of, points_in, read_crs
from floodplain.raster.header import Header
from floodplain.raster.target import Grid
from floodplain.raster.task import SourceWindow

Point = tuple[float, float]
Corners = tuple[Point, Point, Point, Point]
"""North-west, north-east, south-west, south-east: columns and rows of the source's full resolution, also beyond it."""


@dataclass(frozen=True)
class Placement:
    """The defaults are those of a place that is not known."""

    corners: Corners | None = None
    one_datum: bool = False
    """Of both CRSs. From one datum to another PROJ looks for operations, once more in each thread."""


UNPLACED = Placement()


def placement(header: Header, grid: Grid, windows: tuple[SourceWindow, ...]) -> Placement:
    """`windows` are what the grid needs of the source; corners of more than one mean nothing."""
    if grid.crs is None or header.crs is None or grid.crs == header.crs:
        one_datum = True
    else:
        datums = {datum_of(grid.crs), datum_of(header.crs)}
        one_datum = len(datums) == 1 and None not in datums
    return Placement(_corners(header, grid, windows[0]) if len(windows) == 1 else None, one_datum)


def pixel_of(header: Header, point: Point) -> Point:
    """Column and row of a place in the raster's CRS."""
    a, b, c, d, e, f = header.transform
    determinant = a * e - b * d
    x, y = point[0] - c, point[1] - f
    return (e * x - b * y) / determinant, (a * y - d * x) / determinant


def _corners(header: Header, grid: Grid, window: SourceWindow) -> Corners | None:
    """None where one of them has no place in the raster's CRS."""
    left, bottom, right, top = grid.bounds
    points: tuple[Point, ...] = ((left, top), (right, top), (left, bottom), (right, bottom))
    if grid.crs is not None and header.crs is not None:
        moved = points_in(points, grid.crs, header.crs)
        if moved is None:
            return None
        points = moved
        if read_crs(header.crs).is_geographic:
            points = tuple((x + _turn(header, window, (x, y)), y) for x, y in points)
    north_west, north_east, south_west, south_east = (pixel_of(header, point) for point in points)
    return north_west, north_east, south_west, south_east


def _turn(header: Header, window: SourceWindow, point: Point) -> int:
    """Of the globe, in degrees: the same place under the number that is nearest to the window."""
    middle = (window.column + window.width / 2) * window.decimation
    return min((0, 360, -360), key=lambda turn: abs(pixel_of(header, (point[0] + turn, point[1]))[0] - middle))
