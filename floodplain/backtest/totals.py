"""What the plans would have changed over all jobs: verdicts counted, memory reserved before and by us. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from floodplain.backtest.replay import Replayed, Verdict
from floodplain.quantity import GIB

_HOUR = 3600


@dataclass(frozen=True)
class Reserved:
    """Memory requests of jobs, theirs and ours, in one unit. `saved` and `added` are over single jobs."""

    jobs: int = 0
    theirs: float = 0
    ours: float = 0
    saved: float = 0
    """By the jobs that would have reserved less."""
    added: float = 0
    """By the jobs that would have reserved more."""

    def plus(self, theirs: float, ours: float) -> Reserved:
        return Reserved(
            self.jobs + 1,
            self.theirs + theirs,
            self.ours + ours,
            self.saved + max(0, theirs - ours),
            self.added + max(0, ours - theirs),
        )


@dataclass(frozen=True)
class Totals:
    """Over all jobs. The counts add up to `jobs`."""

    jobs: int
    verdicts: dict[Verdict, int]
    memory_gib: Reserved
    """Requests of the jobs that a pool takes and whose request is known."""
    memory_gib_hours: Reserved
    """The same times how long they ran, of those whose duration is known: theirs, since ours is not."""


def totals(replayed: Iterable[Replayed]) -> Totals:
    """The sums over a replay."""
    found = tuple(replayed)
    counted = Counter(one.verdict for one in found)
    memory, hours = Reserved(), Reserved()
    for one in found:
        if one.verdict is Verdict.INFEASIBLE or one.job.request_bytes is None:
            continue
        theirs, ours = one.job.request_bytes / GIB, one.plan.request_bytes / GIB
        memory = memory.plus(theirs, ours)
        if one.job.seconds is not None:
            hours = hours.plus(theirs * one.job.seconds / _HOUR, ours * one.job.seconds / _HOUR)
    return Totals(len(found), {verdict: counted[verdict] for verdict in Verdict}, memory, hours)
