"""Windows of the cases that go wrong: edges, the antimeridian, poles, rotated and upturned rasters, huge ones."""

from __future__ import annotations

from dataclasses import replace

import pytest
from rasterio.warp import transform_bounds

from floodplain.problem import RuleError
from floodplain.raster.crs_boxes import boxes_in
from floodplain.raster.header import Header
from floodplain.raster.target import Grid, Target, complete
from floodplain.raster.task import GdalSettings, SourceWindow, Way
from floodplain.raster.tile import parse_tile, tile_target
from floodplain.raster.window import NoOverlap, Reach, reach, windowed, windows
from tests.floodplain.raster.headers import header

UTM = header("EPSG:32633", (10.0, 0.0, 300_000.0, 0.0, -10.0, 5_700_000.0), overviews=(2, 4, 8))
WORLD = header("EPSG:4326", (0.01, 0.0, -180.0, 0.0, -0.01, 90.0), 36_000, 18_000)
HALF = 20_037_508.342789244


def asked(one: Header, target: Target, **settings: object) -> tuple[SourceWindow, ...]:
    found = windows(one, complete(target, one), GdalSettings(**settings))  # type: ignore[arg-type]
    assert not isinstance(found, NoOverlap)
    return found


def of_full(one: Header, column: int, row: int, width: int, height: int) -> SourceWindow:
    return SourceWindow(column, row, width, height, 1, one.width, one.height)


def test_in_the_rasters_own_crs_the_window_is_exact() -> None:
    bounds = (301_000.0, 5_690_000.0, 302_000.0, 5_691_000.0)
    assert asked(UTM, Target(None, bounds, 100, 100)) == (of_full(UTM, 100, 900, 100, 100),)


def test_parts_of_pixels_are_read_whole() -> None:
    bounds = (301_001.0, 5_690_001.0, 301_009.0, 5_690_011.0)
    assert asked(UTM, Target(None, bounds, 1, 1)) == (of_full(UTM, 100, 998, 1, 2),)


def test_beyond_the_edge_is_cut_off() -> None:
    bounds = (290_000.0, 5_695_000.0, 301_000.0, 5_800_000.0)
    assert asked(UTM, Target(None, bounds, 10, 10)) == (of_full(UTM, 0, 0, 100, 500),)


@pytest.mark.parametrize(
    ("resampling", "size", "halo"),
    [("nearest", 100, 0), ("bilinear", 100, 1), ("cubic", 100, 2), ("lanczos", 100, 3), ("lanczos", 10, 30),
     ("bilinear", 1000, 1)],
)  # fmt: skip
def test_the_halo_is_the_kernels_radius_times_the_shrinking(resampling: str, size: int, halo: int) -> None:
    bounds = (301_000.0, 5_690_000.0, 302_000.0, 5_691_000.0)
    wanted = of_full(UTM, 100 - halo, 900 - halo, 100 + 2 * halo, 100 + 2 * halo)
    assert asked(UTM, Target(None, bounds, size, size), resampling=resampling) == (wanted,)


@pytest.mark.parametrize(
    "target",
    [
        Target(None, (0.0, 0.0, 1_000.0, 1_000.0), 10, 10),
        Target(None, (400_000.0, 5_590_000.0, 400_100.0, 5_600_000.0), 10, 10),
        tile_target(10, 0, 0),
        Target("EPSG:4326", (-120.0, -40.0, -110.0, -30.0), 10, 10),
        Target("EPSG:3413", (-1e6, -1e6, 1e6, 1e6), 10, 10),
    ],
)
def test_no_overlap_is_no_task(target: Target) -> None:
    """The second only touches the raster's edge."""
    assert isinstance(windows(UTM, complete(target, UTM), GdalSettings()), NoOverlap)


def test_sides_that_bulge_are_held() -> None:
    """Corners alone lose 1.7 km at the lower edge of a zoom-6 tile in UTM 33 (facts: 1,694 m)."""
    tile = tile_target(6, 34, 21)
    assert tile.bounds is not None
    (box,) = boxes_in(tile.bounds, "EPSG:3857", "EPSG:32633") or ()
    corners = transform_bounds("EPSG:3857", "EPSG:32633", *tile.bounds, densify_pts=0)
    dense = transform_bounds("EPSG:3857", "EPSG:32633", *tile.bounds, densify_pts=500)
    assert corners[1] - box[1] > 1_500
    assert box[0] <= dense[0]
    assert box[1] <= dense[1]
    assert box[2] >= dense[2]
    assert box[3] >= dense[3]
    assert max(abs(one - other) for one, other in zip(box, dense, strict=True)) < 10


def test_across_the_antimeridian_are_two_windows() -> None:
    bounds = (170.0, 0.0, -170.0, 10.0)
    wanted = (of_full(WORLD, 35_000, 8_000, 1_000, 1_000), of_full(WORLD, 0, 8_000, 1_000, 1_000))
    assert asked(WORLD, Target("EPSG:4326", bounds, 256, 256)) == wanted
    assert asked(WORLD, Target("EPSG:4326", (170.0, 0.0, 190.0, 10.0), 256, 256)) == wanted


def test_utm_zone_60_across_the_antimeridian_of_a_mercator_world() -> None:
    size = 131_072
    world = header("EPSG:3857", (2 * HALF / size, 0.0, -HALF, 0.0, -2 * HALF / size, HALF), size, size)
    found = asked(world, Target("EPSG:32660", (400_000.0, 0.0, 1_000_000.0, 500_000.0), 256, 256))
    assert len(found) == 2
    east, west = found
    assert east.column + east.width == size
    assert west.column == 0
    assert sum(window.width for window in found) < size / 50


def test_a_pole_within_is_all_around() -> None:
    (found,) = asked(WORLD, Target("EPSG:3413", (-1e6, -1e6, 1e6, 1e6), 256, 256))
    assert (found.column, found.row, found.width) == (0, 0, 36_000)
    assert 1_250 < found.height < 1_350  # to 77 degrees north


def test_a_raster_of_0_to_360_degrees_is_met_under_both_numbers() -> None:
    pacific = replace(WORLD, transform=(0.01, 0.0, 0.0, 0.0, -0.01, 90.0))
    assert asked(pacific, Target("EPSG:4326", (-20.0, 0.0, -10.0, 10.0), 9, 9)) == (
        of_full(pacific, 34_000, 8_000, 1_000, 1_000),
    )


def test_a_rotated_raster_is_read_around_the_target() -> None:
    rotated = header("EPSG:32633", (8.0, 6.0, 400_000.0, 6.0, -8.0, 5_500_000.0))
    bounds = (440_000.0, 5_490_000.0, 441_000.0, 5_491_000.0)
    # 1,000 m on a grid of 10 m turned by 36.87 degrees: 100 x (0.8 + 0.6) pixels.
    assert asked(rotated, Target(None, bounds, 100, 100)) == (of_full(rotated, 2600, 3120, 140, 140),)


def test_a_south_up_raster_is_as_any_other() -> None:
    upturned = replace(UTM, transform=(10.0, 0.0, 300_000.0, 0.0, 10.0, 5_600_000.0))
    bounds = (301_000.0, 5_690_000.0, 302_000.0, 5_691_000.0)
    assert asked(upturned, Target(None, bounds, 100, 100)) == (of_full(upturned, 100, 9_000, 100, 100),)


def test_the_world_tile_of_the_largest_raster_reads_all_of_it_or_its_overview() -> None:
    size = 131_072
    world = header("EPSG:3857", (2 * HALF / size, 0.0, -HALF, 0.0, -2 * HALF / size, HALF), size, size, (2, 4, 256))
    assert asked(world, tile_target(0, 0, 0)) == (of_full(world, 0, 0, size, size),)
    assert asked(world, tile_target(0, 0, 0), native_vrt=True) == (SourceWindow(0, 0, 512, 512, 256, 512, 512),)
    assert asked(world, tile_target(0, 0, 0), way=Way.READ) == (SourceWindow(0, 0, 512, 512, 256, 512, 512),)


def test_a_target_that_has_no_place_in_the_rasters_crs_counts_all_of_it_and_says_so() -> None:
    found = reach(header("EPSG:3857", (1000.0, 0.0, -HALF, 0.0, -1000.0, HALF), 40_075, 40_075),
                  Grid("EPSG:3413", (-5e7, -5e7, 5e7, 5e7), 256, 256), GdalSettings())  # fmt: skip
    assert isinstance(found, Reach)
    assert [(window.width, window.height) for window in found.windows] == [(40_075, 40_075)]
    assert "the whole raster is counted" in found.notes[0]


@pytest.mark.parametrize(
    ("window", "size", "level"),
    [
        ((0, 0, 1024, 1024), (1024, 1024), 1),
        ((0, 0, 1024, 1024), (256, 256), 4),
        ((0, 0, 1024, 1024), (256, 1024), 1),
        ((9_000, 9_000, 4_000, 4_000), (500, 500), 8),
    ],
)
def test_a_window_of_pixels_is_cut_to_the_raster_and_read_from_an_overview(
    window: tuple[int, int, int, int], size: tuple[int, int], level: int
) -> None:
    found = windowed(UTM, window, size, "nearest")
    assert isinstance(found, Reach)
    (one,) = found.windows
    assert (one.column, one.row) == (window[0] // level, window[1] // level)
    assert one.width == (min(10_000, window[0] + window[2]) - window[0]) // level
    assert (one.decimation, one.level_width) == (level, 10_000 // level)
    assert isinstance(windowed(UTM, (10_000, 0, 5, 5), (5, 5), "nearest"), NoOverlap)


@pytest.mark.parametrize(
    ("one", "target", "words"),
    [
        (replace(UTM, crs=None), Target("EPSG:3857"), "the raster has no CRS"),
        (UTM, Target("EPSG:0"), "is not a CRS"),
        (UTM, Target("Mars"), "is not a CRS"),
        (UTM, Target(None, (2.0, 0.0, 1.0, 1.0)), "left at or beyond their right"),
        (UTM, Target(None, (0.0, 1.0, 1.0, 0.0)), "bottom at or above their top"),
        (UTM, Target(None, (0.0, 0.0, float("inf"), 1.0)), "not finite"),
        (UTM, Target(None, (0.0, float("nan"), 1.0, 1.0)), "not finite"),
        (UTM, Target("EPSG:4326", (0.0, 0.0, 1.0, 91.0)), "beyond the poles"),
        (UTM, Target(None, None, 0, 5), "width of 0"),
        (replace(UTM, transform=(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)), Target(), "cannot be inverted"),
    ],
)
def test_targets_that_make_no_sense_are_refused(one: Header, target: Target, words: str) -> None:
    with pytest.raises(RuleError, match=words):
        complete(target, one)


def test_a_raster_without_crs_may_be_read_in_its_own() -> None:
    bounds = (301_000.0, 5_690_000.0, 302_000.0, 5_691_000.0)
    nowhere = replace(UTM, crs=None)
    assert asked(nowhere, Target(None, bounds)) == (of_full(nowhere, 100, 900, 100, 100),)


def test_without_a_size_the_target_has_the_sources_resolution() -> None:
    assert complete(Target(), UTM) == Grid(
        "EPSG:32633", (300_000.0, 5_600_000.0, 400_000.0, 5_700_000.0), 10_000, 10_000
    )
    grid = complete(Target("EPSG:3857"), UTM)
    assert 9_000 < grid.width < 18_000
    half = complete(Target(None, (300_000.0, 5_650_000.0, 400_000.0, 5_700_000.0), width=200), UTM)
    assert (half.width, half.height) == (200, 100)


def test_tiles_are_those_of_web_maps() -> None:
    side = 2 * HALF / 4
    tile = parse_tile("2/3/0", 512)
    assert (tile.crs, tile.width, tile.height) == ("EPSG:3857", 512, 512)
    assert tile.bounds == pytest.approx((HALF - side, HALF - side, HALF, HALF), abs=1e-6)
    assert tile_target(0, 0, 0).bounds == pytest.approx((-HALF, -HALF, HALF, HALF), abs=1e-6)


@pytest.mark.parametrize(
    "text", ["", "1/2", "1/2/3/4", "a/b/c", "1/2/0", "1/0/2", "-1/0/0", "99/0/0", "1.5/0/0", "1/²/0"]
)
def test_what_is_no_tile_is_told(text: str) -> None:
    with pytest.raises(RuleError, match=r"z/x/y|write"):
        parse_tile(text)
