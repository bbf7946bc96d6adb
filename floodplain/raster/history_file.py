"""The history of measured tasks: a file with one Record a line (peaks.jsonl). Edge: appends, reads.

Any number of processes may append to one file of one machine. A file system without flock still has O_APPEND, which
keeps lines whole there; on NFS give each machine its own file, and read them one after the other.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import logging
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from pydantic import ValidationError

from floodplain.json_once import once
from floodplain.problem import Problem, ProblemsError, RuleError, problems_of
from floodplain.raster.record import Record

LONGEST_LINE_BYTES = 64 << 10
LARGEST_FILE_BYTES = 1 << 30
"""Some 3 million records. `/dev/zero` never ends."""
MOST_PROBLEMS = 100
_CHUNK_BYTES = LONGEST_LINE_BYTES + 2
_log = logging.getLogger(__name__)


def append(path: str | Path, record: Record) -> None:
    """Add a record as one line, whole or not at all. Raises OSError where the file cannot be written.

    What a writer that died left of a line is cut off first. Nothing is synced: after a loss of power lines may lack.
    """
    line = record.model_dump_json(exclude_defaults=True).encode() + b"\n"
    file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            os.write(file, line)
            return
        # Where it cannot be locked, a single write of O_APPEND still keeps lines apart.
        with contextlib.suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX)
        _mend_end(file, path)
        size = os.fstat(file).st_size
        written = os.write(file, line)
        if written != len(line):
            os.ftruncate(file, size)
            raise OSError(28, "No space left on device", str(path))
    finally:
        os.close(file)


def _mend_end(file: int, path: str | Path) -> None:
    """End a last line that lacks its end; cut it off where it is no record."""
    size = os.fstat(file).st_size
    if size == 0 or os.pread(file, 1, size - 1) == b"\n":
        return
    tail = os.pread(file, _CHUNK_BYTES, max(0, size - _CHUNK_BYTES))
    last = tail.rpartition(b"\n")[2]
    if _is_record(last):
        os.write(file, b"\n")
        return
    os.ftruncate(file, size - len(last))
    _log.warning("%s: the last line was torn, by a writer that died: %d bytes are cut off", path, len(last))


def read(path: str | Path, tell: Callable[[str], None] = _log.warning) -> list[Record]:
    """All records of the file. Raises OSError, and ProblemsError with every bad line: number, key, value, rule.

    A torn last line is left out, and told.
    """
    return list(stream(path, tell))


def stream(path: str | Path, tell: Callable[[str], None] = _log.warning) -> Iterator[Record]:
    """Like `read`, one record at a time; ProblemsError comes after the last good one."""
    problems: list[Problem] = []
    unlisted = 0
    for number, line, ended in _lines(path):
        if not line.strip():
            continue
        try:
            record = _record(line, number)
        except ProblemsError as error:
            if not ended:
                tell(f"{path}: line {number} is torn (its writer died, or is still at it) and left out")
                continue
            if len(problems) < MOST_PROBLEMS:
                problems += error.problems
            else:
                unlisted += 1
            continue
        yield record
    if unlisted:
        problems.append(Problem(str(path), f"has {unlisted} more bad lines", "mend or remove those above first"))
    if problems:
        raise ProblemsError(problems)


def _lines(path: str | Path) -> Iterator[tuple[int, bytes, bool]]:
    """Number, content and whether it has its end; of a line that is too long the beginning."""
    read_bytes = 0
    with open(path, "rb") as file:  # noqa: PTH123 - Path would take "" for the folder
        number = 0
        while line := file.readline(_CHUNK_BYTES):
            number += 1
            rest = line
            while len(rest) == _CHUNK_BYTES and not rest.endswith(b"\n") and read_bytes <= LARGEST_FILE_BYTES:
                read_bytes += len(rest)
                rest = file.readline(_CHUNK_BYTES)
            read_bytes += len(line)
            if read_bytes > LARGEST_FILE_BYTES:
                rule = f"is larger than {LARGEST_FILE_BYTES >> 20} MiB"
                raise ProblemsError([Problem(str(path), rule, "keep the newest part: `tail --lines=1000000`")])
            yield number, line, rest.endswith(b"\n")


def _record(line: bytes, number: int) -> Record:
    where = f"line {number}"
    if len(line.rstrip(b"\n")) > LONGEST_LINE_BYTES:
        raise ProblemsError([Problem(where, f"is longer than {LONGEST_LINE_BYTES >> 10} KiB", "remove it")])
    try:
        return _valid(line)
    except RuleError as error:
        raise ProblemsError([Problem(where, error.rule, error.remedy, error.value)]) from error
    except ValidationError as error:
        if error.errors()[0]["type"] in ("json_invalid", "model_type"):
            shown = line.decode(errors="replace").strip()
            rule, remedy = "is not a JSON object", "write one record of `floodplain measure` a line, or remove it"
            raise ProblemsError([Problem(where, rule, remedy, shown)]) from error
        found = problems_of(error, Record, snake=True)
        raise ProblemsError(replace(problem, path=f"{where}, {problem.path}") for problem in found) from error


def _is_record(line: bytes) -> bool:
    try:
        _valid(line)
    except ValueError:
        return False
    return True


def _valid(line: bytes) -> Record:
    """Raises pydantic's ValidationError, and RuleError for a key that is given twice."""
    record = Record.model_validate_json(line)
    json.loads(line, object_pairs_hook=once)
    return record
