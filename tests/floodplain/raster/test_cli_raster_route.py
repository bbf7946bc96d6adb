"""`floodplain raster route`: a list split over the pools, whole files, statuses, and everything that goes wrong."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import signal
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from floodplain.cli import app
from floodplain.quantity import GIB, MIB
from floodplain.raster.estimating import estimate
from floodplain.raster.read_header import read_header
from floodplain.raster.read_headers import read_headers
from floodplain.raster.route import Place, route
from floodplain.raster.route_many import route_many
from floodplain.raster.routed import Ground, Routed
from floodplain.raster.task import GdalSettings, Way
from floodplain.raster.tile_line import TileLine, read_line
from floodplain.raster.two_pools import TwoPools
from tests.conftest import Golden
from tests.floodplain.raster.cogs import NOWHERE, TILE, cog

POOLS = ("--small-memory", "600Mi", "--big-memory", "900Mi", "--slots", "4")
SAME = TwoPools(slots=4, small_limit_bytes=600 * MIB, big_limit_bytes=900 * MIB)


@pytest.fixture(scope="module")
def rasters(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rasters")
    cog(folder / "small.tif")
    cog(folder / "large.tif", side=4096, bands=4, dtype="float32", nodata=-1)
    return folder


def run(*arguments: str, stdin: bytes | None = None) -> Result:
    screen = {"COLUMNS": "300", "NO_COLOR": "1", "TERM": "dumb"}
    result = CliRunner().invoke(app, ("raster", "route", *arguments), env=screen, input=stdin)
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def listed(tmp_path: Path, *tasks: Any) -> str:
    path = tmp_path / "tiles.jsonl"
    path.write_text("".join(f"{json.dumps(task) if isinstance(task, dict) else task}\n" for task in tasks))
    return str(path)


def parsed(tasks: list[dict[str, Any]]) -> list[TileLine]:
    found = [read_line(json.dumps(task).encode(), number) for number, task in enumerate(tasks, start=1)]
    return [task for task in found if task is not None]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def five(rasters: Path) -> list[dict[str, Any]]:
    """A task for each outcome."""
    small, large = str(rasters / "small.tif"), str(rasters / "large.tif")
    return [
        {"source": small, "tile": TILE, "size": 512, "id": 7},
        {"source": large, "window": [0, 0, 4096, 4096], "masked": True},
        {"source": large, "crs": "EPSG:3857", "way": "array"},
        {"source": small, "tile": NOWHERE},
        {"source": str(rasters / "gone.tif"), "tile": TILE},
    ]


def test_every_task_is_in_one_file_with_its_estimate(rasters: Path, tmp_path: Path) -> None:
    tasks = five(rasters)
    out = tmp_path / "out"
    result = run(listed(tmp_path, *tasks), "--out", str(out), *POOLS)
    assert result.exit_code == 1
    assert names(out) == ["big.jsonl", "failed.jsonl", "refused.jsonl", "skipped.jsonl", "small.jsonl"]
    found = {path.stem: lines(path) for path in out.iterdir()}
    order = ["small", "big", "refused", "skipped", "failed"]
    assert [{key: value for key, value in found[place][0].items() if key != "estimate"} for place in order] == tasks
    assert all(len(some) == 1 for some in found.values())

    large = read_header(str(rasters / "large.tif")).header
    masked = estimate(large, window=(0, 0, 4096, 4096), settings=GdalSettings(masked=True))
    assert found["big"][0]["estimate"] == {
        "pool": "big",
        "reason": route(masked, SAME).reason,
        "peak_bytes": masked.peak_bytes,
        "need_bytes": route(masked, SAME).need_bytes,
        "terms": {term.name: term.bytes for term in masked.terms},
    }
    array = estimate(large, crs="EPSG:3857", settings=GdalSettings(way=Way.ARRAY))
    refused = found["refused"][0]["estimate"]
    assert refused == json.loads(json.dumps(Routed(route(array, SAME), array).to_json()))
    for place in ("skipped", "failed"):
        assert found[place][0]["estimate"].keys() == {"pool", "reason"}

    told = result.stderr.splitlines()
    assert told[0] == f"line 3 refused: {refused['reason']}"
    assert told[1].startswith(f"line 5 failed: {rasters / 'gone.tif'}: ")
    assert len(told) == 2
    rows = [[cell.strip() for cell in row.split("│")[1:-1]] for row in result.stdout.splitlines() if "│" in row]
    assert [row[:2] for row in rows] == [[place, "1"] for place in order]


def test_a_task_without_an_estimate_goes_to_the_big_pool_where_that_is_wanted(rasters: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = run(listed(tmp_path, five(rasters)[4]), "--out", str(out), "--on-failure", "big")
    assert (result.exit_code, result.stderr) == (0, "")
    (one,) = lines(out / "big.jsonl")
    assert one["estimate"]["reason"].startswith("no estimate, and so to the pool with the most memory: ")
    assert "peak_bytes" not in one["estimate"]
    assert (out / "small.jsonl").read_text() == ""


def test_what_failed_can_be_routed_again(rasters: Path, tmp_path: Path) -> None:
    first, second, late = tmp_path / "first", tmp_path / "second", rasters / "late.tif"
    task = {"source": str(late), "tile": TILE}
    assert run(listed(tmp_path, task), "--out", str(first)).exit_code == 1
    cog(late)
    assert run(str(first / "failed.jsonl"), "--out", str(second)).exit_code == 0
    (one,) = lines(second / "small.jsonl")
    assert (one["source"], one["estimate"]["pool"]) == (str(late), "small")
    assert names(second) == ["big.jsonl", "small.jsonl"]


def test_nothing_is_overwritten_silently_and_overwriting_leaves_nothing_of_the_earlier_run(
    rasters: Path, tmp_path: Path
) -> None:
    out, tasks = tmp_path / "out", listed(tmp_path, *five(rasters))
    run(tasks, "--out", str(out), *POOLS)
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    again = run(tasks, "--out", str(out))
    there = "small.jsonl, big.jsonl, refused.jsonl, skipped.jsonl, failed.jsonl"
    assert again.stderr == f"--out: {out} has {there} already; name another folder, or add --overwrite\n"
    assert (again.exit_code, {path.name: path.read_bytes() for path in out.iterdir()}) == (1, before)
    (out / "notes.txt").write_text("mine")
    assert run(listed(tmp_path, five(rasters)[0]), "--out", str(out), "--overwrite").exit_code == 0
    assert names(out) == ["big.jsonl", "notes.txt", "small.jsonl"]


def test_bad_lines_are_all_told_and_nothing_is_written(tmp_path: Path, golden: Golden) -> None:
    bad = listed(
        tmp_path,
        {"source": "a.tif", "tlie": TILE},
        "nonsense",
        {"source": "a.tif", "tile": TILE},
        {"source": "", "tile": "15/1/99999"},
        '{"source": "a.tif", "tile": "1/0/0", "tile": "1/0/1"}',
        {"source": "a.tif", "bounds": [0, 5, 10, 1], "resampling": "cubci"},
        {"source": "a.tif", "window": [0, 0, 0, 5], "masked": "yes"},
    )
    out = tmp_path / "out"
    result = run(bad, "--out", str(out))
    assert (result.exit_code, result.stdout, out.exists()) == (1, "", False)
    golden.check("floodplain/raster/golden/bad-lines.txt", result.stderr.replace(f"{bad}: ", "tiles.jsonl: "))


def test_a_crs_that_proj_does_not_know_is_a_bad_line(tmp_path: Path) -> None:
    result = run(listed(tmp_path, {"source": "a.tif", "crs": "EPSG:99999"}), "--out", str(tmp_path / "out"))
    told = "line 1, crs: 'EPSG:99999' is no CRS that PROJ knows; write EPSG:3857, or WKT"
    assert (result.exit_code, result.stderr.splitlines()[0]) == (1, told)


@pytest.mark.parametrize("content", ["", "\n \n"])
def test_a_file_without_a_task_is_told(tmp_path: Path, content: str) -> None:
    empty = tmp_path / "empty.jsonl"
    empty.write_text(content)
    result = run(str(empty), "--out", str(tmp_path / "out"))
    told = f"TILES: {empty} has no task; write a JSON object a line\n"
    assert (result.exit_code, result.stderr, (tmp_path / "out").exists()) == (1, told, False)


def test_files_that_cannot_be_read_or_written_are_told(rasters: Path, tmp_path: Path) -> None:
    missing = tmp_path / "none.jsonl"
    told = f"TILES: {missing} cannot be read (No such file or directory); name a file that you may read\n"
    assert run(str(missing), "--out", str(tmp_path / "out")).stderr == told
    file = tmp_path / "file"
    file.write_text("")
    result = run(listed(tmp_path, five(rasters)[0]), "--out", str(file / "out"))
    assert result.stderr == f"--out: {file / 'out'} cannot be written (Not a directory); name another folder\n"


def test_a_bad_way_to_treat_failures_is_told(tmp_path: Path) -> None:
    result = run("-", "--out", str(tmp_path / "out"), "--on-failure", "smal")
    assert (result.exit_code, result.stderr) == (2, "--on-failure: 'smal' is not known; write fail or big\n")


def test_lines_may_come_from_standard_input_and_counts_be_json(rasters: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    sent = "".join(f"{json.dumps(task)}\n" for task in five(rasters)[:2]).encode()
    result = run("-", "--out", str(out), *POOLS, "--json", stdin=sent)
    assert (result.exit_code, result.stderr) == (0, "")
    largest = {place: lines(out / f"{place}.jsonl")[0]["estimate"]["peak_bytes"] for place in ("small", "big")}
    assert json.loads(result.stdout) == {
        "headers": 2,
        "pools": {
            place: {"tasks": 1, "largest_bytes": count, "file": str(out / f"{place}.jsonl")}
            for place, count in largest.items()
        },
    }


def test_many_tasks_of_one_raster_are_in_their_order_and_only_the_first_reasons_are_told(
    rasters: Path, tmp_path: Path
) -> None:
    small = {"source": str(rasters / "small.tif")}
    tasks = [{**small, "window": [0, 0, 1 + number, 16], "id": number} for number in range(200)]
    gone = [{"source": str(rasters / f"gone-{number}.tif"), "tile": TILE} for number in range(8)]
    out = tmp_path / "out"
    result = run(listed(tmp_path, *gone, *tasks), "--out", str(out), "--parallel", "3")
    assert [one["id"] for one in lines(out / "small.jsonl")] == list(range(200))
    assert len(lines(out / "failed.jsonl")) == 8
    told = result.stderr.splitlines()
    assert [line.partition(":")[0] for line in told[:5]] == [f"line {number} failed" for number in range(1, 6)]
    assert told[5:] == [f"and 3 more: see {out / 'failed.jsonl'}"]


def test_processes_give_the_same_answers_in_the_same_order(rasters: Path, tmp_path: Path) -> None:
    tasks = [replace(task, number=number) for number in range(150) for task in parsed(five(rasters))]
    headers = dict(read_headers([task.source for task in tasks[:5]], threads=2))
    ground = Ground(GdalSettings(), SAME)
    alone = list(route_many(tasks, headers, ground))
    assert list(route_many(tasks, headers, ground, fewest=1)) == alone
    assert len(alone) == 750


def test_ctrl_c_ends_at_once_and_leaves_nothing_half(tmp_path: Path) -> None:
    """While a server that never answers is waited for: GDAL itself cannot be interrupted."""
    out = tmp_path / "out"
    with socket.create_server(("127.0.0.1", 0)) as silent:
        source = f"http://127.0.0.1:{silent.getsockname()[1]}/a.tif"
        command = [sys.executable, "-m", "floodplain", "raster", "route", "-", "--out", str(out)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            assert process.stdin is not None and process.stderr is not None
            process.stdin.write(json.dumps({"source": source, "tile": TILE}) + "\n")
            process.stdin.close()
            silent.settimeout(60)
            connection, _ = silent.accept()
            with connection:
                process.send_signal(signal.SIGINT)
                assert process.wait(15) == 130
            assert process.stderr.read() == "Interrupted: nothing was written.\n"
    assert list(out.iterdir()) == []


def test_the_tasks_of_all_places_are_those_of_the_list() -> None:
    assert [place.value for place in Place] == ["small", "big", "refused", "skipped", "failed"]
    assert TwoPools().big_limit_bytes == 16 * GIB


def test_a_terminal_sees_a_progress_bar_and_a_file_does_not(rasters: Path, tmp_path: Path) -> None:
    tasks = listed(tmp_path, five(rasters)[0])
    command = [
        sys.executable,
        "-m",
        "floodplain",
        "raster",
        "route",
        tasks,
        "--overwrite",
        "--out",
        str(tmp_path / "o"),
    ]
    quiet = subprocess.run(command, capture_output=True, check=True)
    assert quiet.stderr == b""
    ours, theirs = pty.openpty()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=theirs, env={**os.environ, "TERM": "xterm"}):
        os.close(theirs)
        seen = b""
        with contextlib.suppress(OSError):  # how a terminal says that nobody writes to it any more
            while part := os.read(ours, 4096):
                seen += part
    os.close(ours)
    assert b"headers" in seen
    assert b"tasks" in seen


def test_whoever_closes_standard_output_gets_no_traceback(rasters: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    command = [
        sys.executable,
        "-m",
        "floodplain",
        "raster",
        "route",
        listed(tmp_path, five(rasters)[0]),
        "--out",
        str(out),
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 1
    assert len(lines(out / "small.jsonl")) == 1


def test_the_help_shows_lists_as_they_are_written() -> None:
    shown = " ".join(CliRunner().invoke(app, ["raster", "route", "--help"], env={"COLUMNS": "100"}).stdout.split())
    assert "tile: window [column, row, width, height], or bounds [left, bottom, right, top] with crs." in shown
