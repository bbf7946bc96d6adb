"""How a destination lies in its source: where its corners are, and whether both share a datum. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from floodplain.raster.crs_boxes import boxes_in, datum_of, points_in, read_crs
from floodplain.raster.header import Header
from floodplain.raster.target import Bounds, Grid, full_bounds, intersection
from floodplain.raster.task import SourceWindow

Point = tuple[float, float]
Corners = tuple[Point, Point, Point, Point]
"""North-west, north-east, south-west, south-east: columns and rows of the source's full resolution, also beyond it."""


@dataclass(frozen=True)
class Placement:
    """The defaults are those of a place that is not known, in a source that has as much for each part of it."""

    corners: Corners | None = None
    one_datum: bool = False
    """Of both CRSs. From one datum to another PROJ looks for operations, once more in each thread."""
    even: bool = True
    """Where there are no corners: a part of the destination needs its share of the window. Else it may need all."""


UNPLACED = Placement()
MOST_OFF = 0.1
"""Of the source that is covered: how far a point of it may lie from where it lies between the corners."""
_STEPS = (0, 0.5, 1)


def placement(header: Header, grid: Grid, windows: tuple[SourceWindow, ...]) -> Placement:
    """`windows` are what the grid needs of the source; corners of more than one mean nothing."""
    if grid.crs is None or header.crs is None or grid.crs == header.crs:
        one_datum = True
    else:
        datums = {datum_of(grid.crs), datum_of(header.crs)}
        one_datum = len(datums) == 1 and None not in datums
    corners = _corners(header, grid, windows[0]) if len(windows) == 1 else None
    return Placement(corners, one_datum, even=corners is not None or len(windows) > 1)


def pixel_of(header: Header, point: Point) -> Point:
    """Column and row of a place in the raster's CRS."""
    a, b, c, d, e, f = header.transform
    determinant = a * e - b * d
    x, y = point[0] - c, point[1] - f
    return (e * x - b * y) / determinant, (a * y - d * x) / determinant


def _corners(header: Header, grid: Grid, window: SourceWindow) -> Corners | None:
    """None where the raster's part of the grid is no quadrangle in the raster, or has no place there.

    Looked at is the part of the grid that the raster covers; from there its sides go on straight. Far from the raster
    its CRS may hold nothing, and what it says there decides nothing.
    """
    covered = _covered(header, grid)
    if covered is None:
        return None
    places = [(across, down) for down in _STEPS for across in _STEPS]
    found = _pixels(header, grid, window, [_between(covered, *place) for place in places])
    if found is None:
        return None
    at = dict(zip(places, found, strict=True))
    corners = (at[0, 0], at[1, 0], at[0, 1], at[1, 1])
    spans = [max(one[axis] for one in found) - min(one[axis] for one in found) for axis in (0, 1)]
    off = [abs(placed(corners, *place)[axis] - at[place][axis]) for place in places for axis in (0, 1)]
    if max(off) > MOST_OFF * max(spans):
        return None
    if covered == grid.bounds:
        return corners
    return _extended(corners, covered, grid.bounds)


def _covered(header: Header, grid: Grid) -> Bounds | None:
    """What the raster covers of the grid, in the grid's CRS: all, where it does not lie there as one box."""
    if grid.bounds[0] >= grid.bounds[2]:
        return None
    boxes: tuple[Bounds, ...] | None = (full_bounds(header),)
    if grid.crs is not None and header.crs is not None:
        boxes = boxes_in(full_bounds(header), header.crs, grid.crs)
    if boxes is None or len(boxes) != 1:
        return grid.bounds
    return intersection(grid.bounds, boxes[0])


def _between(box: Bounds, across: float, down: float) -> Point:
    left, bottom, right, top = box
    return left + across * (right - left), top - down * (top - bottom)


def _pixels(header: Header, grid: Grid, window: SourceWindow, points: Sequence[Point]) -> list[Point] | None:
    if grid.crs is None or header.crs is None:
        return [pixel_of(header, point) for point in points]
    moved = points_in(tuple(points), grid.crs, header.crs)
    if moved is None:
        return None
    if read_crs(header.crs).is_geographic:
        moved = tuple((x + _turn(header, window, (x, y)), y) for x, y in moved)
    return [pixel_of(header, point) for point in moved]


def placed(corners: Corners, across: float, down: float) -> Point:
    """Between the corners, across and down from 0 to 1."""
    north_west, north_east, south_west, south_east = corners
    x, y = (
        (1 - down) * ((1 - across) * north_west[axis] + across * north_east[axis])
        + down * ((1 - across) * south_west[axis] + across * south_east[axis])
        for axis in (0, 1)
    )
    return x, y


def _extended(corners: Corners, covered: Bounds, whole: Bounds) -> Corners:
    """The corners of the whole, by the mean sides of the part that is covered."""
    north_west, north_east, south_west, south_east = corners
    left, bottom, right, top = covered

    def at(x: float, y: float) -> Point:
        across, down = (x - left) / (right - left) - 0.5, (top - y) / (top - bottom) - 0.5
        column, row = (
            (north_west[axis] + north_east[axis] + south_west[axis] + south_east[axis]) / 4
            + across * (north_east[axis] + south_east[axis] - north_west[axis] - south_west[axis]) / 2
            + down * (south_west[axis] + south_east[axis] - north_west[axis] - north_east[axis]) / 2
            for axis in (0, 1)
        )
        return column, row

    west, south, east, north = whole
    return at(west, north), at(east, north), at(west, south), at(east, south)


def _turn(header: Header, window: SourceWindow, point: Point) -> int:
    """Of the globe, in degrees: the same place under the number that is nearest to the window."""
    middle = (window.column + window.width / 2) * window.decimation
    return min((0, 360, -360), key=lambda turn: abs(pixel_of(header, (point[0] + turn, point[1]))[0] - middle))
