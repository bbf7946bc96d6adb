"""Whatever is asked: no pixel that the target needs lies outside the windows, and windows stay inside the raster."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from rasterio._err import CPLE_BaseError
from rasterio.warp import transform

from floodplain.problem import RuleError
from floodplain.raster.header import Header
from floodplain.raster.target import Grid, Target, complete, full_bounds
from floodplain.raster.task import GdalSettings, SourceWindow
from floodplain.raster.window import NoOverlap, windows
from tests.floodplain.raster.headers import header

SOURCES = {
    "utm33": header("EPSG:32633", (10.0, 0.0, 300_000.0, 0.0, -10.0, 5_700_000.0)),
    "utm33 rotated": header("EPSG:32633", (8.0, 6.0, 400_000.0, 6.0, -8.0, 5_500_000.0)),
    "utm33 south-up": header("EPSG:32633", (10.0, 0.0, 300_000.0, 0.0, 10.0, 5_500_000.0)),
    "utm60 across 180": header("EPSG:32660", (100.0, 0.0, 300_000.0, 0.0, -100.0, 2_000_000.0)),
    "degrees, Europe": header("EPSG:4326", (0.001, 0.0, 5.0, 0.0, -0.001, 60.0)),
    "degrees, world": header("EPSG:4326", (0.01, 0.0, -180.0, 0.0, -0.01, 90.0), 36_000, 18_000),
    "degrees, 0 to 360": header("EPSG:4326", (0.01, 0.0, 0.0, 0.0, -0.01, 90.0), 36_000, 18_000),
    "mercator, world": header(
        "EPSG:3857",
        (305.748113140705, 0.0, -20037508.342789244, 0.0, -305.748113140705, 20037508.342789244),
        131_072,
        131_072,
    ),
    "polar": header("EPSG:3413", (500.0, 0.0, -3_000_000.0, 0.0, -500.0, 3_000_000.0), 12_000, 12_000),
    "europe": header("EPSG:3035", (100.0, 0.0, 2_500_000.0, 0.0, -100.0, 5_500_000.0), 40_000, 40_000),
}
TARGETS = {
    "EPSG:3857": ((-20_037_508.0, -20_037_508.0, 20_037_508.0, 20_037_508.0)),
    "EPSG:4326": ((-180.0, -90.0, 180.0, 90.0)),
    "EPSG:32633": ((100_000.0, 4_000_000.0, 900_000.0, 8_000_000.0)),
    "EPSG:32660": ((100_000.0, 0.0, 1_200_000.0, 4_000_000.0)),
    "EPSG:3413": ((-4_000_000.0, -4_000_000.0, 4_000_000.0, 4_000_000.0)),
    "EPSG:3035": ((2_500_000.0, 1_500_000.0, 7_500_000.0, 5_500_000.0)),
}
"""Where bounds are drawn from in each CRS."""


@st.composite
def grids(draw: st.DrawFn) -> Grid:
    crs = draw(st.sampled_from(sorted(TARGETS)))
    west, south, east, north = TARGETS[crs]
    # Of any scale: a tile of the deepest zooms is a millionth of the world.
    size = 10 ** draw(st.floats(-6, 0))
    width, height = (east - west) * size * draw(st.floats(0.2, 1)), (north - south) * size * draw(st.floats(0.2, 1))
    left = west + draw(st.floats(0, 1)) * (east - west - width)
    bottom = south + draw(st.floats(0, 1)) * (north - south - height)
    right = left + width
    if crs == "EPSG:4326" and draw(st.booleans()):
        # Turned by up to half the globe, so that some cross the antimeridian: left above right.
        turn = draw(st.floats(-180, 180))
        left, right = ((value + turn + 180) % 360 - 180 for value in (left, right))
    # Narrower is noise of the numbers themselves.
    assume(abs(right - left) > 1e-7)
    return Grid(crs, (left, bottom, right, bottom + height), 256, 256)


def moved(here: str, there: str, xs: Iterable[float], ys: Iterable[float]) -> tuple[np.ndarray, np.ndarray]:
    """Points in the other CRS, NaN where they have no place in it."""
    xs, ys = list(xs), list(ys)
    try:
        x, y = transform(here, there, xs, ys)
    except CPLE_BaseError:
        if len(xs) == 1:
            return np.array([np.nan]), np.array([np.nan])
        # One point without a place fails all of them.
        half = len(xs) // 2
        halves = [moved(here, there, xs[part], ys[part]) for part in (slice(half), slice(half, None))]
        return np.concatenate([halves[0][0], halves[1][0]]), np.concatenate([halves[0][1], halves[1][1]])
    return np.where(np.isfinite(x), x, np.nan), np.where(np.isfinite(y), y, np.nan)


def needed(one: Header, grid: Grid, points: int = 24) -> list[tuple[float, float]]:
    """Fractional columns and rows, inside the raster, of a lattice over the grid."""
    left, bottom, right, top = grid.bounds
    span = right - left if right > left else right - left + 360
    xs, ys = np.meshgrid(left + np.linspace(0, 1, points) * span, np.linspace(bottom, top, points))
    assert grid.crs is not None
    assert one.crs is not None
    x, y = moved(grid.crs, one.crs, xs.ravel(), ys.ravel())
    back_x, back_y = moved(one.crs, grid.crs, x, y)
    off = np.abs(back_x - xs.ravel())
    off = np.minimum(off % 360, 360 - off % 360) if grid.crs == "EPSG:4326" else off
    # Far outside its domain a projection folds the globe; those points are no pixels of the raster.
    real = (off < span * 1e-3) & (np.abs(back_y - ys.ravel()) < (top - bottom) * 1e-3)
    a, b, c, d, e, f = one.transform
    found = []
    for turn in (0, 360, -360) if one.crs == "EPSG:4326" else (0,):
        dx, dy = x[real] + turn - c, y[real] - f
        columns = (e * dx - b * dy) / (a * e - b * d)
        rows = (a * dy - d * dx) / (a * e - b * d)
        found += [
            (column, row)
            for column, row in zip(columns, rows, strict=True)
            if 0 < column < one.width and 0 < row < one.height
        ]
    return found


def inside(window: SourceWindow, column: float, row: float) -> bool:
    across, down = window.column + window.width, window.row + window.height
    return window.column - 1e-3 <= column <= across + 1e-3 and window.row - 1e-3 <= row <= down + 1e-3


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(sorted(SOURCES)), grids(), st.sampled_from(["nearest", "bilinear", "lanczos"]))
@example(
    "mercator, world", Grid("EPSG:3035", (2_500_000.0, 1_500_000.0, 4_707_031.25, 3_263_908.91), 256, 256), "nearest"
)
def test_every_pixel_that_the_target_needs_lies_in_a_window(name: str, grid: Grid, resampling: str) -> None:
    one = SOURCES[name]
    found = windows(one, grid, GdalSettings(resampling=resampling))
    points = needed(one, grid)
    if isinstance(found, NoOverlap):
        assert points == []
        return
    outside = [point for point in points if not any(inside(window, *point) for window in found)]
    assert outside == []
    for window in found:
        assert (window.level_width, window.level_height, window.decimation) == (one.width, one.height, 1)
        assert 0 <= window.column < window.column + window.width <= one.width
        assert 0 <= window.row < window.row + window.height <= one.height


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(sorted(SOURCES)), grids(), st.floats(1.0, 4.0))
def test_a_larger_target_never_needs_less(name: str, grid: Grid, times: float) -> None:
    one = SOURCES[name]
    left, bottom, right, top = grid.bounds
    assume(left < right)
    across, up = (right - left) * (times - 1) / 2, (top - bottom) * (times - 1) / 2
    west, south, east, north = TARGETS[grid.crs or ""]
    larger = (max(west, left - across), max(south, bottom - up), min(east, right + across), min(north, top + up))
    assume(larger[0] <= left and larger[1] <= bottom and larger[2] >= right and larger[3] >= top)
    small = windows(one, grid, GdalSettings())
    large = windows(one, replace(grid, bounds=larger), GdalSettings())
    if isinstance(small, NoOverlap):
        return
    assert not isinstance(large, NoOverlap)
    # A pixel for rounding, and the margin for what bulges, which is smaller where the sides are shorter.
    slack = 1.05 * sum(window.pixels for window in large) + 4 * (one.width + one.height)
    assert sum(window.pixels for window in small) <= slack


@settings(max_examples=100, deadline=None)
@given(st.tuples(*[st.floats()] * 4))
def test_any_four_numbers_are_bounds_or_refused(bounds: tuple[float, float, float, float]) -> None:
    for one in (SOURCES["utm33"], SOURCES["degrees, world"]):
        try:
            grid = complete(Target(None, bounds, 256, 256), one)
        except RuleError:
            # More than the globe is wide is refused by how many pixels of the raster that would be.
            good = all(map(math.isfinite, bounds)) and bounds[0] < bounds[2] and -90 <= bounds[1] < bounds[3] <= 90
            assert not (good and bounds[2] - bounds[0] <= 360)
            continue
        found = windows(one, grid, GdalSettings())
        if not isinstance(found, NoOverlap):
            assert all(0 < window.pixels <= one.width * one.height for window in found)


def test_the_whole_raster_in_its_own_grid_is_the_whole_raster() -> None:
    for one in SOURCES.values():
        grid = complete(Target(), one)
        assert grid.bounds == full_bounds(one)
        (found,) = windows(one, grid, GdalSettings())  # type: ignore[misc]
        assert (found.column, found.row, found.width, found.height) == (0, 0, one.width, one.height)
