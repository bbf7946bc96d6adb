"""Which tasks have begun and not ended, so that one killed for memory is not missing from the history. Edge: files.

A killed task reports nothing itself, and a history without it is biased low. So each process notes what it is at in a
file of its own in the folder HISTORY.open, and holds a lock on that file as long as it lives. Who finds a file with a
task and without a holder writes what is known: the task needed more than the limit of its slot.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import threading
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any
from uuid import uuid4

from floodplain.raster.cgroup_memory import Cgroup, own_cgroup
from floodplain.raster.history_file import append
from floodplain.raster.lost_task import Now, Start, Unknown, for_memory, lower_bounds
from floodplain.raster.record import Record

_LONGEST_BYTES = 64 << 10


class OpenTasks:
    """What this process is at, for one history. Safe in threads. Raises OSError where files cannot be written."""

    def __init__(self, history: str | Path) -> None:
        folder = folder_of(history)
        self._starts: dict[object, Start] = {}
        self._guard = threading.Lock()
        self._owner = os.getpid()
        if not folder.parent.is_dir():
            raise FileNotFoundError(errno.ENOENT, "the folder of the history is missing; make it", str(history))
        while True:
            folder.mkdir(exist_ok=True)
            self._path = folder / f"{self._owner}-{uuid4().hex[:12]}"
            try:
                self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
            except FileNotFoundError:
                continue  # Somebody removed the empty folder.
            _ours.add(self._path.name)
            if _locked(self._file):
                break
            os.close(self._file)  # Somebody took it for one that was left, and removes it.

    def begun(self, key: object, start: Start) -> None:
        with self._guard:
            self._starts[key] = start
            self._write()

    def ended(self, key: object) -> None:
        with self._guard:
            self._starts.pop(key, None)
            self._write()

    def close(self) -> None:
        """At the end of the process. What it is at now is left to be found: it did not end."""
        if os.getpid() != self._owner:
            return
        if not self._starts:
            self._path.unlink(missing_ok=True)
            with contextlib.suppress(OSError):
                self._path.parent.rmdir()
        _ours.discard(self._path.name)
        os.close(self._file)

    def _write(self) -> None:
        # One write: whoever reads takes the first line, whatever an earlier, longer one left behind it.
        os.pwrite(self._file, json.dumps([asdict(start) for start in self._starts.values()]).encode() + b"\n", 0)


_ours: set[str] = set()
"""A lock of fcntl is lost when its own process opens and closes the file once more: ours are never looked at."""
os.register_at_fork(after_in_child=_ours.clear)


def folder_of(history: str | Path) -> Path:
    """Where the tasks that are open lie beside a history."""
    return Path(f"{os.fspath(history)}.open")


def close_open_tasks(
    history: str | Path,
    statuses: Mapping[int, int] | None = None,
    *,
    unknown: Unknown = Unknown.KILLED,
    every_sigkill: bool = False,
) -> list[Record]:
    """Append a lower bound for each task that was killed for memory; the records that were appended.

    `statuses` has exit statuses of processes by their id, of whoever supervised them; `every_sigkill` takes each 137 or
    -9 for one, also where the kernel counted no kill for memory. Tasks that are still worked at, here or in another
    process, are left alone; other tasks whose process is gone are forgotten. Raises OSError.
    """
    group = own_cgroup()
    now = Now(boot(), _identity(group), group.oom_kills() if group else None)
    with _left(history) as starts:
        killed = [
            start
            for start in starts
            if for_memory(
                start, now, status=(statuses or {}).get(start.pid), unknown=unknown, every_sigkill=every_sigkill
            )
        ]
        records = lower_bounds(killed)
        for record in records:
            append(history, record)
    return records


@contextlib.contextmanager
def _left(history: str | Path) -> Iterator[list[Start]]:
    """What the processes that are gone were at. Nobody else takes it meanwhile; it is removed when all went well."""
    taken: dict[Path, int] = {}
    try:
        with contextlib.suppress(FileNotFoundError):
            for path in sorted(folder_of(history).iterdir()):
                if path.name in _ours:
                    continue
                with contextlib.suppress(FileNotFoundError):
                    file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
                    # Without a link somebody else has just taken it.
                    if _locked(file) and os.fstat(file).st_nlink:
                        taken[path] = file
                    else:
                        os.close(file)
        yield [start for file in taken.values() for start in _starts(os.pread(file, _LONGEST_BYTES, 0))]
        for path in taken:
            path.unlink(missing_ok=True)
    finally:
        for file in taken.values():
            os.close(file)


def _starts(content: bytes) -> list[Start]:
    try:
        return [Start(**one) for one in json.loads(content.partition(b"\n")[0] or b"[]")]
    except (ValueError, TypeError):
        return []


def _locked(file: int) -> bool:
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return os.fstat(file).st_nlink > 0


def start_of(layer: str, **known: Any) -> Start:
    """A start of this process, now."""
    group = _group()
    kills = group.oom_kills() if group else None
    return Start(layer, os.getpid(), boot(), _identity(group), kills, **known)


@cache
def boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="utf-8").strip()
    except OSError:
        return ""


_group = cache(own_cgroup)


@cache
def _identity(group: Cgroup | None) -> str:
    """A container that is started again has the same path and another folder."""
    try:
        return f"{group.folder}:{group.folder.stat().st_ino}" if group else ""
    except OSError:
        return ""
