"""The example's rasters are real, small, and of every kind that a mosaic meets."""

from __future__ import annotations

from pathlib import Path

import pytest
import rasterio
from pydantic import ValidationError

from floodplain.raster.read_header import read_header
from mosaic.make_scene import make_scene
from mosaic.tiles import grid, read_tiles, write_tiles


def test_the_rasters_are_of_two_zones_and_of_each_kind(scene: dict[str, Path]) -> None:
    headers = {name: read_header(str(path)).header for name, path in scene.items()}
    kinds = {
        name: (one.crs, one.width * one.height, len(one.overviews) > 1, one.nodata[0], one.dataset_mask)
        for name, one in headers.items()
    }
    assert kinds == {
        "aerial": ("EPSG:32633", 6144 * 6144, False, None, False),
        "masked": ("EPSG:32632", 1200 * 1200, True, None, True),
        "large": ("EPSG:32633", 4096 * 4096, True, None, False),
        "east": ("EPSG:32633", 1500 * 2200, True, 0, False),
        "west": ("EPSG:32632", 1750 * 2250, True, None, False),
    }
    assert sum(path.stat().st_size for path in scene.values()) < 4 * 2**20
    for path in scene.values():
        with rasterio.open(path) as raster:
            assert raster.tags(ns="IMAGE_STRUCTURE")["LAYOUT"] == "COG"


def test_rasters_that_are_there_already_stay(scene: dict[str, Path]) -> None:
    folder = next(iter(scene.values())).parent
    before = {path: path.stat().st_mtime_ns for path in scene.values()}
    assert {path: path.stat().st_mtime_ns for path in make_scene(folder)} == before


def test_a_work_list_is_read_as_it_was_written(tmp_path: Path) -> None:
    tiles = grid(["a.tif", "b.tif"])
    write_tiles(tmp_path / "tiles.jsonl", tiles)
    assert read_tiles(tmp_path / "tiles.jsonl") == tiles
    assert len({tile.bounds for tile in tiles}) == len(tiles) == 16


def test_a_line_that_is_no_tile_is_refused(tmp_path: Path) -> None:
    (tmp_path / "tiles.jsonl").write_text('{"name": "a"}\n')
    with pytest.raises(ValidationError, match="bounds"):
        read_tiles(tmp_path / "tiles.jsonl")
