"""A history survives writers at the same time and writers that die, and tells every line that is none of a record."""

from __future__ import annotations

import json
import logging
import multiprocessing
import resource
from pathlib import Path

import pytest

from floodplain.problem import ProblemsError
from floodplain.raster.history_file import LONGEST_LINE_BYTES, append, read, stream
from floodplain.raster.record import Outcome, Record

ONE = Record(layer="ortho", peak_bytes=300, marginal_bytes=200, baseline_bytes=100, seconds=1.5)
TWO = Record(layer="dem", peak_bytes=7, marginal_bytes=7, censored=True, outcome=Outcome.KILLED)
GOOD = b'{"layer":"ortho","peak_bytes":300,"marginal_bytes":200,"baseline_bytes":100,"seconds":1.5}\n'


def _write_many(path: Path, writer: int) -> None:
    for number in range(100):
        append(path, Record(layer=f"writer {writer}", peak_bytes=number, marginal_bytes=0, task="x" * 500))


def test_what_is_appended_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "peaks.jsonl"
    append(path, ONE)
    append(path, TWO)
    assert read(path) == [ONE, TWO]
    assert path.read_bytes().splitlines(keepends=True)[0] == GOOD


def test_writers_at_the_same_time_do_not_mix_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "peaks.jsonl"
    writers = [multiprocessing.get_context("spawn").Process(target=_write_many, args=(path, n)) for n in range(2)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    found = {(record.layer, record.peak_bytes) for record in read(path)}
    assert found == {(f"writer {writer}", number) for writer in range(2) for number in range(100)}


def test_a_torn_last_line_is_left_out_and_told(tmp_path: Path) -> None:
    path = tmp_path / "peaks.jsonl"
    path.write_bytes(GOOD + GOOD[:30])
    told: list[str] = []
    assert read(path, told.append) == [ONE]
    assert told == [f"{path}: line 2 is torn (its writer died, or is still at it) and left out"]


def test_who_appends_after_a_torn_line_cuts_it_off(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "peaks.jsonl"
    path.write_bytes(GOOD + GOOD[:30])
    with caplog.at_level(logging.WARNING):
        append(path, TWO)
    assert read(path) == [ONE, TWO]
    assert caplog.messages == [
        f"{path}: the last line was torn, by a writer that died: 30 bytes are cut off",
    ]


def test_a_last_line_that_only_lacks_its_end_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "peaks.jsonl"
    path.write_bytes(GOOD.rstrip(b"\n"))
    assert read(path) == [ONE]
    append(path, TWO)
    assert read(path) == [ONE, TWO]


def test_every_bad_line_is_told_with_number_key_value_and_rule(tmp_path: Path) -> None:
    path = tmp_path / "peaks.jsonl"
    lines = [
        GOOD,
        b'{"layer": 3, "peak_bytes": -1, "marginal_bytes": 0}\n',
        b"\n",
        b"peak 300\n",
        b'{"layer":"a","peak_bytes":1,"marginal_bytes":1,"peek_bytes":2}\n',
        b'{"layer":"a","peak_bytes":1,"marginal_bytes":1,"seconds":Infinity}\n',
        b'{"layer":"a","peak_bytes":1,"marginal_bytes":1,"seconds":NaN,"outcome":"oom"}\n',
        b"\xff\n",
        b'{"layer":"a","peak_bytes":9,"marginal_bytes":1,"peak_bytes":1}\n',
        b'{"layer":"' + b"x" * LONGEST_LINE_BYTES * 3 + b'"}\n',
    ]
    path.write_bytes(b"".join(lines))
    with pytest.raises(ProblemsError) as error:
        read(path)
    mend = "write one record of `floodplain measure` a line, or remove it"
    assert [str(problem) for problem in error.value.problems] == [
        "line 2, layer: 3 should be text",
        "line 2, peak_bytes: -1 should be greater than or equal to 0",
        f"line 4: 'peak 300' is not a JSON object; {mend}",
        "line 5, peek_bytes: is not a known key; did you mean `peak_bytes`?",
        "line 6, seconds: inf should be a finite number",
        "line 7, outcome: 'oom' should be 'done', 'failed' or 'killed'",
        "line 7, seconds: nan should be a finite number",
        f"line 8: '\N{REPLACEMENT CHARACTER}' is not a JSON object; {mend}",
        "line 9: 'peak_bytes' is given twice; keep one of them",
        "line 10: is longer than 64 KiB; remove it",
    ]


def test_good_records_of_a_bad_file_come_before_its_problems(tmp_path: Path) -> None:
    path = tmp_path / "peaks.jsonl"
    path.write_bytes(b"bad\n" + GOOD)
    records = stream(path)
    assert next(records) == ONE
    with pytest.raises(ProblemsError):
        next(records)


def test_a_file_of_nothing_but_bad_lines_is_told_in_a_hundred(tmp_path: Path) -> None:
    path = tmp_path / "peaks.jsonl"
    path.write_bytes(b"bad\n" * 5000)
    with pytest.raises(ProblemsError) as error:
        read(path)
    assert len(error.value.problems) == 101
    assert str(error.value.problems[-1]) == f"{path}: has 4900 more bad lines; mend or remove those above first"


def test_what_is_default_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "peaks.jsonl"
    append(path, TWO)
    assert json.loads(path.read_text()) == {
        "layer": "dem",
        "peak_bytes": 7,
        "marginal_bytes": 7,
        "censored": True,
        "outcome": "killed",
    }


def _append_to_a_file_that_may_not_grow(path: Path) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(GOOD) + 30, len(GOOD) + 30))
    with pytest.raises(OSError, match="No space left"):
        append(path, TWO)


def test_a_disk_that_is_full_leaves_no_half_line(tmp_path: Path) -> None:
    path = tmp_path / "peaks.jsonl"
    path.write_bytes(GOOD)
    child = multiprocessing.get_context("spawn").Process(target=_append_to_a_file_that_may_not_grow, args=(path,))
    child.start()
    child.join()
    assert (child.exitcode, path.read_bytes()) == (0, GOOD)
