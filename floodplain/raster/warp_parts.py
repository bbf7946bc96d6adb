"""In which parts GDAL warps a destination of which it is known how it lies in the source. Pure.

A piece is halved that takes too much memory. `reproject` also halves one whose source window is clipped to less than
half of what the piece reaches for, while a side has more than 100 pixels
(`GDALWarpOperation::CollectChunkListInternal`, SRC_FILL_RATIO_HEURISTICS): a footprint that is turned, a target that
the raster only touches. A WarpedVRT does not.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from floodplain.raster.kernel import radius
from floodplain.raster.placement import Corners, placed
from floodplain.raster.task import Destination, GdalSettings, SourceWindow, Way

LEAST_FILL = 0.5
LEAST_SIDE = 100
SMALLEST_SIDE = 2
MOST_PARTS = 1024
"""Where more would be halved they are left to be split by shares."""


@dataclass(frozen=True)
class Part:
    """A piece of the destination in pixels, with what it needs of the source."""

    windows: tuple[SourceWindow, ...]
    width: int
    height: int


@dataclass(frozen=True)
class _Piece:
    column: int
    row: int
    width: int
    height: int

    def halves(self, settings: GdalSettings) -> tuple[_Piece, _Piece]:
        if halves_width(self.width, self.height, settings):
            half = self.width // 2
            second = _Piece(self.column + half, self.row, self.width - half, self.height)
            return _Piece(self.column, self.row, half, self.height), second
        half = self.height // 2
        second = _Piece(self.column, self.row + half, self.width, self.height - half)
        return _Piece(self.column, self.row, self.width, half), second


def halves_width(width: int, height: int, settings: GdalSettings) -> bool:
    """The longer side is halved; of a square `reproject` halves the height, a WarpedVRT the width."""
    return width > height or (width == height and settings.way is Way.VRT)


def parts_of(
    window: SourceWindow,
    destination: Destination,
    settings: GdalSettings,
    corners: Corners,
    fits: Callable[[Part], bool],
) -> list[Part]:
    """Pieces of the destination that fit memory, and are at least half filled or small.

    Array to array the source is what was read, `window`; else it is the raster.
    """
    source = _source(window, settings)
    waiting = [_Piece(0, 0, destination.width, destination.height)]
    done: list[Part] = []
    while waiting:
        piece = waiting.pop()
        part, fill = _reached(source, piece, destination, settings, corners)
        empty = settings.way is not Way.VRT and 0 < fill < LEAST_FILL and max(piece.width, piece.height) > LEAST_SIDE
        halved = empty or (not fits(part) and min(piece.width, piece.height) > SMALLEST_SIDE)
        if halved and len(waiting) + len(done) < MOST_PARTS:
            waiting += piece.halves(settings)
        else:
            done.append(part)
    return done


def largest_reach(
    window: SourceWindow,
    destination: Destination,
    settings: GdalSettings,
    corners: Corners,
    size: tuple[int, int],
) -> int:
    """Source pixels at most of a piece of `size` (columns, rows), wherever in the destination it lies.

    What one in the middle reaches for, beyond the source too, and at most the window: where the source covers a part of
    the destination only, the middle may need nothing of it, and another piece all.
    """
    width, height = size
    piece = _Piece((destination.width - width) // 2, (destination.height - height) // 2, width, height)
    (west, east), (north, south) = _spans(piece, destination, settings, corners, window.decimation)
    return min(east - west, window.width) * min(south - north, window.height)


def _source(window: SourceWindow, settings: GdalSettings) -> SourceWindow:
    """All that a piece may read."""
    if settings.way is Way.ARRAY:
        return window
    level = window.level_width, window.level_height
    return SourceWindow(0, 0, *level, window.decimation, *level)


def _reached(
    source: SourceWindow, piece: _Piece, destination: Destination, settings: GdalSettings, corners: Corners
) -> tuple[Part, float]:
    """A piece with its window, and the window's share of what it reaches for."""
    (west, east), (north, south) = _spans(piece, destination, settings, corners, source.decimation)
    column, row = max(source.column, west), max(source.row, north)
    width = max(0, min(source.column + source.width, east) - column)
    height = max(0, min(source.row + source.height, south) - row)
    found = SourceWindow(column, row, width, height, source.decimation, source.level_width, source.level_height)
    return Part((found,), piece.width, piece.height), width * height / max(1, (east - west) * (south - north))


def _spans(
    piece: _Piece, destination: Destination, settings: GdalSettings, corners: Corners, times: float
) -> list[tuple[int, int]]:
    """What a piece reaches for, with the kernel's halo: columns, then rows of the level that is read."""
    points = [
        placed(corners, column / destination.width, row / destination.height)
        for column in (piece.column, piece.column + piece.width)
        for row in (piece.row, piece.row + piece.height)
    ]
    spans = []
    for axis, size in ((0, piece.width), (1, piece.height)):
        low = min(point[axis] for point in points) / times
        high = max(point[axis] for point in points) / times
        halo = math.ceil(radius(settings.resampling) * max(1.0, (high - low) / size))
        spans.append((math.floor(low) - halo, math.ceil(high) + halo))
    return spans
