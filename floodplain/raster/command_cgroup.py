"""The cgroup that a measured command runs in, where it has one to itself. Edge: makes and removes a cgroup v2.

Three ways, the best first: one made for it; our own, if nobody else is in it (a container whose first process we are);
none. Nothing is made where a command would thereby leave a limit that it is under now.
"""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import dataclass
from pathlib import Path

from floodplain.raster.cgroup_memory import Cgroup, PeakFile, text_of

_REMOVING_SECONDS = 2.0


@dataclass
class CommandCgroup:
    """Where the command runs, and how its peaks are read. `close` it."""

    group: Cgroup
    made: bool
    memory: PeakFile
    swap: PeakFile | None
    baseline_bytes: int
    """In the cgroup before the command: this program itself, where the cgroup was there already."""
    former_peak_bytes: int
    """Where the peak could not be set back."""

    @property
    def procs(self) -> str:
        """What the command has to write itself into; empty where it is there anyway."""
        return str(self.group.folder / "cgroup.procs") if self.made else ""

    def peaks(self) -> tuple[int, int] | None:
        """Of memory and swap during the command; None where an older peak hides it."""
        peak = self.memory.peak_bytes()
        if not (self.made or self.memory.is_reset) and peak <= self.former_peak_bytes:
            return None
        return peak, self.swap.peak_bytes() if self.swap else self.group.swap_bytes() or 0

    def close(self) -> None:
        self.memory.close()
        if self.swap:
            self.swap.close()
        if self.made:
            _remove(self.group.folder)


def cgroup_for_command(own: Cgroup | None) -> CommandCgroup | None:
    """One that holds the command alone, or None."""
    if own is None or own.version != 2:
        return None
    made = _made(own)
    if made is not None:
        opened = _opened(made, made=True)
        if opened is None:
            _remove(made.folder)
        return opened
    if set(own.pids()) == {os.getpid()} and not any(_folders(own.folder)):
        return _opened(own, made=False)
    return None


def _made(own: Cgroup) -> Cgroup | None:
    for folder in own.upwards():
        if "memory" in _words(folder / "cgroup.subtree_control"):
            made = folder / f"floodplain-measure-{os.getpid()}"
            try:
                made.mkdir()
            except OSError:
                return None
            return Cgroup(made, own.top, 2)
        if any(_limited(folder / name) for name in ("memory.max", "memory.high", "memory.swap.max")):
            return None
    return None


def _opened(group: Cgroup, *, made: bool) -> CommandCgroup | None:
    try:
        memory = PeakFile(group.folder / "memory.peak")
    except OSError:
        return None
    try:
        swap = PeakFile(group.folder / "memory.swap.peak")
    except OSError:
        swap = None
    if not made:
        memory.reset()
        if swap:
            swap.reset()
    now = _words(group.folder / "memory.current")
    baseline = int(now[0]) if now and not made else 0
    return CommandCgroup(group, made, memory, swap, baseline, memory.peak_bytes())


def _remove(folder: Path) -> None:
    """A cgroup can be removed once its last process is reaped; what the command left running keeps it."""
    end = time.monotonic() + _REMOVING_SECONDS
    while time.monotonic() < end:
        with contextlib.suppress(OSError):
            folder.rmdir()
            return
        if _words(folder / "cgroup.procs"):
            return
        time.sleep(0.01)


def _limited(path: Path) -> bool:
    words = _words(path)
    return bool(words) and words != ["max"]


def _folders(folder: Path) -> list[Path]:
    try:
        return [one for one in folder.iterdir() if one.is_dir()]
    except OSError:
        return []


def _words(path: Path) -> list[str]:
    return text_of(path).split()
