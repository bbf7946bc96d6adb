"""The whole flow on two real pools of processes: what its own records prove."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
import rasterio
from one_run import Run, run_flow
from rasterio.warp import transform

from floodplain.quantity import MIB
from floodplain.raster.record import Outcome
from mosaic.ends import End
from mosaic.local_prefect import LocalPrefect
from mosaic.make_scene import EAST, NORTH, SCENES, SOUTH, WEST, spread
from mosaic.routes import Place, route_tile
from mosaic.settings import SLOT_LIMIT_BYTES, SLOTS
from mosaic.tiles import grid, read_tiles


@pytest.fixture(scope="module")
def run(prefect: LocalPrefect, tmp_path_factory: pytest.TempPathFactory) -> Run:
    done = run_flow(prefect, tmp_path_factory.mktemp("mosaic"))
    assert done.status == 0, done.output
    return done


def _together(one: End, other: End) -> bool:
    return one.began < other.ended and other.began < one.ended


def test_every_tile_that_a_raster_covers_was_built_once_in_the_pool_of_its_estimate(run: Run) -> None:
    routes = [route_tile(tile) for tile in read_tiles(run.folder / "tiles.jsonl")]
    expected = {route.tile.name: [(str(route.place), "done")] for route in routes if route.place is not Place.SKIPPED}
    assert {end.tile: run.tries(end.tile) for end in run.ends} == expected
    assert {places for (places, _), *_ in expected.values()} == {"small", "big"}
    assert sorted(path.stem for path in (run.folder / "tiles").iterdir()) == sorted(expected)
    assert "4 without any raster skipped" in run.output


def test_the_largest_tile_ran_alone_in_the_big_pool(run: Run, prefect: LocalPrefect) -> None:
    largest = max(run.records, key=lambda record: record.peak_bytes)
    [end] = [end for end in run.ends if end.tile == largest.task]
    assert end.pool == "big"
    assert prefect.workers["big"] in end.parents
    assert prefect.workers["small"] not in end.parents
    others = [other for other in run.ends if prefect.workers["big"] in other.parents and other != end]
    assert [other.tile for other in others if _together(end, other)] == []
    # It would have been killed in a slot of the small pool.
    assert SLOT_LIMIT_BYTES["small"] < largest.peak_bytes < SLOT_LIMIT_BYTES["big"]


def test_no_two_big_tiles_ever_ran_at_once_and_no_more_small_ones_than_there_are_slots(
    run: Run, prefect: LocalPrefect
) -> None:
    big = [end for end in run.ends if prefect.workers["big"] in end.parents]
    small = [end for end in run.ends if prefect.workers["small"] in end.parents]
    assert len(big) + len(small) == len(run.ends)
    assert [(one.tile, other.tile) for one, other in combinations(big, 2) if _together(one, other)] == []
    at_once = [sum(other.began <= end.began < other.ended for other in small) for end in small]
    assert max(at_once) <= SLOTS["small"]


def test_every_tile_had_a_process_of_its_own_and_stayed_within_its_slot_and_its_estimate(run: Run) -> None:
    assert len({end.pid for end in run.ends}) == len(run.ends)
    for end in run.ends:
        assert end.peak_bytes <= SLOT_LIMIT_BYTES[end.pool] == end.limit_bytes
    for record in run.records:
        assert record.outcome is Outcome.DONE and record.estimate_bytes is not None
        assert record.marginal_bytes * 0.8 < record.estimate_bytes, record


def test_the_mosaic_shows_at_each_place_what_lies_there(run: Run) -> None:
    with rasterio.open(run.folder / "mosaic.vrt") as mosaic:
        pixels = mosaic.read()
        # The last row of tiles lies outside all rasters, and so is not there.
        assert (mosaic.width, mosaic.height, mosaic.count) == (4 * 512, 3 * 512, 4)
        rows, columns = np.nonzero(pixels[3])
        xs, ys = mosaic.transform @ (columns + 0.5, rows + 0.5)
        longitude, latitude = (np.array(one) for one in transform(mosaic.crs, "EPSG:4326", xs, ys)[:2])
    found = pixels[:, rows, columns].astype(float)
    marks = {scene.mark for scene in SCENES}
    assert len(rows) > 0.8 * pixels[3].size
    # Where two rasters meet, or one meets its empty part, bilinear resampling may mix.
    pure = np.isin(found[2], sorted(marks))
    assert pure.mean() > 0.99
    assert {int(mark) for mark in np.unique(found[2][pure])} == marks
    for band, degrees in ((0, spread(longitude, WEST, EAST)), (1, spread(latitude, SOUTH, NORTH))):
        assert np.abs(found[band] - degrees)[pure].max() < 2


def test_the_history_answers_how_large_workers_must_be_and_what_they_cost(run: Run) -> None:
    answers = {}
    for command in ("workers", "bill"):
        done = subprocess.run(
            [sys.executable, "-m", "floodplain", "raster", command, "--history", str(run.folder / "peaks.jsonl")],
            env={**os.environ, "COLUMNS": "120"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        answers[command] = done.stdout
    assert "mosaic" in answers["workers"]
    assert "two pools" in answers["bill"].lower()


def test_the_peaks_in_the_readme_are_about_those_of_this_run(run: Run) -> None:
    readme = Path(__file__).resolve().parents[1] / "README.md"
    rows = re.findall(r"^\| (tile-\S+) \| (\w+) \| (\d+) MiB \|", readme.read_text(encoding="utf-8"), re.MULTILINE)
    ends = {end.tile: end for end in run.ends}
    assert [(tile, ends[tile].pool) for tile, *_ in rows] == [(tile, pool) for tile, pool, _ in rows]
    assert [ends[tile].peak_bytes / MIB for tile, *_ in rows] == pytest.approx(
        [int(peak) for *_, peak in rows], rel=0.1
    )
    assert len(rows) == 4


def test_the_pools_are_prefects_own_and_their_limits_are_the_slots(prefect: LocalPrefect) -> None:
    code = (
        "import json; from prefect.client.orchestration import get_client\n"
        "with get_client(sync_client=True) as client:\n"
        "    pools = client.read_work_pools()\n"
        "    print(json.dumps({pool.name: [pool.type, pool.concurrency_limit] for pool in pools}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=dict(prefect.environment), capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == {pool: ["process", slots] for pool, slots in SLOTS.items()}
    assert len(grid(())) == 16
