"""What a process and all below it hold together. Edge: reads /proc.

Pages that several processes share count once: by the proportional share (PSS) of each, or where that may not be read,
fully in each.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from floodplain.quantity import KIB
from floodplain.raster.process_memory import PROC, ProcessMemory, read_memory

_SHARES = re.compile(r"^(Pss|SwapPss):\s*(\d+) kB$", re.M)


@dataclass(frozen=True)
class TreeMemory:
    """At one moment, bytes."""

    resident_bytes: int
    swap_bytes: int
    processes: int
    largest_peak_bytes: int
    """The highest high-water mark of a single process."""


def descendants(pid: int) -> list[int]:
    """The process and those below it. One whose parent has ended is no longer below."""
    found, seen = [pid], {pid}
    for one in found:
        for below in _children(one):
            if below not in seen:
                seen.add(below)
                found.append(below)
    return found


def memory_of(pids: list[int]) -> TreeMemory | None:
    """Of these processes together; None if none of them is there any more."""
    alive = {pid: memory for pid in pids if (memory := read_memory(pid)) is not None}
    if not alive:
        return None
    # One alone needs no shares, which cost a walk through all its pages.
    held = [_fully(memory) for memory in alive.values()] if len(alive) == 1 else [_held(pid) for pid in alive]
    return TreeMemory(
        sum(resident for resident, _ in held),
        sum(swap for _, swap in held),
        len(alive),
        max(memory.peak_bytes for memory in alive.values()),
    )


def _children(pid: int) -> list[int]:
    found: list[int] = []
    for thread in _entries(PROC / str(pid) / "task"):
        try:
            found += [int(word) for word in (thread / "children").read_text(encoding="utf-8").split()]
        except OSError:
            continue
    return found


def _entries(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def _held(pid: int) -> tuple[int, int]:
    """Its shares. One that is ending has none, and is looked at anew: what it held is not its own any more."""
    shares = _shares(pid)
    if shares is not None:
        return shares
    memory = read_memory(pid)
    return (0, 0) if memory is None else _fully(memory)


def _fully(memory: ProcessMemory) -> tuple[int, int]:
    return memory.resident_bytes, memory.swap_bytes


def _shares(pid: int) -> tuple[int, int] | None:
    try:
        text = (PROC / str(pid) / "smaps_rollup").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    found = {name: int(kib) * KIB for name, kib in _SHARES.findall(text)}
    return (found["Pss"], found.get("SwapPss", 0)) if "Pss" in found else None
