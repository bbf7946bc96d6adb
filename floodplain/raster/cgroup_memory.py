"""The memory of our own cgroup: limit, peak, swap peak, kills for memory. Edge: reads the cgroup file system.

Of cgroup v1 only kills and the limit are read. Its `memory.max_usage_in_bytes` counts page cache (a task that wrote a
file of 300 MB peaked at 608 MB: facts/sizing.md 4) and is one for all readers, so it is not the peak of a task.
v2's `memory.peak` counts page cache too: it is what a limit is held against, the figure of a whole pod or command.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from floodplain.raster.process_memory import PROC

_V1_NO_LIMIT = 1 << 62
"""v1 writes the largest multiple of a page below 2^63 where there is no limit."""


@dataclass(frozen=True)
class Cgroup:
    """The cgroup that accounts for memory: its folder, and that of the mount or namespace which it lies in."""

    folder: Path
    top: Path
    version: int

    def limit_bytes(self) -> int | None:
        """The least memory limit of this cgroup and those above it that we can see; None without any."""
        name = "memory.max" if self.version == 2 else "memory.limit_in_bytes"
        limits = [_number(folder / name) for folder in self.upwards()]
        return min((limit for limit in limits if limit is not None and limit < _V1_NO_LIMIT), default=None)

    def oom_kills(self) -> int | None:
        """Processes of this cgroup (v2: and of those below) that the kernel has killed for memory."""
        name = "memory.events" if self.version == 2 else "memory.oom_control"
        return _keyed(self.folder / name).get("oom_kill")

    def swap_bytes(self) -> int | None:
        """In swap now; v2 only."""
        return _number(self.folder / "memory.swap.current") if self.version == 2 else None

    def pids(self) -> tuple[int, ...]:
        """Of the processes in this cgroup, not of those below it; 0 stands for one outside our namespace."""
        text = text_of(self.folder / "cgroup.procs")
        return tuple(int(word) for word in text.split() if word.isdigit())

    def upwards(self) -> tuple[Path, ...]:
        """This folder and those above it, up to `top`."""
        folders = [self.folder]
        while folders[-1] != self.top and folders[-1] != folders[-1].parent:
            folders.append(folders[-1].parent)
        return tuple(folders)


def own_cgroup(proc: Path = PROC) -> Cgroup | None:
    """Ours, or None where no cgroup accounts for memory or it lies outside what is mounted."""
    return locate(text_of(proc / "self" / "cgroup"), text_of(proc / "self" / "mountinfo"))


def locate(membership: str, mounts: str) -> Cgroup | None:
    """The memory cgroup by /proc/self/cgroup and /proc/self/mountinfo (proc(5), cgroups(7)). Pure.

    A v1 memory controller wins: then v2 is mounted beside it for other purposes.
    """
    lines = [line.split(":", 2) for line in membership.splitlines() if line.count(":") >= 2]
    for _, controllers, path in lines:
        if "memory" in controllers.split(","):
            return _mounted(path, mounts, "cgroup", 1)
    for number, controllers, path in lines:
        if number == "0" and not controllers:
            return _mounted(path, mounts, "cgroup2", 2)
    return None


def _mounted(path: str, mounts: str, kind: str, version: int) -> Cgroup | None:
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        fields, types = before.split(), after.split()
        if len(fields) < 5 or not types or types[0] != kind:
            continue
        if version == 1 and "memory" not in types[-1].split(","):
            continue
        root, point = PurePosixPath(_plain(fields[3])), Path(_plain(fields[4]))
        inside = PurePosixPath(path)
        if ".." in inside.parts or not inside.is_relative_to(root):
            continue
        return Cgroup(point / inside.relative_to(root), point, version)
    return None


def _plain(field: str) -> str:
    """A field of mountinfo, where space, tab, line end and backslash are octal."""
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), field)


class PeakFile:
    """`memory.peak` or `memory.swap.peak` of a cgroup v2. Close it after use; `with` does.

    Since Linux 6.12 a write sets the peak back for those who read by the same file descriptor, and for nobody else.
    Before, and where the cgroup file system is mounted read-only (as in most containers), it is the peak of the
    cgroup's life: `is_reset` tells which.
    """

    def __init__(self, path: Path) -> None:
        """Raises OSError where there is no such file: before Linux 5.19 (swap: 6.5), at the root cgroup, in v1."""
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except OSError:
            self._file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self.is_reset = False

    def reset(self) -> bool:
        """From now on the peak since now; False where that cannot be done."""
        try:
            os.pwrite(self._file, b"reset\n", 0)
        except OSError:
            return self.is_reset
        self.is_reset = True
        return True

    def peak_bytes(self) -> int:
        return int(os.pread(self._file, 64, 0))

    def close(self) -> None:
        os.close(self._file)

    def __enter__(self) -> PeakFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def text_of(path: Path) -> str:
    """What a file of the kernel says; nothing where it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _number(path: Path) -> int | None:
    text = text_of(path).strip()
    return int(text) if text.isdigit() else None


def _keyed(path: Path) -> dict[str, int]:
    """Of a file with a name and a number a line."""
    pairs = (line.split() for line in text_of(path).splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdigit()}
