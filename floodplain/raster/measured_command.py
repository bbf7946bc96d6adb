"""Any command, with the peak memory of all its processes. Edge: starts it, reads /proc and cgroups, passes signals on.

What follows from what was seen: `command_record`.
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
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from floodplain.raster.cgroup_memory import own_cgroup
from floodplain.raster.command_cgroup import CommandCgroup, cgroup_for_command
from floodplain.raster.command_record import CgroupPeaks, Seen, record_of
from floodplain.raster.process_memory import PROC, rusage_unit
from floodplain.raster.process_tree import descendants, memory_of
from floodplain.raster.record import Record

LAUNCHER = Path(__file__).with_name("command_launcher.py")
SHORTEST_SECONDS, MOST_OF_TIME = 0.02, 0.05
"""Between samples; and the share of a CPU that they may take, since shares of large processes are slow to read."""
NOT_FOUND, NOT_EXECUTABLE = 127, 126
"""Exit statuses of shells and env."""
_PASSED = ("SIGINT", "SIGQUIT", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGWINCH", "SIGCONT")
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
    limit = limit_bytes or (own.limit_bytes() if own else None)
    group = cgroup_for_command(own)
    # A kill is counted by the cgroup of who was killed and by those above it.
    counting = group.group if group else own
    kills = counting.oom_kills() if counting else None
    began = time.perf_counter()
    try:
        seen = _run(command, group)
        seen.seconds = time.perf_counter() - began
        if seen.refused is not None or seen.status is None:
            return _not_started(command, seen)
        counted = counting.oom_kills() if counting else None
        seen.oom_kills = None if kills is None or counted is None else counted - kills
        peaks = group.peaks() if group else None
        seen.cgroup = CgroupPeaks(*peaks, group.baseline_bytes) if group and peaks else None
    finally:
        if group:
            group.close()
    record, notes = record_of(seen, layer=layer, task=task, limit_bytes=limit, every_sigkill=every_sigkill)
    return MeasuredCommand(_shell_status(seen.status), record, seen.processes, notes)


def _run(command: Sequence[str], group: CommandCgroup | None) -> Seen:
    seen = Seen(blind=not (PROC / "self").exists())
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


def _watch(report: int, seen: Seen, group: CommandCgroup | None) -> None:
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


def _heard(words: list[bytes], seen: Seen) -> None:
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


def _sample(child: int, seen: Seen, group: CommandCgroup | None) -> None:
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


def _not_started(command: Sequence[str], seen: Seen) -> MeasuredCommand:
    number = seen.refused or 0
    missing = isinstance(OSError(number, ""), FileNotFoundError | NotADirectoryError)
    note = f"{command[0] or repr('')}: cannot be run ({os.strerror(number) if number else 'its launcher ended'})"
    if number:
        note += "; check its name and PATH" if missing else "; name a program that you may execute"
    return MeasuredCommand(NOT_FOUND if missing else NOT_EXECUTABLE, None, 0, (note,))


def _shell_status(status: int) -> int:
    return 128 - status if status < 0 else status


def _send(number: int, seen: Seen) -> None:
    if seen.child is None:
        seen.pending.append(number)
    elif seen.status is None:
        os.kill(seen.child, number)


@contextmanager
def _passing_signals(seen: Seen) -> Iterator[None]:
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
