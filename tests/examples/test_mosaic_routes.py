"""Tiles are routed by their headers, and what a tile then holds is what was estimated."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
import rasterio
from rasterio.warp import transform

from floodplain.quantity import MIB
from floodplain.raster.read_header import header_of, read_header
from floodplain.raster.record import Record
from floodplain.raster.unreadable import RasterUnreadable
from mosaic.levels import level_header
from mosaic.make_scene import EAST, WEST, spread
from mosaic.routes import Place, Route, batches, route_tile
from mosaic.settings import POOLS, SLOT_LIMIT_BYTES, worker_settings
from mosaic.supervise import tile_command
from mosaic.tiles import Tile, grid


@pytest.fixture(scope="module")
def tiles(scene: dict[str, Path]) -> dict[str, Tile]:
    return {tile.name: tile for tile in grid([str(path) for path in scene.values()])}


def test_tiles_of_the_raster_without_overviews_go_big_and_those_outside_all_are_skipped(tiles: dict[str, Tile]) -> None:
    places: dict[Place, set[str]] = {}
    for tile in tiles.values():
        places.setdefault(route_tile(tile).place, set()).add(tile.name)
    big, outside = {"tile-3-0", "tile-3-1"}, {f"tile-{column}-3" for column in range(4)}
    assert places == {Place.SMALL: set(tiles) - big - outside, Place.BIG: big, Place.SKIPPED: outside}


def test_a_tile_above_the_big_pool_is_refused_with_the_number(tiles: dict[str, Tile]) -> None:
    sheet = tiles["tile-1-1"].model_copy(update={"width": 16384, "height": 16384})
    route = route_tile(sheet)
    assert route.place is Place.REFUSED
    assert f"{POOLS.big_budget_bytes // MIB} MiB" in route.why
    assert route.estimate_bytes > SLOT_LIMIT_BYTES["big"]
    assert route.sent_to("small") == route


def test_a_tile_whose_raster_cannot_be_opened_has_no_estimate_and_no_pool(tiles: dict[str, Tile]) -> None:
    lost = tiles["tile-1-1"].model_copy(update={"sources": ("absent.tif",)})
    with pytest.raises(RasterUnreadable, match=r"absent\.tif"):
        route_tile(lost)


@pytest.mark.parametrize("name", ["tile-1-1", "tile-2-0", "tile-3-1"])
def test_a_tile_shows_what_lies_there_and_holds_no_more_than_estimated(
    tiles: dict[str, Tile], name: str, tmp_path: Path
) -> None:
    route = route_tile(tiles[name])
    command = tile_command("--tile", tiles[name].model_dump_json(), "--folder", str(tmp_path))
    environment = {**os.environ, **worker_settings("big"), "PYTHONPATH": os.pathsep.join(_PLACES)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    record = Record.model_validate_json(done.stdout.splitlines()[-1])
    assert record.task == name
    assert 0.8 * record.marginal_bytes < route.estimate_bytes < 3 * record.marginal_bytes
    with rasterio.open(tmp_path / "tiles" / f"{name}.tif") as made:
        pixels = made.read()
        column, row = np.meshgrid(np.arange(made.width) + 0.5, np.arange(made.height) + 0.5)
        xs, ys = made.transform @ (column.ravel(), row.ravel())
        longitude = np.array(transform(made.crs, "EPSG:4326", xs, ys)[0]).reshape(column.shape)
    assert (pixels[3] == 255).all()
    # Mixed with the zeros of an empty part at its edge, and nowhere else.
    assert np.percentile(np.abs(pixels[0] - spread(longitude, WEST, EAST)), 99) < 2


_ROOT = Path(__file__).resolve().parents[2]
_PLACES = [str(_ROOT), str(_ROOT / "examples" / "mosaic")]


def test_an_overview_is_taken_where_there_is_a_coarse_one(scene: dict[str, Path], tiles: dict[str, Tile]) -> None:
    found = {}
    for name, path in scene.items():
        level, header = level_header(tiles["tile-1-1"], read_header(str(path)).header)
        options = {} if level is None else {"overview_level": level}
        with rasterio.open(path, **options) as raster:
            opened = header_of(raster)
        assert (opened.width, opened.height) == (header.width, header.height)
        assert opened.transform == pytest.approx(header.transform)
        found[name] = level
    # 13.5 m wanted of 1, 5, 2.5, 10 and 10 m.
    assert found == {"aerial": None, "masked": 0, "large": 1, "east": None, "west": None}


def test_batches_share_the_tiles_and_none_is_empty(tiles: dict[str, Tile]) -> None:
    routes = [Route(tile=tile, place=Place.SMALL, why="") for tile in tiles.values()][:5]
    assert batches(routes, 2) == [[routes[0], routes[2], routes[4]], [routes[1], routes[3]]]
    assert batches(routes[:1], 4) == [[routes[0]]]
    assert batches([], 4) == []
    assert json.loads(routes[0].model_dump_json())["place"] == "small"
