"""What follows from what was seen of a command: its peak, how far that can be trusted, and why it ended. Pure.

The best figure there is: `memory.peak` of a cgroup that the command has to itself; else, of one process alone, its
high-water mark; of several, samples of their sum, and never less than the mark of the largest.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from floodplain.quantity import MIB
from floodplain.raster.lost_task import SIGKILLED
from floodplain.raster.record import Method, Outcome, Record

FLOOR_SLACK_BYTES = 2 * MIB
"""What the launcher's child may touch between the reading of its mark and exec."""


@dataclass(frozen=True)
class CgroupPeaks:
    """Of the cgroup that the command had to itself."""

    memory_bytes: int
    swap_bytes: int
    baseline_bytes: int


@dataclass
class Seen:
    """What was seen while it ran. Sizes in bytes."""

    child: int | None = None
    refused: int | None = None
    """errno of exec."""
    status: int | None = None
    """Less than 0: the signal that ended it."""
    seconds: float = 0
    floor: int = 0
    """The mark that its process carried before it was the command."""
    maxrss: int = 0
    """Of wait4: the largest mark of it and its descendants that were waited for, and no less than `floor`."""
    resident: int = 0
    swap: int = 0
    together: int = 0
    """Of all processes at one time, by samples: resident, in swap, both."""
    mark: int = 0
    """The largest mark of a process that was seen in samples."""
    processes: int = 0
    blind: bool = False
    """There is no /proc, so that only `maxrss` is known."""
    oom_kills: int | None = None
    """That the kernel counted in its cgroup meanwhile."""
    cgroup: CgroupPeaks | None = None
    pending: list[int] = field(default_factory=list)
    """Signals that came before there was a command to pass them to."""


def record_of(
    seen: Seen, *, layer: str, task: str | None, limit_bytes: int | None, every_sigkill: bool
) -> tuple[Record, tuple[str, ...]]:
    """The record of a command that has ended, and what a user should know."""
    notes: list[str] = []
    peak, method, swap, baseline = _peak(seen, notes)
    killed = _for_memory(seen, notes, every_sigkill=every_sigkill)
    censored = swap > 0 or killed or bool(seen.oom_kills)
    if method is Method.CGROUP and limit_bytes and peak >= limit_bytes and not censored:
        censored = True
        notes.append("the cgroup stood at its limit: by need or by page cache, which counts too")
    if killed:
        if limit_bytes is None:
            notes.append("killed for memory, and no limit is known: what was seen is the lower bound (--limit)")
        peak = max(peak, limit_bytes or 0)
    elif seen.oom_kills:
        notes.append("one of its processes was killed for memory, and it went on: the peak is a lower bound")
        peak = max(peak, limit_bytes or 0)
    if swap:
        notes.append(f"{swap // MIB} MiB lay in swap: the peak is a lower bound")
    record = Record(
        layer=layer,
        peak_bytes=peak,
        marginal_bytes=max(0, peak - baseline),
        baseline_bytes=baseline,
        swap_peak_bytes=swap,
        censored=censored,
        outcome=Outcome.KILLED if killed else Outcome.DONE if seen.status == 0 else Outcome.FAILED,
        method=method,
        slot_limit_bytes=limit_bytes,
        seconds=round(seen.seconds, 6),
        task=task,
    )
    return record, tuple(notes)


def _for_memory(seen: Seen, notes: list[str], *, every_sigkill: bool) -> bool:
    """The kernel's count decides where there is one, also where the command itself survived its child and failed."""
    if seen.oom_kills and seen.status != 0:
        return True
    if seen.status not in SIGKILLED:
        return False
    if every_sigkill or seen.oom_kills is None:
        return True
    notes.append("SIGKILL, but the kernel counted no kill for memory: not taken for one (--every-sigkill)")
    return False


def _peak(seen: Seen, notes: list[str]) -> tuple[int, Method, int, int]:
    """Peak, how it was read, peak of swap, what was there before."""
    if seen.cgroup:
        swap = max(seen.cgroup.swap_bytes, seen.swap)
        # Both were held at one time, where samples saw so; memory.peak alone stops at the limit.
        peak = max(seen.cgroup.memory_bytes, seen.together if swap else 0)
        return peak, Method.CGROUP, swap, seen.cgroup.baseline_bytes
    # At the floor or below, the mark is the launcher's, which also is the most that samples can have missed.
    largest = max(seen.mark, seen.maxrss if seen.maxrss > seen.floor + FLOOR_SLACK_BYTES else 0)
    if not largest:
        largest = seen.maxrss
        notes.append("it ended before it could be looked at, and held this much at most")
    if seen.blind:
        notes.append("without /proc only the largest of its processes is known")
    method = Method.SAMPLES if seen.blind or seen.processes > 1 else Method.VMHWM
    return max(largest, seen.resident, seen.together), method, seen.swap, 0
