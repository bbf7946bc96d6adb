"""The example's commands that need no engine."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import rasterio

from floodplain.quantity import MIB
from mosaic.__main__ import main
from mosaic.build_tile import build_tile
from mosaic.settings import BIG, SLOT_LIMIT_BYTES, SLOTS, SMALL
from mosaic.tiles import grid, write_tiles


@pytest.fixture
def folder(scene: dict[str, Path], tmp_path: Path) -> Path:
    """With three tiles: a small one, a big one and one that no raster covers."""
    tiles = {tile.name: tile for tile in grid([str(path) for path in scene.values()])}
    write_tiles(tmp_path / "tiles.jsonl", [tiles[name] for name in ("tile-1-1", "tile-3-1", "tile-0-3")])
    return tmp_path


def test_scene_makes_the_work_list_where_there_is_none(
    scene: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(next(iter(scene.values())).parent, tmp_path / "scene")
    assert main(["scene", str(tmp_path)]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == f"{tmp_path / 'tiles.jsonl'}: 16 tiles"


def test_route_prints_a_pool_and_a_reason_for_each_tile(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["route", str(folder)]) == 0
    lines = [line.split(maxsplit=2) for line in capsys.readouterr().out.splitlines()]
    assert [line[:2] for line in lines] == [["tile-1-1", "small"], ["tile-3-1", "big"], ["tile-0-3", "skipped"]]
    assert "threshold of 22 MiB" in lines[1][2]


def test_kueue_prints_a_manifest_a_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["kueue", str(folder)]) == 0
    kinds = [json.loads(line)["kind"] for line in capsys.readouterr().out.splitlines()]
    assert kinds[-2:] == ["Job", "Job"]
    assert kinds.count("ClusterQueue") == 2


def test_assemble_makes_what_is_there_and_names_what_is_not(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["assemble", str(folder)]) == 1
    assert capsys.readouterr().err == "2 tiles are missing: tile-1-1, tile-3-1\n"
    tiles = {tile.name: tile for tile in grid(())}
    for name, missing in (("tile-1-1", "1 tiles are missing: tile-3-1\n"), ("tile-3-1", "")):
        build_tile(tiles[name], folder)
        assert main(["assemble", str(folder)]) == (1 if missing else 0)
        said = capsys.readouterr()
        assert (said.out, said.err) == (f"{folder / 'mosaic.vrt'}\n", missing)
    with rasterio.open(folder / "mosaic.vrt") as mosaic:
        # Tiles of columns 1 and 3, with a gap between them.
        assert (mosaic.width, mosaic.height) == (3 * 512, 512)


def test_the_flow_alone_needs_a_server(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    assert main(["flow", str(folder)]) == 1
    assert "PREFECT_API_URL names no server; `run` starts one" in capsys.readouterr().err


def test_the_readme_says_the_slots_of_the_settings() -> None:
    readme = Path(__file__).resolve().parents[2] / "examples" / "mosaic" / "README.md"
    words = " ".join(readme.read_text(encoding="utf-8").split())
    small, big = (SLOT_LIMIT_BYTES[pool] // MIB for pool in (SMALL, BIG))
    assert SLOTS == {SMALL: 2, BIG: 1}
    assert f"two slots of {small} MiB in the small worker, one of {big} MiB in the big one" in words
    assert f"`tile-3-1 held more than its slot of {small} MiB and was killed`" in words
