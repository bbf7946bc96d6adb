"""The public estimate: from a path and a place to terms, with everything said that a user should know."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.ranges_server import Server
from floodplain.problem import RuleError
from floodplain.raster import estimate
from floodplain.raster.estimating import NothingToDo
from floodplain.raster.model import CLONE
from floodplain.raster.read_header import HIDDEN_SIDECARS, RasterUnreadable, read_header
from floodplain.raster.target import Target
from floodplain.raster.task import GdalSettings, Way
from floodplain.raster.tile import tile_target
from tests.floodplain.raster.headers import header
from tests.floodplain.raster.served import folder, server

__all__ = ["folder", "server"]

UTM = header("EPSG:32633", (10.0, 0.0, 500_000.0, 0.0, -10.0, 5_400_000.0), overviews=(2, 4, 8, 16))
TILE = (9, 278, 176)


def destination(**asked: Any) -> str:
    (term,) = [term for term in estimate(UTM, **asked).terms if term.name == "destination"]
    return term.why.partition(",")[0]


def test_a_path_a_header_and_a_reading_are_answered_alike(folder: Path) -> None:
    path = str(folder / "cog.tif")
    reading = read_header(path)
    assert estimate(path) == estimate(reading) == estimate(reading.header)
    assert estimate(path).peak_bytes > 2 * 1024 * 1024 * 2


def test_over_the_network_hidden_neighbours_are_said_and_its_caches_counted(server: Server, folder: Path) -> None:
    remote = estimate(f"{server.url}/as/estimate/cog.tif")
    assert len(server.requests("/as/estimate/")) == 2
    assert remote.notes == (HIDDEN_SIDECARS,)
    assert remote == estimate(read_header(f"{server.url}/cog.tif"), settings=GdalSettings(remote=True))
    assert remote.peak_bytes > estimate(str(folder / "cog.tif")).peak_bytes
    assert HIDDEN_SIDECARS not in estimate(f"{server.url}/as/all/beside.tif", sidecars=True).notes


def test_a_tile_a_target_and_bounds_say_the_same() -> None:
    target = tile_target(*TILE)
    wanted = estimate(UTM, target=target)
    assert estimate(UTM, tile=TILE) == wanted
    assert estimate(UTM, tile="9/278/176") == wanted
    assert estimate(UTM, crs=target.crs, bounds=target.bounds, width=256, height=256) == wanted


@pytest.mark.parametrize(
    ("asked", "size"),
    [
        ({}, "10000 x 10000 px x 1 bands of uint16"),
        ({"width": 500}, "500 x 500 px x 1 bands of uint16"),
        ({"tile": TILE}, "256 x 256 px x 1 bands of uint16"),
        ({"tile": TILE, "width": 512, "height": 512}, "512 x 512 px x 1 bands of uint16"),
        ({"window": (0, 0, 2000, 1000)}, "2000 x 1000 px x 1 bands of uint16"),
        ({"window": (0, 0, 2000, 1000), "width": 200}, "200 x 100 px x 1 bands of uint16"),
        ({"tile": TILE, "dtype": "float64"}, "256 x 256 px x 1 bands of float64"),
    ],
)
def test_what_is_made_has_the_size_that_was_asked(asked: dict[str, Any], size: str) -> None:
    assert destination(**asked) == size


def test_a_small_tile_of_a_huge_window_is_the_worst_case_and_the_way_out_is_said() -> None:
    """The source is 100 km wide, the tile 256 px: not the destination but what is read decides."""
    direct = estimate(UTM, tile="7/69/44")
    native = estimate(UTM, tile="7/69/44", settings=GdalSettings(native_vrt=True))
    plain = replace(UTM, overviews=())
    assert direct.peak_bytes > 4 * native.peak_bytes
    assert "overview 16" in direct.notes[0]
    assert native.notes == ("overview 16 is read",)
    shrunk = estimate(plain, tile="7/69/44", settings=GdalSettings(native_vrt=True))
    assert shrunk.peak_bytes == direct.peak_bytes + CLONE


def test_a_window_is_read_without_a_warp() -> None:
    window = (0, 0, 4096, 4096)
    assert estimate(UTM, window=window) == estimate(UTM, window=window, settings=GdalSettings(way=Way.READ))
    assert estimate(UTM, window=window, width=256).notes == ("overview 16 is read",)


def test_no_overlap_is_not_size_0() -> None:
    with pytest.raises(NothingToDo, match="lie outside the raster"):
        estimate(UTM, tile=(9, 0, 0))
    with pytest.raises(NothingToDo, match="lies outside the raster of 10000 x 10000 px"):
        estimate(UTM, window=(20_000, 0, 5, 5))


def test_a_raster_that_cannot_be_read_has_no_estimate(folder: Path) -> None:
    with pytest.raises(RasterUnreadable, match="is cut short"):
        estimate(str(folder / "cut.tif"))


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"tile": TILE, "window": (0, 0, 1, 1)}, "both tile and window are given"),
        ({"tile": TILE, "crs": "EPSG:3857"}, "both tile and bounds and crs are given"),
        ({"target": Target(), "tile": TILE}, "both target and tile are given"),
        ({"window": (0, 0, 0, 5)}, "holds no pixels"),
        ({"window": (0, 0, float("nan"), 5)}, "holds no pixels"),
        ({"window": (0, 0, 5, 5), "width": 0}, "width of 0"),
        ({"bands": 0}, "bands are asked of a raster that has 1"),
        ({"bands": 2}, "bands are asked of a raster that has 1"),
        ({"tile": "9/278"}, "is not a tile"),
        ({"dtype": "uint99"}, "is no data type"),
    ],
)
def test_what_makes_no_sense_is_refused(asked: dict[str, Any], words: str) -> None:
    with pytest.raises(RuleError, match=words):
        estimate(UTM, **asked)
