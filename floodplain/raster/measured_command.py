"""Any command, with the peak memory of all its processes. Edge: starts it, reads /proc and cgroups, passes signals on.

The best figure there is: `memory.peak` of a cgroup that the command has to itself; else, of one process alone, its
high-water mark; of several, samples of their sum, and never less than the mark of the largest.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from floodplain.quantity import MIB
from floodplain.raster.cgroup_memory import own_cgroup
from floodplain.raster.command_cgroup import CommandCgroup, cgroup_for_command
from floodplain.raster.process_memory import rusage_unit
from floodplain.raster.process_tree import descendants, memory_of
from floodplain.raster.record import Method, Outcome, Record

LAUNCHER = Path(__file__).with_name("command_launcher.py")
SHORTEST_SECONDS, MOST_OF_TIME = 0.02, 0.05
"""Between samples; and the share of a CPU that they may take, since shares of large processes are slow to read."""
NOT_FOUND, NOT_EXECUTABLE = 127, 126
"""Exit statuses of shells and env."""
_PASSED = ("SIGINT", "SIGQUIT", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGWINCH", "SIGCONT")
_FLOOR_SLACK_BYTES = 2 * MIB
"""What the launcher's child may touch between the reading of its mark and exec."""
_BY_TERMINAL = ("SIGINT", "SIGQUIT", "SIGWINCH")


@dataclass(frozen=True)
class MeasuredCommand:
    """How it ended, and what it held."""

    exit_status: int
    """As a shell has it: 128 and the number of the signal that ended it."""
    record: Record | None
    """None where the command could not be started."""
    processes: int = 0
    """The most that were seen at one time."""
    notes: tuple[str, ...] = ()


@dataclass
class _Seen:
    """What was seen while it ran. Bytes."""

    floor: int = 0
    child: int | None = None
    refused: int | None = None
    status: int | None = None
    maxrss: int = 0
    resident: int = 0
    swap: int = 0
    together: int = 0
    mark: int = 0
    processes: int = 0
    pending: list[int] = field(default_factory=list)
    """Signals that came before there was a command to pass them to."""
    notes: list[str] = field(default_factory=list)


def measure_command(
    command: Sequence[str],
    *,
    layer: str = "command",
    limit_bytes: int | None = None,
    task: str | None = None,
    every_sigkill: bool = False,
) -> MeasuredCommand:
    """Run it with our own standard streams. `limit_bytes`: what it may use, if it is not the limit of our cgroup.

    `every_sigkill` takes each end by SIGKILL for one for memory, also where the kernel counted none in our cgroup.
    """
    own = own_cgroup()
    kills = own.oom_kills() if own else None
    limit = limit_bytes or (own.limit_bytes() if own else None)
    group = cgroup_for_command(own)
    began = time.perf_counter()
    try:
        seen = _run(command, group)
        seconds = time.perf_counter() - began
        if seen.refused is not None or seen.status is None:
            return _not_started(command, seen)
        counted = own.oom_kills() if own else None
        for_memory = _for_memory(seen, kills, counted, every_sigkill)
        record = _record(seen, group, layer, task, limit, seconds, for_memory)
    finally:
        if group:
            group.close()
    return MeasuredCommand(_shell_status(seen.status), record, seen.processes, tuple(seen.notes))


def _run(command: Sequence[str], group: CommandCgroup | None) -> _Seen:
    seen = _Seen()
    reading, writing = os.pipe()
    try:
        with _passing_signals(seen):
            os.set_inheritable(writing, True)
            arguments = [
                sys.executable,
                "-I",
                "-S",
                str(LAUNCHER),
                str(writing),
                group.procs if group else "",
                *command,
            ]
            # Files that somebody left open for the command stay open, as with env and time.
            launcher = subprocess.Popen(arguments, close_fds=False)
            os.close(writing)
            writing = -1
            _watch(reading, seen, group)
            launcher.wait()
    finally:
        os.close(reading)
        if writing >= 0:
            os.close(writing)
    return seen


def _watch(report: int, seen: _Seen, group: CommandCgroup | None) -> None:
    """Sample until the launcher closes its report."""
    rest, pause = b"", SHORTEST_SECONDS / 4
    while True:
        ready, _, _ = select.select([report], [], [], pause if seen.child else None)
        if ready:
            chunk = os.read(report, 4096)
            if not chunk:
                return
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                _heard(line.split(), seen)
        if seen.child and seen.status is None:
            before = time.process_time()
            _sample(seen.child, seen, group)
            pause = max(SHORTEST_SECONDS, (time.process_time() - before) / MOST_OF_TIME)


def _heard(words: list[bytes], seen: _Seen) -> None:
    values = [int(word) for word in words[1:]]
    match words[0]:
        case b"floor":
            seen.floor = values[0]
        case b"pid":
            seen.child = values[0]
            for number in seen.pending:
                _send(number, seen)
        case b"refused":
            seen.refused = values[0]
        case b"end":
            seen.status = os.waitstatus_to_exitcode(values[0])
            seen.maxrss = values[1] * rusage_unit(sys.platform)


def _sample(child: int, seen: _Seen, group: CommandCgroup | None) -> None:
    pids = descendants(child)
    if group and group.made:
        pids = list({*pids, *(pid for pid in group.group.pids() if pid)})
    memory = memory_of(pids)
    if memory:
        seen.resident = max(seen.resident, memory.resident_bytes)
        seen.swap = max(seen.swap, memory.swap_bytes)
        seen.together = max(seen.together, memory.resident_bytes + memory.swap_bytes)
        seen.mark = max(seen.mark, memory.largest_peak_bytes)
        seen.processes = max(seen.processes, memory.processes)


def _for_memory(seen: _Seen, before: int | None, after: int | None, every_sigkill: bool) -> bool:
    if before is not None and after is not None and after > before and seen.status != 0:
        return True
    if seen.status not in (-signal.SIGKILL, 128 + signal.SIGKILL):
        return False
    if every_sigkill or before is None or after is None:
        return True
    seen.notes.append("SIGKILL, but the kernel counted no kill for memory: not taken for one (--every-sigkill)")
    return False


def _record(
    seen: _Seen,
    group: CommandCgroup | None,
    layer: str,
    task: str | None,
    limit: int | None,
    seconds: float,
    for_memory: bool,
) -> Record:
    peak, method, swap, baseline = _peak(seen, group)
    censored = swap > 0 or for_memory
    if method is Method.CGROUP and limit and peak >= limit and not censored:
        censored = True
        seen.notes.append("the cgroup stood at its limit: by need or by page cache, which counts too")
    if for_memory:
        if limit is None:
            seen.notes.append("killed for memory, and no limit is known: what was seen is the lower bound (--limit)")
        peak = max(peak, limit or 0)
    if swap:
        seen.notes.append(f"{swap // MIB} MiB lay in swap: the peak is a lower bound")
    return Record(
        layer=layer,
        peak_bytes=peak,
        marginal_bytes=max(0, peak - baseline),
        baseline_bytes=baseline,
        swap_peak_bytes=swap,
        censored=censored,
        outcome=Outcome.KILLED if for_memory else Outcome.DONE if seen.status == 0 else Outcome.FAILED,
        method=method,
        slot_limit_bytes=limit,
        seconds=round(seconds, 6),
        task=task,
    )


def _peak(seen: _Seen, group: CommandCgroup | None) -> tuple[int, Method, int, int]:
    """Peak, how it was read, peak of swap, what was there before."""
    peaks = group.peaks() if group else None
    if group and peaks:
        return peaks[0], Method.CGROUP, max(peaks[1], seen.swap), group.baseline_bytes
    # At the floor or below, the mark is the launcher's, which also is the most that samples can have missed.
    largest = max(seen.mark, seen.maxrss if seen.maxrss > seen.floor + _FLOOR_SLACK_BYTES else 0)
    if not largest:
        largest = seen.maxrss
        seen.notes.append("it ended before it could be looked at, and held this much at most")
    method = Method.VMHWM if seen.processes <= 1 else Method.SAMPLES
    return max(largest, seen.resident, seen.together), method, seen.swap, 0


def _not_started(command: Sequence[str], seen: _Seen) -> MeasuredCommand:
    number = seen.refused or 0
    missing = isinstance(OSError(number, ""), FileNotFoundError | NotADirectoryError)
    note = f"{command[0]}: cannot be run ({os.strerror(number) if number else 'its launcher ended'})"
    return MeasuredCommand(NOT_FOUND if missing else NOT_EXECUTABLE, None, 0, (note,))


def _shell_status(status: int) -> int:
    return 128 - status if status < 0 else status


def _send(number: int, seen: _Seen) -> None:
    if seen.child is None:
        seen.pending.append(number)
    elif seen.status is None:
        os.kill(seen.child, number)


@contextmanager
def _passing_signals(seen: _Seen) -> Iterator[None]:
    """Signals that are meant for the command reach it; those of the terminal it has already."""

    def passed(number: int, _: FrameType | None) -> None:
        if signal.Signals(number).name not in _BY_TERMINAL:
            _send(number, seen)

    former = {}
    for name in _PASSED:
        number = getattr(signal, name)
        if signal.getsignal(number) != signal.SIG_IGN:
            former[number] = signal.signal(number, passed)
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
