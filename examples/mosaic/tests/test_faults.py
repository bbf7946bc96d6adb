"""One run in which everything goes wrong that can: every tile is waited for, and each failure is told by its name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import rasterio
from one_run import Run, run_flow
from stalling_server import stalling_server

from floodplain.quantity import MIB
from floodplain.raster.record import Outcome
from mosaic.local_prefect import LocalPrefect
from mosaic.make_scene import make_scene
from mosaic.settings import SLOT_LIMIT_BYTES, TRIES
from mosaic.tiles import Tile, grid, write_tiles

TIMEOUT_SECONDS = 15


@pytest.fixture(scope="module")
def run(prefect: LocalPrefect, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """All tiles are sent to the small pool, whatever was estimated."""
    folder = tmp_path_factory.mktemp("faults")
    scene = {path.stem: path for path in make_scene(folder / "scene")}
    with stalling_server(scene["west"]) as (address, server):
        write_tiles(folder / "tiles.jsonl", _tiles(folder, scene, address))
        done = run_flow(prefect, folder, "--everything-to", "small", "--timeout-seconds", str(TIMEOUT_SECONDS))
        # GDAL asks for several ranges at once.
        assert server.stalled >= 1
    return done


def _tiles(folder: Path, scene: dict[str, Path], address: str) -> list[Tile]:
    tiles = {tile.name: tile for tile in grid([str(path) for path in scene.values()])}
    broken = folder / "broken.tif"
    content = scene["west"].read_bytes()
    # Its header is whole and its length right: only who decodes pixels finds out.
    broken.write_bytes(content[: len(content) // 8] + bytes(len(content) - len(content) // 8))
    west = tiles["tile-0-1"]
    return [
        tiles["tile-3-1"],
        west.model_copy(update={"name": "stalls", "sources": (address,)}),
        west.model_copy(update={"name": "broken", "sources": (str(broken),)}),
        west.model_copy(update={"name": "absent", "sources": (str(folder / "absent.tif"),)}),
        west.model_copy(update={"name": "sheet", "width": 16384, "height": 16384}),
    ]


def test_a_tile_that_hangs_in_native_code_is_killed_when_its_time_is_over_and_tried_again(run: Run) -> None:
    assert run.tries("stalls") == [("small", "timed out"), ("small", "done")]
    first, second = (end for end in run.ends if end.tile == "stalls")
    assert TIMEOUT_SECONDS <= first.ended - first.began < TIMEOUT_SECONDS + 60
    assert first.ended <= second.began and first.pid != second.pid
    assert first.words == "was not done after 15 s and was killed"
    # Of a tile that may not have come to its peak the history is told nothing.
    assert [record.outcome for record in run.records if record.task == "stalls"] == [Outcome.DONE]


def test_a_tile_that_is_killed_for_memory_is_a_lower_bound_is_told_and_runs_once_more_in_the_big_pool(
    run: Run,
) -> None:
    assert run.tries("tile-3-1") == [("small", "out of memory"), ("big", "done")]
    killed, done = (record for record in run.records if record.task == "tile-3-1")
    limit = SLOT_LIMIT_BYTES["small"]
    assert (killed.outcome, killed.censored, killed.peak_bytes) == (Outcome.KILLED, True, limit)
    assert (done.outcome, done.censored) == (Outcome.DONE, False)
    assert done.peak_bytes > limit
    assert f"held more than its slot of {limit // MIB} MiB and was killed" in _words(run, "tile-3-1")
    assert "tile-3-1 held more than a slot: once more in the big pool" in run.output


def test_a_tile_that_fails_every_time_fails_the_flow_by_its_name_when_all_others_have_ended(run: Run) -> None:
    assert run.status == 1
    assert run.tries("broken") == [("small", "failed")] * TRIES
    told = run.output[run.output.rindex("2 tiles built, 0 without any raster skipped, 3 missing") :].splitlines()
    assert [line.partition(":")[0] for line in told[1:4]] == ["absent", "broken", "sheet"]
    with rasterio.open(run.folder / "mosaic.vrt") as mosaic:
        assert mosaic.read(4).max() == 255
    assert sorted(path.stem for path in (run.folder / "tiles").iterdir()) == ["stalls", "tile-3-1"]


def test_a_tile_above_the_big_pool_is_refused_with_the_number_and_never_run(run: Run) -> None:
    assert run.tries("sheet") == []
    line = next(line for line in run.output.splitlines() if line.startswith("sheet: refused:"))
    need = re.search(r"refused: ([\d,]+)(?:\.\d+)? MiB", line)
    assert need is not None and int(need[1].replace(",", "")) > SLOT_LIMIT_BYTES["big"] // MIB


def test_a_raster_that_cannot_be_opened_is_told_and_never_counts_as_small(run: Run) -> None:
    assert run.tries("absent") == []
    assert "absent.tif" in next(line for line in run.output.splitlines() if line.startswith("absent: "))


def _words(run: Run, tile: str) -> str:
    return " ".join(end.words for end in run.ends if end.tile == tile)
