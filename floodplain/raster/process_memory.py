"""What one process holds in memory, what it held at most, and how that mark is set back. Edge: reads /proc, asks ps.

Units: Linux writes KiB into /proc and into `ru_maxrss`, macOS bytes into `ru_maxrss`; everything here is bytes.
For the memory of a cgroup see `cgroup_memory`.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from floodplain.quantity import KIB

PROC = Path("/proc")
_FIELDS = re.compile(r"^(VmHWM|VmRSS|VmSwap):\s*(\d+) kB$", re.M)
# What /proc/PID/clear_refs takes to set the high-water mark back to what is resident (proc(5), Linux 4.0 and later).
_RESET_PEAK = b"5"
_STATUS_BYTES = 16 << 10
"""The file has 1.5 KiB, and more where a machine has thousands of cores."""


@dataclass(frozen=True)
class ProcessMemory:
    """Of one process, bytes."""

    resident_bytes: int
    """VmRSS: pages in memory, of files and shared ones too."""
    peak_bytes: int
    """VmHWM: the most that `resident_bytes` has been since the process was started by exec, or since a reset."""
    swap_bytes: int
    """VmSwap: of its own pages those that lie in swap; shared memory in swap is not counted by the kernel."""

    @property
    def held_bytes(self) -> int:
        """Resident and in swap."""
        return self.resident_bytes + self.swap_bytes


def parse_status(text: str) -> ProcessMemory | None:
    """What /proc/PID/status says; None of a kernel thread and of a process that has ended, which have no memory."""
    found = {name: int(kib) * KIB for name, kib in _FIELDS.findall(text)}
    if "VmHWM" not in found or "VmRSS" not in found:
        return None
    return ProcessMemory(found["VmRSS"], max(found["VmHWM"], found["VmRSS"]), found.get("VmSwap", 0))


def read_memory(pid: int | None = None) -> ProcessMemory | None:
    """Of a process, of ourselves by default. None where there is no /proc, or no such process any more."""
    try:
        # Of every task, so without the layers of a text file: half of its cost.
        file = os.open(f"{PROC}/{'self' if pid is None else pid}/status", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        text = os.read(file, _STATUS_BYTES)
    except OSError:
        return None
    finally:
        os.close(file)
    return parse_status(text.decode(errors="replace"))


def reset_peak() -> bool:
    """Set our own high-water mark back to what is resident now; False where that cannot be done.

    It cannot without CONFIG_PROC_PAGE_MONITOR, off Linux, in gVisor, and in a process whose /proc is root's: one that
    changed its user or was made undumpable. The mark in `ru_maxrss` is set back with it.
    """
    try:
        file = os.open(f"{PROC}/self/clear_refs", os.O_WRONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        os.write(file, _RESET_PEAK)
    except OSError:
        return False
    finally:
        os.close(file)
    return True


def lifetime_peak_bytes() -> int | None:
    """Of this process since it began, by getrusage; None where there is no getrusage.

    Only good for "it has grown beyond what it ever was": after minus before is 0 for every task that sets no record.
    A child has the mark of its parent at the fork, also after exec.
    """
    try:
        import resource
    except ImportError:  # Windows
        return None
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * rusage_unit(sys.platform)


def rusage_unit(platform: str) -> int:
    """Bytes of one unit of `ru_maxrss` where `sys.platform` is this."""
    return 1 if platform == "darwin" else KIB


def resident_by_ps(pid: int | None = None) -> int | None:
    """Resident bytes as ps says it, for systems without /proc; None where there is no ps. Takes milliseconds."""
    with os.popen(f"ps -o rss= -p {os.getpid() if pid is None else pid} 2>/dev/null") as answer:
        text = answer.read().strip()
    return int(text) * KIB if text.isdigit() else None


def swap_is_possible() -> bool:
    """Whether this machine has swap at all; True where it is not known."""
    try:
        text = (PROC / "meminfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return True
    found = re.search(r"^SwapTotal:\s*(\d+) kB$", text, re.M)
    return found is None or int(found[1]) > 0


def give_back() -> bool:
    """Have the allocator return what it keeps for later to the system: glibc's malloc_trim. False without it.

    Else the resident memory before a task holds what earlier tasks freed. Takes microseconds to milliseconds.
    """
    trim = _malloc_trim()
    if trim is None:
        return False
    trim(0)
    return True


@cache
def _malloc_trim() -> Callable[[int], int] | None:
    import ctypes

    with contextlib.suppress(OSError, AttributeError, TypeError):
        trim: Callable[[int], int] = ctypes.CDLL(None).malloc_trim
        return trim
    return None
