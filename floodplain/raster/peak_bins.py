"""Peaks sorted into bins of a factor each, and the marks between them: what a chart of peaks shows. Pure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from floodplain.byte_amount import mib
from floodplain.quantity import MIB
from floodplain.raster.bill import Bill

_LEAST_BYTES = MIB
"""What is less is in the first bin: on a logarithmic axis it has no place."""


@dataclass(frozen=True)
class Bin:
    """Tasks from `low` on and below `high` bytes."""

    low: float
    high: float
    known: int
    bounds: int
    """Tasks of which only a lower bound is known."""

    @property
    def tasks(self) -> int:
        return self.known + self.bounds


@dataclass(frozen=True)
class Mark:
    """An amount that divides the tasks."""

    name: str
    """Of the style sheet."""
    bytes: int
    text: str


def bins(peaks: Iterable[tuple[int, bool]], per_octave: int) -> tuple[Bin, ...]:
    """Bins from the first to the last that has a task, also the empty ones between. Peaks are (bytes, lower bound)."""
    known: Counter[int] = Counter()
    bounds: Counter[int] = Counter()
    for count, bound in peaks:
        index = math.floor(math.log2(max(count, _LEAST_BYTES)) * per_octave)
        (bounds if bound else known)[index] += 1
    found = known.keys() | bounds.keys()
    if not found:
        return ()
    return tuple(
        Bin(2 ** (index / per_octave), 2 ** ((index + 1) / per_octave), known[index], bounds[index])
        for index in range(min(found), max(found) + 1)
    )


def peaks_of(bill: Bill) -> list[tuple[int, bool]]:
    """Every task's bytes beyond the baseline, and whether they are only a lower bound."""
    return [(task.bytes, task.bound) for task in bill.tasks]


def marks(bill: Bill) -> tuple[Mark, ...]:
    """Threshold, the peak the slots are sized for, slot budget and the big worker's budget, ascending."""
    sized = bill.sized
    found = (
        Mark("threshold", sized.pools.threshold_bytes, f"threshold {mib(sized.pools.threshold_bytes)}"),
        Mark("quantile", sized.peak.bytes, f"{sized.peak.name} {mib(sized.peak.bytes)}"),
        Mark("slot", sized.pools.slot_budget_bytes, f"slot budget {mib(sized.pools.slot_budget_bytes)}"),
        Mark("big", sized.pools.big_budget_bytes, f"big budget {mib(sized.pools.big_budget_bytes)}"),
    )
    return tuple(sorted(found, key=lambda mark: mark.bytes))
