"""The files that `floodplain plan` reads and writes: pools, settings, prices, lines of jobs, a chart. Edge.

Which of them a file is for is said by an option or, where it is left out, by a variable: FLOODPLAIN_POOLS for --pools.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TypeVar

from floodplain.catalogue.prices import Prices
from floodplain.catalogue.prices import read as read_prices
from floodplain.catalogue.refresh_prices import default_prices
from floodplain.pools import PoolDocument, PoolDocumentError
from floodplain.pools import read as read_pools
from floodplain.problem import Problem
from floodplain.sizing.default_pool import default_pool
from floodplain.sizing.images_file import LONGEST_LINE_BYTES
from floodplain.sizing.settings import SizingSettings
from floodplain.sizing.settings_file import read as read_settings

_Read = TypeVar("_Read")
_CHUNK_BYTES = LONGEST_LINE_BYTES + 2
"""A line that is too long is cut, and still is too long."""
_LONGEST_SKIPPED_BYTES = 256 << 20
"""Of a line that is too long so much is read to come to its end; `/dev/zero` has none."""
_LARGEST_BYTES = 64 << 20
"""Of pools, settings or prices; a table of all prices of a region has less than 1 MiB. `/dev/zero` never ends."""


class FileError(Exception):
    """A file that cannot be read, understood or written. The message has a line for each problem."""


@dataclass(frozen=True)
class Ground:
    """What plans are made with, apart from the job."""

    pools: Sequence[PoolDocument]
    settings: SizingSettings
    prices: Prices | None
    example: bool
    """Nobody named a file of pools."""


def read_ground(pools: str | None, settings: str | None, prices: str | None) -> Ground:
    """What the three files hold; without one: the example pool, our own settings, no prices. Raises FileError."""
    sizing = _named("--settings", settings, read_settings)
    documents = _named("--pools", pools, _some_pools)
    table = read_price_table(prices)
    return Ground(documents or (default_pool(),), sizing or SizingSettings(), table, example=documents is None)


def read_price_table(prices: str | None) -> Prices | None:
    """The table of the file, or that which `floodplain catalogue refresh --prices` wrote. Raises FileError."""
    table = _named("--prices", prices, read_prices)
    if table is None and default_prices().exists():
        table = _parsed("--prices", str(default_prices()), read_prices)
    return table


@contextlib.contextmanager
def opened_lines(option: str, path: str) -> Iterator[Iterator[bytes]]:
    """The lines of a file, or of standard input for `-`. Raises FileError, also while they are read."""
    with _opened(option, path) as stream:
        yield _lines(option, path, stream)


def read_whole(option: str, path: str, largest_bytes: int = _LARGEST_BYTES) -> bytes:
    """All bytes of a file, or of standard input for `-`. Raises FileError, also for a file that is larger."""
    with _opened(option, path) as stream:
        try:
            content = stream.read(largest_bytes + 1)
        except (OSError, ValueError) as error:
            raise FileError(_unreadable(option, path, error)) from error
    if len(content) > largest_bytes:
        raise FileError(f"{option}: {shown(path)} is larger than {largest_bytes >> 20} MiB; name another file")
    return content


def write_text(option: str, path: str, text: str) -> None:
    """Write a whole file. Raises FileError."""
    try:
        Path(path).write_text(text, encoding="utf-8", newline="\n")
    except (OSError, ValueError) as error:
        raise FileError(f"{option}: {shown(path)} cannot be written ({_reason(error)}); name another file") from error


def shown(path: str) -> str:
    """A file's name on one line, whatever it is made of."""
    return path if path and path.isprintable() else repr(path)


def _some_pools(content: bytes) -> tuple[PoolDocument, ...]:
    documents = read_pools(content)
    if not documents:
        remedy = "write them with `python -m preview show pools --json`"
        raise PoolDocumentError([Problem("the pool documents", "name no pool", remedy)])
    return documents


def _named(option: str, given: str | None, parse: Callable[[bytes], _Read]) -> _Read | None:
    if given is not None:
        return _parsed(option, given, parse)
    variable = f"FLOODPLAIN_{option.removeprefix('--').upper()}"
    path = os.environ.get(variable)
    return _parsed(variable, path, parse) if path else None


def _parsed(option: str, path: str, parse: Callable[[bytes], _Read]) -> _Read:
    content = read_whole(option, path)
    try:
        return parse(content)
    except ValueError as error:
        problems = getattr(error, "problems", (error,))
        raise FileError("\n".join(f"{option}: {shown(path)}: {problem}" for problem in problems)) from error


@contextlib.contextmanager
def _opened(option: str, path: str) -> Iterator[IO[bytes]]:
    if path == "-":
        if sys.stdin is None:
            raise FileError(f"{option}: standard input is closed; name a file")
        yield sys.stdin.buffer
        return
    try:
        stream = open(path, "rb")  # noqa: PTH123, SIM115 - `with` below; Path would take "" for the folder
    except (OSError, ValueError) as error:
        raise FileError(_unreadable(option, path, error)) from error
    with stream:
        yield stream


def _lines(option: str, path: str, stream: IO[bytes]) -> Iterator[bytes]:
    try:
        while line := stream.readline(_CHUNK_BYTES):
            yield line
            rest, skipped = line, 0
            while len(rest) == _CHUNK_BYTES and not rest.endswith(b"\n"):
                skipped += len(rest)
                if skipped > _LONGEST_SKIPPED_BYTES:
                    most = f"{_LONGEST_SKIPPED_BYTES >> 20} MiB"
                    raise FileError(f"{option}: {shown(path)} has a line of more than {most}; name a file of lines")
                rest = stream.readline(_CHUNK_BYTES)
    except (OSError, ValueError) as error:
        raise FileError(_unreadable(option, path, error)) from error


def _unreadable(option: str, path: str, error: Exception) -> str:
    return f"{option}: {shown(path)} cannot be read ({_reason(error)}); name a file that you may read"


def _reason(error: Exception) -> str:
    return str(getattr(error, "strerror", None) or error)
