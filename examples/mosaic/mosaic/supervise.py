"""Runs one tile in a process of its own, and ends it when its time is over or when it holds more than its slot.

In a cluster the kernel keeps a container to its limit; slots of one worker share that limit, so here each is watched.
VmHWM is the most that a process ever held, so a peak between two looks is seen too.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from floodplain.quantity import MIB
from floodplain.raster.process_memory import read_memory
from mosaic.ends import How

LOOK_SECONDS = 0.01


@dataclass(frozen=True)
class Ended:
    """A process that has ended. `words` say why, for a person."""

    how: How
    words: str
    pid: int
    began: float
    ended: float
    peak_bytes: int
    """As it was seen from outside."""
    output: str


def supervise(command: Sequence[str], *, timeout_seconds: float, limit_bytes: int) -> Ended:
    """Run the command to its end, or to ours. Never raises for what the command does."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        began = time.time()
        deadline = time.monotonic() + timeout_seconds
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=errors, start_new_session=True
        )
        peak, verdict = 0, None
        try:
            while process.poll() is None:
                memory = read_memory(process.pid)
                peak = max(peak, memory.peak_bytes if memory else 0)
                verdict = _verdict(peak, limit_bytes, time.monotonic() > deadline, timeout_seconds)
                if verdict:
                    break
                time.sleep(LOOK_SECONDS)
        finally:
            _kill(process)
        how, words = verdict or _of_status(process.returncode, _text(errors))
        return Ended(how, words, process.pid, began, time.time(), peak, _text(output))


def _verdict(peak: int, limit: int, late: bool, timeout_seconds: float) -> tuple[How, str] | None:
    if peak > limit:
        return How.OUT_OF_MEMORY, f"held more than its slot of {limit // MIB} MiB and was killed"
    if late:
        return How.TIMED_OUT, f"was not done after {timeout_seconds:g} s and was killed"
    return None


def _of_status(status: int, errors: str) -> tuple[How, str]:
    if status == 0:
        return How.DONE, "done"
    if status in (-signal.SIGKILL, 128 + signal.SIGKILL):
        return How.OUT_OF_MEMORY, "was killed by the kernel, which is for memory"
    lines = [line for line in errors.splitlines() if line.strip()]
    return How.FAILED, lines[-1] if lines else f"ended with status {status}"


def _kill(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")


def parents(pid: int) -> tuple[int, ...]:
    """The ids of a process's parent, of the parent of that, and so on; none where there is no /proc."""
    found: list[int] = []
    while pid > 1:
        try:
            stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            break
        # The name of the program, which comes first, may hold spaces and brackets.
        pid = int(stat.rpartition(")")[2].split()[1])
        found.append(pid)
    return tuple(found)


def tile_command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "mosaic.build_tile", *arguments]
