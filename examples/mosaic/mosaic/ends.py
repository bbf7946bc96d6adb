"""How each try of each tile ended: a file with one line a try (ends.jsonl), which whoever ran the tile appends to.

Peaks are in another file, peaks.jsonl: it holds nothing but records of floodplain.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path

from pydantic import BaseModel, ConfigDict


class How(StrEnum):
    DONE = "done"
    FAILED = "failed"
    """By an error of its own: another try may help, such as with a source that could not be reached."""
    TIMED_OUT = "timed out"
    """It was killed when its time was over: another try may help."""
    OUT_OF_MEMORY = "out of memory"
    """It was killed when it held more than its slot: another try in the same slot would end alike."""


class End(BaseModel):
    """One try of one tile. `began` and `ended` are seconds since the epoch."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    run: str
    """Of the whole mosaic: one folder may see several."""
    tile: str
    pool: str
    how: How
    words: str
    began: float
    ended: float
    pid: int
    """Of the tile's own process."""
    parents: tuple[int, ...]
    """Its parent, the parent of that, and so on: the worker is among them."""
    limit_bytes: int
    peak_bytes: int


def append_end(path: Path, end: End) -> None:
    """One write of O_APPEND: lines of several processes stay whole."""
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        os.write(file, end.model_dump_json().encode() + b"\n")
    finally:
        os.close(file)


def read_ends(path: Path, run: str) -> list[End]:
    """Those of one run, in the order in which they were written."""
    if not path.exists():
        return []
    ends = (End.model_validate_json(line) for line in path.read_text(encoding="utf-8").splitlines())
    return [end for end in ends if end.run == run]


def last_of_each(ends: Iterable[End]) -> dict[str, End]:
    """What became of each tile."""
    return {end.tile: end for end in ends}
