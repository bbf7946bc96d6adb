"""The files of `floodplain raster`: read whole, read by line, and written so that nothing is left half. Edge."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import IO, TypeVar

from floodplain.cli_plan_files import FileError, opened_lines, read_whole, shown
from floodplain.raster.route import Place
from floodplain.raster.tile_line import TileLine, TileLineError, read_line
from floodplain.stop_signals import unstopped

_Read = TypeVar("_Read")
_LARGEST_BYTES = 16 << 20
_MOST_PROBLEMS = 100
"""More are no list with faults but another kind of file."""
_ALWAYS = (Place.SMALL, Place.BIG)
"""Written even if they are empty, so that whoever reads them finds them."""


def read_file(option: str, path: str, parse: Callable[[bytes], _Read]) -> _Read:
    """What a small file holds. Raises FileError."""
    content = read_whole(option, path, _LARGEST_BYTES)
    try:
        return parse(content)
    except UnicodeDecodeError as error:
        why = f"is not UTF-8 (byte {error.start})"
        raise FileError(f"{option}: {shown(path)} {why}; name a text file, written as UTF-8") from error
    except ValueError as error:
        problems = getattr(error, "problems", (error,))
        raise FileError("\n".join(f"{option}: {shown(path)}: {problem}" for problem in problems)) from error


def read_lines(argument: str, path: str) -> tuple[list[TileLine], list[str]]:
    """The tasks of a file, or of standard input for `-`, and what is wrong with its bad lines. Raises FileError."""
    tasks: list[TileLine] = []
    problems: list[str] = []
    with opened_lines(argument, path) as lines:
        for number, line in enumerate(lines, start=1):
            try:
                task = read_line(line, number)
            except TileLineError as error:
                problems += [f"{shown(path)}: {problem}" for problem in error.problems]
                if len(problems) > _MOST_PROBLEMS:
                    problems.append(f"{shown(path)}: lines after {number} were not read")
                    break
                continue
            if task is not None:
                tasks.append(task)
    if not tasks and not problems:
        raise FileError(f"{argument}: {shown(path)} has no task; write a JSON object a line")
    return tasks, problems


_HIDDEN = re.compile(rf"\.({'|'.join(Place)})\.jsonl\.[0-9]+")
"""What a run that was killed left."""


class RoutedFiles:
    """small.jsonl, big.jsonl and, where there is anything for them, refused, skipped and failed, in one folder.

    All lines go to files that are hidden until `commit` gives them their names; without it they are gone. The folder is
    locked meanwhile, where its file system has locks: two runs at once would leave files of both.
    """

    def __init__(self, folder: str, *, overwrite: bool) -> None:
        self._folder, self._overwrite = Path(folder), overwrite
        self._streams: dict[Place, IO[str]] = {}
        self._lock: int | None = None
        self.committed = False

    def __enter__(self) -> RoutedFiles:
        self._refuse_existing()
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._take_lock()
            for place in _ALWAYS:
                self._streams[place] = self._open(place)
        except (OSError, ValueError) as error:
            self._remove()
            raise FileError(self._unwritable(error)) from error
        except BaseException:
            self._remove()
            raise
        return self

    def write(self, place: Place, line: str) -> None:
        """Add a line. Raises FileError."""
        try:
            if place not in self._streams:
                self._streams[place] = self._open(place)
            self._streams[place].write(f"{line}\n")
        except OSError as error:
            raise FileError(self._unwritable(error)) from error

    def commit(self) -> dict[Place, str]:
        """Give the files their names, which are returned. Raises FileError."""
        self._refuse_existing()
        try:
            for stream in self._streams.values():
                stream.close()
            with unstopped():
                # All earlier ones go first: what a kill leaves is never of two runs.
                for place in Place:
                    self._file(place).unlink(missing_ok=True)
                for place in self._streams:
                    self._hidden(place).replace(self._file(place))
                self.committed = True
        except OSError as error:
            raise FileError(self._unwritable(error)) from error
        return {place: str(self._file(place)) for place in self._streams}

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._remove()

    def _refuse_existing(self) -> None:
        there = [self._file(place).name for place in Place if self._file(place).exists()]
        if there and not self._overwrite:
            raise FileError(
                f"--out: {shown(str(self._folder))} has {', '.join(there)} already; name another folder,"
                " or add --overwrite"
            )

    def _take_lock(self) -> None:
        """Raises FileError if another run has it."""
        self._lock = os.open(self._folder, os.O_RDONLY | os.O_CLOEXEC)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            there = shown(str(self._folder))
            raise FileError(f"--out: another run is writing to {there}; wait for it, or name another folder") from None
        except OSError:
            return
        for left in self._folder.iterdir():
            if _HIDDEN.fullmatch(left.name):
                left.unlink(missing_ok=True)

    def _remove(self) -> None:
        for place, stream in self._streams.items():
            with contextlib.suppress(OSError):
                stream.close()
            with contextlib.suppress(OSError):
                self._hidden(place).unlink(missing_ok=True)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _open(self, place: Place) -> IO[str]:
        return self._hidden(place).open("w", encoding="utf-8", errors="surrogateescape", newline="\n")

    def _file(self, place: Place) -> Path:
        return self._folder / f"{place.value}.jsonl"

    def _hidden(self, place: Place) -> Path:
        return self._folder / f".{place.value}.jsonl.{os.getpid()}"

    def _unwritable(self, error: Exception) -> str:
        reason = getattr(error, "strerror", None) or error
        return f"--out: {shown(str(self._folder))} cannot be written ({reason}); name another folder"
