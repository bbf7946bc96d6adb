"""What follows from what was seen of a command: whole records, and what the user is told."""

from __future__ import annotations

from typing import Any

import pytest

from floodplain.quantity import MIB
from floodplain.raster.command_record import CgroupPeaks, Seen, record_of
from floodplain.raster.record import Method, Outcome

LIMIT = 500 * MIB
CGROUP = {"memory_bytes": 300 * MIB, "swap_bytes": 0, "baseline_bytes": 20 * MIB}
NOT_BY_KERNEL = "SIGKILL, but the kernel counted no kill for memory: not taken for one (--every-sigkill)"
AT_LIMIT = "the cgroup stood at its limit: by need or by page cache, which counts too"
NO_LIMIT = "killed for memory, and no limit is known: what was seen is the lower bound (--limit)"
WENT_ON = "one of its processes was killed for memory, and it went on: the peak is a lower bound"
TOO_SHORT = "it ended before it could be looked at, and held this much at most"


def told(limit: int | None = LIMIT, every: bool = False, **seen: Any) -> tuple[Any, ...]:
    """Peak in MiB, method, outcome, censored, notes."""
    known = Seen(**{"status": 0, "seconds": 1.0, "mark": 100 * MIB, "resident": 90 * MIB, "processes": 1, **seen})
    record, notes = record_of(known, layer="ortho", task="42", limit_bytes=limit, every_sigkill=every)
    assert (record.layer, record.task, record.slot_limit_bytes, record.seconds) == ("ortho", "42", limit, 1.0)
    assert record.marginal_bytes == record.peak_bytes - record.baseline_bytes
    return record.peak_bytes // MIB, record.method, record.outcome, record.censored, notes


DONE, FAILED, KILLED = Outcome.DONE, Outcome.FAILED, Outcome.KILLED


@pytest.mark.parametrize(
    ("seen", "answer"),
    [
        ({}, (100, Method.VMHWM, DONE, False, ())),
        ({"status": 3}, (100, Method.VMHWM, FAILED, False, ())),
        # wait4 knows what happened after the last look, if it is not the launcher's mark.
        ({"maxrss": 120 * MIB, "floor": 6 * MIB}, (120, Method.VMHWM, DONE, False, ())),
        ({"mark": 2 * MIB, "resident": 2 * MIB, "maxrss": 7 * MIB, "floor": 6 * MIB},
         (2, Method.VMHWM, DONE, False, ())),
        ({"mark": 0, "resident": 0, "processes": 0, "maxrss": 7 * MIB, "floor": 6 * MIB},
         (7, Method.VMHWM, DONE, False, (TOO_SHORT,))),
        # Off Linux: a child may carry its parent's mark there too.
        ({"mark": 0, "resident": 0, "processes": 0, "maxrss": 80 * MIB, "blind": True},
         (80, Method.SAMPLES, DONE, False, ("without /proc only the largest of its processes is known",))),
        ({"processes": 4, "resident": 350 * MIB}, (350, Method.SAMPLES, DONE, False, ())),
        ({"processes": 4}, (100, Method.SAMPLES, DONE, False, ())),
        ({"swap": 30 * MIB, "together": 125 * MIB},
         (125, Method.VMHWM, DONE, True, ("30 MiB lay in swap: the peak is a lower bound",))),
        ({"cgroup": CgroupPeaks(**CGROUP)}, (300, Method.CGROUP, DONE, False, ())),
        ({"cgroup": CgroupPeaks(**{**CGROUP, "memory_bytes": LIMIT})}, (500, Method.CGROUP, DONE, True, (AT_LIMIT,))),
        ({"cgroup": CgroupPeaks(**{**CGROUP, "memory_bytes": LIMIT, "swap_bytes": 30 * MIB}), "together": 520 * MIB},
         (520, Method.CGROUP, DONE, True, ("30 MiB lay in swap: the peak is a lower bound",))),
    ],
)  # fmt: skip
def test_the_best_figure_there_is(seen: dict[str, Any], answer: tuple[Any, ...]) -> None:
    assert told(**seen) == answer


@pytest.mark.parametrize(
    ("seen", "answer"),
    [
        ({"status": -9, "oom_kills": 1}, (500, KILLED, True, ())),
        ({"status": 137, "oom_kills": 1}, (500, KILLED, True, ())),
        # A command that reports its child's death in its own way.
        ({"status": 1, "oom_kills": 1}, (500, KILLED, True, ())),
        # One that lost a child to memory and got over it, as ODM does: done, but it did not fit.
        ({"status": 0, "oom_kills": 1}, (500, DONE, True, (WENT_ON,))),
        # Nobody counts.
        ({"status": -9, "oom_kills": None}, (500, KILLED, True, ())),
        ({"status": 137, "oom_kills": 0}, (100, FAILED, False, (NOT_BY_KERNEL,))),
        ({"status": 137, "oom_kills": 0, "every": True}, (500, KILLED, True, ())),
        ({"status": -15, "oom_kills": None, "every": True}, (100, FAILED, False, ())),
        ({"status": -9, "oom_kills": 1, "limit": None}, (100, KILLED, True, (NO_LIMIT,))),
        # More was seen than the limit that was given.
        ({"status": -9, "oom_kills": 1, "limit": 50 * MIB}, (100, KILLED, True, ())),
    ],
)
def test_why_it_ended(seen: dict[str, Any], answer: tuple[Any, ...]) -> None:
    peak, _, *rest = told(**seen)
    assert (peak, *rest) == answer
