"""Edge: how many HTTP requests GDAL made for one file, from its own network statistics.

GDAL's statistics are one table a process. They are switched on while headers are read and forgotten when the last
reader is done, so that nothing stays switched on or fills up; where the caller has switched them on, nothing is ever
forgotten. Not for files of which two threads read the header at once: each may be given the other's requests.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from floodplain.raster.gdal_library import network_statistics, reset_network_statistics

ENABLED = "CPL_VSIL_NETWORK_STATS_ENABLED"
"""The setting under which GDAL counts; the reader's own environment must hold it too."""
_LISTINGS = ""
_MOST_FILES = 64
"""Counted before the table is emptied: it is read as a whole after each header."""


@dataclass
class Count:
    """Filled in when the block ends: requests, or None where GDAL did not count."""

    requests: int | None = None


class _Counting:
    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.active = 0
        self.files = 0
        self.told: dict[str, int] = {}

    def begin(self, key: str, ours: bool, belongs: Callable[[str], bool]) -> None:
        with self.changed:
            self.changed.wait_for(lambda: self.files < _MOST_FILES or self.active == 0)
            if self.active == 0 and ours:
                self._forget()
            self.active += 1
            self.files += 1
            if key not in self.told and not ours:
                self.told[key] = _requests(belongs) or 0
                self.told.setdefault(_LISTINGS, (_of_all() or 0) - (_requests(lambda _: True) or 0))

    def end(self, key: str, ours: bool, belongs: Callable[[str], bool], beside: bool) -> int | None:
        with self.changed:
            total = _requests(belongs)
            made = None if total is None else total - self.told.get(key, 0)
            if total is not None:
                self.told[key] = total
            if made is not None and beside:
                made += self._listings()
            self.active -= 1
            if self.active == 0:
                self.files = 0
                if ours:
                    self._forget()
                else:
                    self.told.clear()
            self.changed.notify_all()
        return made

    def _listings(self) -> int:
        """Requests for no file, which are those for listings of directories: given to the first who may have made
        them."""
        total = (_of_all() or 0) - (_requests(lambda _: True) or 0)
        made = total - self.told.get(_LISTINGS, 0)
        self.told[_LISTINGS] = total
        return made

    def _forget(self) -> None:
        reset_network_statistics()
        self.files = 0
        self.told.clear()


_COUNTING = _Counting()


@contextmanager
def counted(gdal_path: str, *, sidecars: bool) -> Iterator[Count]:
    """Count the requests for `gdal_path` within the block, and those for files beside it if `sidecars`."""
    directory, _, name = gdal_path.rpartition("/")
    stem = f"{directory}/{name.rpartition('.')[0] or name}."

    def belongs(file: str) -> bool:
        return file == gdal_path or (sidecars and file.startswith(stem))

    ours = not any(os.environ.get(name) for name in (ENABLED, "CPL_VSIL_SHOW_NETWORK_STATS"))
    count = Count()
    _COUNTING.begin(gdal_path, ours, belongs)
    try:
        yield count
    finally:
        # A remote file without a single request is one that GDAL did not count.
        count.requests = _COUNTING.end(gdal_path, ours, belongs, sidecars) or None


def _requests(belongs: Callable[[str], bool]) -> int | None:
    text = network_statistics()
    return None if text is None else _of_files(json.loads(text), belongs)


def _of_all() -> int | None:
    text = network_statistics()
    return None if text is None else _methods(json.loads(text))


def _methods(entry: dict[str, Any]) -> int:
    return sum(int(method.get("count", 0)) for method in entry.get("methods", {}).values())


def _of_files(node: dict[str, Any], belongs: Callable[[str], bool]) -> int:
    """Requests of all matching files of a table that nests handlers, files and actions in any order.

    A file's `methods` hold those of the actions within it, so a match is not looked into.
    """
    total = 0
    for name, entries in node.items():
        if name == "files":
            for file, entry in entries.items():
                if belongs(file):
                    total += _methods(entry)
                else:
                    total += _of_files(entry, belongs)
        elif name in ("handlers", "actions"):
            total += sum(_of_files(entry, belongs) for entry in entries.values())
    return total
