"""A task whose process is gone: whether it was killed for memory, and what then is known of its peak. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from floodplain.raster.record import Method, Outcome, Record


@dataclass(frozen=True)
class Start:
    """A task that has begun."""

    layer: str
    pid: int
    boot: str
    """Of the machine, since it last booted."""
    cgroup: str
    oom_kills: int | None
    """Kills for memory that the cgroup had counted by then."""
    baseline_bytes: int = 0
    task: str | None = None
    slot_limit_bytes: int | None = None
    estimate_bytes: int | None = None
    source_bytes: int | None = None
    concurrent: int = 1


@dataclass(frozen=True)
class Now:
    """What a start is compared with."""

    boot: str
    cgroup: str
    oom_kills: int | None


SIGKILLED = (-9, 137)
"""As of a child of our own, and as a shell or Kubernetes tells it."""


class Unknown(StrEnum):
    """What is made of a task whose process is gone, where nothing says why."""

    KILLED = "killed"
    """For memory: in a cluster the usual reason that a whole container is gone and started again on its machine."""
    DROPPED = "dropped"


def for_memory(start: Start, now: Now, *, status: int | None, unknown: Unknown, every_sigkill: bool) -> bool:
    """Whether a task whose process is gone was killed for memory. Pure.

    `status` as of subprocess and multiprocessing (-9), or as a shell and Kubernetes say it (137), where it is known. A
    process that ended otherwise was not, nor one of a machine that has booted since. Then the kernel's own count
    decides, where it is the same cgroup's: SIGKILL also comes from time-outs and people.
    """
    if status is not None and status not in SIGKILLED:
        return False
    if status is not None and every_sigkill:
        return True
    if start.boot != now.boot:
        return False
    if start.cgroup == now.cgroup and start.oom_kills is not None and now.oom_kills is not None:
        return now.oom_kills > start.oom_kills
    return status is not None or unknown is Unknown.KILLED


def lower_bounds(killed: Sequence[Start]) -> list[Record]:
    """What is known of tasks that were killed for memory: each needed more than its slot has. Pure.

    Of tasks that one cgroup lost at once, as when a whole container is killed, only one must have needed more: the one
    with the largest estimate is taken for it, or with the largest source. The others say how many they were in
    `concurrent`, so that nobody takes them for peaks. Where neither is on record each could be it, and counts. Where
    the cgroup is not known, only the tasks of one process were lost together for certain.
    """
    sets: dict[tuple[str, str], list[Start]] = defaultdict(list)
    for start in killed:
        sets[start.boot, start.cgroup or f"process {start.pid}"].append(start)
    records = []
    for together in sets.values():
        suspect = max(together, key=_size)
        for start in together:
            innocent = _size(suspect) > (0, 0) and start is not suspect
            records.append(_lower_bound(start, max(start.concurrent, len(together)) if innocent else start.concurrent))
    return records


def _size(start: Start) -> tuple[int, int]:
    return start.estimate_bytes or 0, start.source_bytes or 0


def _lower_bound(start: Start, concurrent: int) -> Record:
    """Without a slot limit no more is known than that it held the baseline."""
    peak = max(start.slot_limit_bytes or 0, start.baseline_bytes)
    return Record(
        layer=start.layer,
        peak_bytes=peak,
        marginal_bytes=peak - start.baseline_bytes,
        baseline_bytes=start.baseline_bytes,
        censored=True,
        outcome=Outcome.KILLED,
        method=Method.NONE,
        concurrent=concurrent,
        estimate_bytes=start.estimate_bytes,
        slot_limit_bytes=start.slot_limit_bytes,
        source_bytes=start.source_bytes,
        task=start.task,
    )
