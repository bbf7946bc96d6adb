"""Which pixels of a source a target needs, and of which level of it. Pure: nothing is opened.

Windows are clipped to the raster, rounded outwards, and hold the halo of the resampling kernel.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from floodplain.raster.crs_boxes import boxes_in, read_crs, split
from floodplain.raster.header import Header
from floodplain.raster.kernel import radius
from floodplain.raster.overview_choice import decimation_asked, overview_read
from floodplain.raster.placement import UNPLACED, Placement, pixel_of, placement
from floodplain.raster.target import Bounds, Grid, full_bounds, intersection, native_size
from floodplain.raster.task import GdalSettings, SourceWindow, Way

_NOISE = 1e-6
"""Of a pixel: no reason to read one more."""


@dataclass(frozen=True)
class NoOverlap:
    """The target shares no pixel with the source: there is no task, which is not a task of size 0."""

    why: str


@dataclass(frozen=True)
class Reach:
    """What is read of the source."""

    windows: tuple[SourceWindow, ...]
    notes: tuple[str, ...] = ()
    placement: Placement = UNPLACED


@dataclass(frozen=True)
class _Span:
    """Part of the full raster, in fractions of pixels, columns and rows from and to."""

    west: float
    north: float
    east: float
    south: float


def windows(header: Header, grid: Grid, settings: GdalSettings) -> tuple[SourceWindow, ...] | NoOverlap:
    """What a warp of `header`'s raster to `grid` reads: one window as a rule, two across the antimeridian."""
    found = reach(header, grid, settings)
    return found if isinstance(found, NoOverlap) else found.windows


def reach(header: Header, grid: Grid, settings: GdalSettings) -> Reach | NoOverlap:
    """What a warp of `header`'s raster to `grid` reads, or a read of those bounds if `settings.way` is READ."""
    boxes = _source_boxes(header, grid)
    if isinstance(boxes, NoOverlap):
        return boxes
    notes = []
    if boxes is None:
        boxes = (full_bounds(header),)
        notes.append("part of the target has no place in the raster's CRS: the whole raster is counted")
    spans = [span for span in (_span(header, box) for box in boxes) if span is not None]
    if not spans:
        return NoOverlap(f"the bounds {_shown(grid.bounds)} lie outside the raster")
    level = _level(header, grid, settings)
    kernel = radius(settings.resampling)
    found = _merged([_window(header, span, level, kernel, (grid.width, grid.height)) for span in spans])
    return Reach(found, (*notes, *_said(header, grid, settings, found)), placement(header, grid, found))


def windowed(
    header: Header, window: tuple[float, float, float, float], size: tuple[int, int], resampling: str
) -> Reach | NoOverlap:
    """What a read of a window (column, row, width, height; full resolution) into `size` pixels reads."""
    column, row, width, height = window
    span = _clipped(header, _Span(column, row, column + width, row + height))
    if span is None:
        return NoOverlap(f"the window {window} lies outside the raster of {header.width} x {header.height} px")
    level = overview_read(header.overviews, decimation_asked(width, height, *size), resampling)
    # Nearest and no decimation need no kernel.
    kernel = radius(resampling) if (width, height) != size else 0
    found = (_window(header, span, level, kernel, size),)
    return Reach(found, (f"overview {level} is read",) if level > 1 else ())


def _source_boxes(header: Header, grid: Grid) -> tuple[Bounds, ...] | NoOverlap | None:
    """Boxes in the source's CRS; None where the target has no place in it."""
    if grid.crs is None or header.crs is None:
        return (grid.bounds,)
    own, there = read_crs(header.crs), read_crs(grid.crs)
    if own == there and not own.is_geographic:
        return (grid.bounds,)
    pieces = split(grid.bounds) if there.is_geographic else (grid.bounds,)
    # A source covers less than its projection can hold; far from it coordinates mean nothing.
    footprint = None if own == there else boxes_in(full_bounds(header), header.crs, grid.crs)
    if footprint is not None:
        pieces = tuple(both for piece in pieces for box in footprint if (both := intersection(piece, box)) is not None)
        if not pieces:
            return NoOverlap(f"the bounds {_shown(grid.bounds)} of {grid.crs} lie outside the raster")
    found: list[Bounds] = []
    for piece in pieces:
        boxes = boxes_in(piece, grid.crs, header.crs)
        if boxes is None:
            return None
        found += boxes
    if own.is_geographic:
        # A raster of 0 to 360 degrees holds the same places under other numbers.
        found = [(left + turn, low, right + turn, top) for left, low, right, top in found for turn in (0, 360, -360)]
    return tuple(found)


def _span(header: Header, box: Bounds) -> _Span | None:
    """The pixels around a box, also where the raster is rotated or stands on its head."""
    left, bottom, right, top = box
    points = [pixel_of(header, (x, y)) for x in (left, right) for y in (bottom, top)]
    columns, rows = [x for x, _ in points], [y for _, y in points]
    return _clipped(header, _Span(min(columns), min(rows), max(columns), max(rows)))


def _clipped(header: Header, span: _Span) -> _Span | None:
    west, north = max(0.0, span.west), max(0.0, span.north)
    east, south = min(float(header.width), span.east), min(float(header.height), span.south)
    # Bounds that only touch the raster read nothing.
    return _Span(west, north, east, south) if east - west > _NOISE and south - north > _NOISE else None


def _level(header: Header, grid: Grid, settings: GdalSettings) -> int:
    """1, or the factor of the overview that is read."""
    asked = decimation_asked(*native_size(header, grid.crs, grid.bounds), grid.width, grid.height)
    if settings.way is Way.READ:
        return overview_read(header.overviews, asked, settings.resampling)
    if settings.way is Way.VRT and settings.native_vrt:
        return overview_read(header.overviews, asked, settings.resampling, warped=True)
    return 1


def _window(header: Header, span: _Span, level: int, kernel: int, size: tuple[int, int]) -> SourceWindow:
    """The span in pixels of the level, with the kernel's halo, within the level."""
    level_width, level_height = math.ceil(header.width / level), math.ceil(header.height / level)
    across, down = header.width / level_width, header.height / level_height
    shrunk = (
        max(1.0, (span.east - span.west) / across / size[0]),
        max(1.0, (span.south - span.north) / down / size[1]),
    )
    halo = [math.ceil(kernel * times) for times in shrunk]
    column = max(0, math.floor(span.west / across + _NOISE) - halo[0])
    row = max(0, math.floor(span.north / down + _NOISE) - halo[1])
    last_column = min(level_width, math.ceil(span.east / across - _NOISE) + halo[0])
    last_row = min(level_height, math.ceil(span.south / down - _NOISE) + halo[1])
    return SourceWindow(column, row, last_column - column, last_row - row, level, level_width, level_height)


def _merged(found: list[SourceWindow]) -> tuple[SourceWindow, ...]:
    """Windows that meet are one."""
    apart: list[SourceWindow] = []
    for window in found:
        for other in [one for one in apart if _meet(one, window)]:
            apart.remove(other)
            column, row = min(window.column, other.column), min(window.row, other.row)
            east = max(window.column + window.width, other.column + other.width)
            south = max(window.row + window.height, other.row + other.height)
            level = (window.decimation, window.level_width, window.level_height)
            window = SourceWindow(column, row, east - column, south - row, *level)
        apart.append(window)
    return tuple(apart) if len(apart) == len(found) else _merged(apart)


def _meet(one: SourceWindow, other: SourceWindow) -> bool:
    return (
        one.column <= other.column + other.width
        and other.column <= one.column + one.width
        and one.row <= other.row + other.height
        and other.row <= one.row + one.height
    )


def _said(header: Header, grid: Grid, settings: GdalSettings, found: tuple[SourceWindow, ...]) -> list[str]:
    notes = []
    if found[0].decimation > 1:
        notes.append(f"overview {found[0].decimation} is read")
    elif settings.way is not Way.READ and not settings.native_vrt:
        asked = decimation_asked(*native_size(header, grid.crs, grid.bounds), grid.width, grid.height)
        overview = overview_read(header.overviews, asked, settings.resampling, warped=True)
        if overview > 1:
            notes.append(
                f"full resolution is read although there are overviews: a warp at the target's size never looks at "
                f"them. A WarpedVRT at the source's resolution, read with out_shape, would read overview {overview}"
            )
    if len(found) > 1:
        notes.append(f"{len(found)} windows are read: the target crosses the antimeridian or a gap of the raster")
    if radius(settings.resampling) and settings.way is not Way.READ:
        notes.append(f"windows hold a halo of {radius(settings.resampling)} px of the target for {settings.resampling}")
    return notes


def _shown(bounds: Bounds) -> str:
    return "(" + ", ".join(f"{number:g}" for number in bounds) + ")"
