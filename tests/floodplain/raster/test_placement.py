"""How a destination lies in its source."""

from __future__ import annotations

import pytest

from floodplain.raster.crs_boxes import datum_of
from floodplain.raster.header import Header
from floodplain.raster.placement import Placement, placement
from floodplain.raster.target import Grid
from floodplain.raster.task import GdalSettings, SourceWindow
from floodplain.raster.window import NoOverlap, reach
from tests.floodplain.raster.headers import header

UTM = header("EPSG:32633", (10.0, 0.0, 300_000.0, 0.0, -10.0, 5_700_000.0))
TURNED = header("EPSG:3857", (0.0, 10.0, 0.0, 10.0, 0.0, 0.0))
EAST = header("EPSG:4326", (0.01, 0.0, 0.0, 0.0, -0.01, 90.0), 36_000, 18_000)
ALL = (SourceWindow(0, 0, 10, 10, 1, 10, 10),)


def of(one: Header, crs: str | None, *bounds: float) -> Placement:
    left, bottom, right, top = bounds
    found = reach(one, Grid(crs, (left, bottom, right, top), 100, 100), GdalSettings())
    assert not isinstance(found, NoOverlap)
    return found.placement


def test_corners_are_columns_and_rows_also_beyond_the_raster() -> None:
    found = of(UTM, "EPSG:32633", 299_000, 5_690_000, 302_000, 5_701_000)
    assert found == Placement(((-100, -100), (200, -100), (-100, 1000), (200, 1000)), one_datum=True)


def test_a_raster_on_its_side_has_its_corners_there() -> None:
    assert of(TURNED, "EPSG:3857", 100, 200, 300, 700).corners == ((70, 10), (70, 30), (20, 10), (20, 30))


def test_west_of_greenwich_lies_in_the_east_of_a_raster_from_0_to_360_degrees() -> None:
    found = of(EAST, "EPSG:4326", -20, 10, -10, 20).corners
    assert found is not None
    assert [(round(column), round(row)) for column, row in found] == [
        (34_000, 7_000), (35_000, 7_000), (34_000, 8_000), (35_000, 8_000)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("crs", "other", "one"),
    [
        ("EPSG:32633", "EPSG:3857", True),
        ("EPSG:4326", "EPSG:3413", True),
        ("EPSG:32633", "EPSG:3035", False),
        ("EPSG:4326", "EPSG:27700", False),
        ("EPSG:4269", "EPSG:5070", True),
        ("+proj=laea +lat_0=52 +lon_0=10 +datum=WGS84", "EPSG:4326", True),
        ("EPSG:32633+5773", "EPSG:32633", False),
    ],
)
def test_whether_both_share_a_datum_is_told_by_its_name(crs: str, other: str, one: bool) -> None:
    """A CRS of several parts is taken for another."""
    assert placement(header(other, UTM.transform), Grid(crs, (3e5, 5e6, 4e5, 6e6), 10, 10), ALL).one_datum is one


def test_the_name_of_a_datum_is_the_same_for_its_ensemble() -> None:
    assert datum_of("EPSG:4326") == datum_of("+proj=longlat +datum=WGS84") == "World Geodetic System 1984"


def test_corners_of_two_windows_or_without_a_place_are_not_known() -> None:
    grid = Grid("EPSG:4326", (10, 40, 20, 50), 10, 10)
    assert placement(UTM, grid, (*ALL, *ALL)) == Placement(None, one_datum=True)
    disk = header("+proj=geos +h=35785831 +lon_0=0 +datum=WGS84", UTM.transform)
    behind_it = Grid("EPSG:4326", (160, -10, 170, 10), 10, 10)
    assert placement(disk, behind_it, ALL) == Placement(None, one_datum=True, even=False)


def test_a_target_far_beyond_the_raster_has_corners_by_the_part_that_is_covered() -> None:
    """The corners of tile 0/0/0 have no place in UTM."""
    found = of(UTM, "EPSG:3857", *[side * 20_037_508.342789244 for side in (-1, -1, 1, 1)]).corners
    assert found is not None
    (west, north), _, _, (east, south) = found
    # 40,075 km at the scale of Web Mercator in 51 degrees north, in pixels of 10 m.
    assert 2.4e6 < east - west < 2.7e6
    assert 2.4e6 < south - north < 2.7e6
    assert west < 0 < 10_000 < east
    assert north < 0 < 10_000 < south


def test_a_pole_within_the_target_makes_no_quadrangle() -> None:
    polar = header("EPSG:3413", (1000.0, 0.0, -1_000_000.0, 0.0, -1000.0, 1_000_000.0), 2000, 2000)
    assert placement(polar, Grid("EPSG:4326", (-180, 60, 180, 90), 360, 30), ALL) == Placement(None, True, even=False)


def test_where_the_raster_has_no_place_in_the_targets_crs_all_of_the_target_is_looked_at() -> None:
    """The poles of a raster of the world have no place in Web Mercator, the corners of a tile in its middle have."""
    world = header("EPSG:4326", (0.01, 0.0, -180.0, 0.0, -0.01, 90.0), 36_000, 18_000)
    found = of(world, "EPSG:3857", 0, 0, 5_009_377, 5_009_377)
    assert found.even
    assert found.corners is not None
    assert [(round(column), round(row)) for column, row in found.corners] == [
        (18_000, 4_902), (22_500, 4_902), (18_000, 9_000), (22_500, 9_000)
    ]  # fmt: skip
