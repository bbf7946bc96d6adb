"""Whether more tasks at once got more done, or only held more memory: throughput and peak by level of concurrency.

Pure. From records of one layer that say how many tasks shared the process and how long each took.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean, median

from floodplain.byte_amount import mib
from floodplain.raster.record import Outcome, Record

LEAST_RECORDS = 5
"""Of a level, to compare it."""
LEAST_GAIN = 0.1
"""A tenth more tasks a second is a gain, a tenth more memory a rise."""


@dataclass(frozen=True)
class Level:
    """Tasks that ran with so many at once in one process."""

    concurrent: int
    records: int
    seconds: float
    """Mean of one task."""
    peak_bytes: int
    """Median of the set's peak beyond the baseline."""

    @property
    def per_second(self) -> float:
        """Tasks a second of one process: so many at once, each for that long (Little's law)."""
        return self.concurrent / self.seconds


def levels(records: Iterable[Record]) -> tuple[Level, ...]:
    """Levels with five finished and timed tasks or more, ascending."""
    by_level: dict[int, list[Record]] = {}
    for record in records:
        if record.outcome is Outcome.DONE and record.seconds:
            by_level.setdefault(record.concurrent, []).append(record)
    return tuple(
        Level(
            concurrent=count,
            records=len(found),
            seconds=fmean(record.seconds for record in found if record.seconds),
            peak_bytes=round(median(record.marginal_bytes for record in found)),
        )
        for count, found in sorted(by_level.items())
        if len(found) >= LEAST_RECORDS
    )


def warnings(found: Sequence[Level]) -> tuple[str, ...]:
    """A sentence for each step to more tasks at once that raised memory by a tenth and throughput by less."""
    said = []
    for fewer, more in pairwise(found):
        gain = more.per_second / fewer.per_second - 1
        rise = more.peak_bytes / fewer.peak_bytes - 1 if fewer.peak_bytes else 0.0
        if gain < LEAST_GAIN <= rise:
            said.append(
                f"{more.concurrent} tasks at once in a process hold {rise * 100:+.0f} % memory "
                f"({mib(fewer.peak_bytes)} to "
                f"{mib(more.peak_bytes)}) and do {gain * 100:+.0f} % tasks a second ({fewer.per_second:.3g} to "
                f"{more.per_second:.3g}) compared with {fewer.concurrent}: stay at {fewer.concurrent}"
            )
    return tuple(said)
