"""A try of a tile ends in one of four ways, each written down; what became of every tile is said in the end."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from floodplain.quantity import MIB
from floodplain.raster import record
from floodplain.raster.record import Method, Record
from mosaic.assemble import assemble
from mosaic.ends import End, How, append_end
from mosaic.outcome import Outcome, outcome_of
from mosaic.routes import Place, Route
from mosaic.run_tile import record_of
from mosaic.settings import LAYER, POOLS
from mosaic.supervise import Ended, parents, supervise
from mosaic.tiles import Tile, grid

LIMIT = 100 * MIB


def _python(code: str, *, timeout_seconds: float = 60) -> Ended:
    return supervise([sys.executable, "-c", code], timeout_seconds=timeout_seconds, limit_bytes=LIMIT)


def test_one_that_ends_well_is_done_and_its_output_is_kept() -> None:
    ended = _python("import time; time.sleep(0.5); print('peak')")
    assert (ended.how, ended.words, ended.output) == (How.DONE, "done", "peak\n")
    assert 0 < ended.peak_bytes < LIMIT
    assert ended.began <= ended.ended


def test_one_that_fails_says_why_in_its_last_line() -> None:
    ended = _python("raise ValueError('no such band')")
    assert (ended.how, ended.words) == (How.FAILED, "ValueError: no such band")
    assert _python("raise SystemExit(3)").words == "ended with status 3"


def test_one_that_hangs_in_native_code_is_killed_when_its_time_is_over(tmp_path: Path) -> None:
    # Opening a pipe that nobody writes to: the interpreter never gets to a handler of its own.
    pipe = str(tmp_path / "pipe")
    os.mkfifo(pipe)
    ignoring = "import os, signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)"
    ended = _python(f"{ignoring}; os.open({pipe!r}, os.O_RDONLY)", timeout_seconds=0.5)
    assert (ended.how, ended.words) == (How.TIMED_OUT, "was not done after 0.5 s and was killed")
    with pytest.raises(ProcessLookupError):
        os.kill(ended.pid, 0)


def test_one_that_holds_more_than_its_slot_is_killed_though_its_peak_was_short() -> None:
    # Held for a moment only: the kernel remembers the most that there ever was.
    ended = _python(f"import time; bytearray({2 * LIMIT}); time.sleep(60)")
    assert (ended.how, ended.words) == (How.OUT_OF_MEMORY, "held more than its slot of 100 MiB and was killed")
    assert ended.peak_bytes > LIMIT


def test_one_that_the_kernel_kills_was_killed_for_memory() -> None:
    ended = _python(f"import os; os.kill(os.getpid(), {int(signal.SIGKILL)})")
    assert ended.how is How.OUT_OF_MEMORY


def test_a_killed_one_takes_what_it_started_with_it() -> None:
    code = "import subprocess, sys; print(subprocess.Popen(['sleep', '60']).pid, flush=True); input_ = sys.stdin.read()"
    ended = _python(code + "; import time; time.sleep(60)", timeout_seconds=1)
    child = int(ended.output)
    deadline = time.monotonic() + 10
    while _runs(child) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not _runs(child)


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_parents_of_a_process_end_with_the_first_of_all() -> None:
    assert parents(os.getpid())[0] == os.getppid()
    assert parents(1) == ()


def _ended(how: How, output: str = "") -> Ended:
    return Ended(how, str(how), 7, 10.0, 12.5, 90 * MIB, output)


def test_of_a_try_that_was_killed_for_memory_the_history_is_told_a_lower_bound() -> None:
    assert record_of(_ended(How.OUT_OF_MEMORY), "a", limit_bytes=184 * MIB, estimate_bytes=9 * MIB) == Record(
        layer=LAYER,
        peak_bytes=184 * MIB,
        marginal_bytes=184 * MIB - POOLS.baseline_bytes,
        baseline_bytes=POOLS.baseline_bytes,
        censored=True,
        outcome=record.Outcome.KILLED,
        method=Method.NONE,
        estimate_bytes=9 * MIB,
        slot_limit_bytes=184 * MIB,
        seconds=2.5,
        task="a",
    )


def test_of_a_try_that_is_done_the_history_is_told_its_record_and_of_others_nothing() -> None:
    measured = Record(layer=LAYER, peak_bytes=120 * MIB, marginal_bytes=12 * MIB, task="a")
    line = measured.model_dump_json(exclude_defaults=True)
    for ended, expected in (
        (_ended(How.DONE, f"a warning\n{line}\n"), measured),
        (_ended(How.DONE, "something else\n"), None),
        (_ended(How.DONE), None),
        (_ended(How.TIMED_OUT, line), None),
        (_ended(How.FAILED, line), None),
    ):
        assert record_of(ended, "a", limit_bytes=LIMIT, estimate_bytes=1) == expected


def _end(tile: str, how: How, words: str, run: str = "now", pool: str = "small") -> End:
    return End(
        run=run,
        tile=tile,
        pool=pool,
        how=how,
        words=words,
        began=1.0,
        ended=2.0,
        pid=7,
        parents=(5, 1),
        limit_bytes=LIMIT,
        peak_bytes=MIB,
    )


def test_what_became_of_every_tile_is_told_by_its_name(tmp_path: Path) -> None:
    tiles = {tile.name: tile for tile in grid(["a.tif"])}
    places = {
        "tile-0-0": Place.SMALL,
        "tile-1-0": Place.SMALL,
        "tile-2-0": Place.BIG,
        "tile-3-0": Place.SMALL,
        "tile-0-1": Place.SKIPPED,
        "tile-1-1": Place.REFUSED,
    }
    routes = [Route(tile=tiles[name], place=place, why=f"because of {name}") for name, place in places.items()]
    path = tmp_path / "ends.jsonl"
    for end in (
        _end("tile-0-0", How.TIMED_OUT, "hung"),
        _end("tile-0-0", How.DONE, "done"),
        _end("tile-1-0", How.DONE, "done"),
        _end("tile-1-0", How.FAILED, "broken strip"),
        _end("tile-2-0", How.OUT_OF_MEMORY, "held more", pool="big"),
        _end("tile-3-0", How.DONE, "done", run="another"),
    ):
        append_end(path, end)
    outcome = outcome_of(routes, {"tile-2-1": "no header"}, path, "now")
    assert outcome == Outcome(
        built=("tile-0-0",),
        skipped=("tile-0-1",),
        missing={
            "tile-2-1": "no header",
            "tile-1-0": "broken strip (in the small pool)",
            "tile-2-0": "held more (in the big pool)",
            "tile-3-0": "nothing was heard of it in the small pool: see its worker's log",
            "tile-1-1": "refused: because of tile-1-1",
        },
        out_of_memory=("tile-2-0",),
    )
    assert outcome.words.splitlines()[0] == "1 tiles built, 1 without any raster skipped, 5 missing"
    assert "tile-1-0: broken strip (in the small pool)" in outcome.words


def test_without_a_tile_there_is_no_mosaic(tmp_path: Path) -> None:
    none: list[Tile] = []
    with pytest.raises(ValueError, match="no tile was built"):
        assemble(none, tmp_path)
    assert list(tmp_path.iterdir()) == []
