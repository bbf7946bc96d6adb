"""The peak of our own process between two moments, by the best way this system has. Edge: process memory, a thread.

VmHWM with a reset is exact. Without a reset it is still exact for a task that set a new record of its process; for
others there are only samples. Where there is swap, samples also say how much lay there meanwhile.
"""

from __future__ import annotations

import contextlib
import threading
from dataclasses import dataclass

from floodplain.raster.process_memory import (
    ProcessMemory,
    give_back,
    lifetime_peak_bytes,
    read_memory,
    reset_peak,
    resident_by_ps,
    swap_is_possible,
)
from floodplain.raster.record import Method

INTERVAL_SECONDS = 0.05


@dataclass(frozen=True)
class Segment:
    """What was seen between two moments. Bytes."""

    peak_bytes: int
    """Resident and in swap together."""
    swap_peak_bytes: int
    method: Method
    swapped_out: bool = False
    """More came to lie in swap meanwhile, so that `peak_bytes` is a lower bound."""

    def joined(self, other: Segment) -> Segment:
        """Of both; samples taint it."""
        method = Method.SAMPLES if Method.SAMPLES in (self.method, other.method) else self.method
        return Segment(
            max(self.peak_bytes, other.peak_bytes),
            max(self.swap_peak_bytes, other.swap_peak_bytes),
            method,
            self.swapped_out or other.swapped_out,
        )


class PeakMeter:
    """One for the process. `begin`, then any number of `fold`, then `end`. Not for several threads at once."""

    def __init__(self, interval_seconds: float = INTERVAL_SECONDS) -> None:
        self._interval = interval_seconds
        self._resets = False
        self._mark = 0
        self._samples: list[ProcessMemory] = []
        self._lock = threading.Lock()
        self._done: threading.Event | None = None
        self._swap: bool | None = None

    def begin(self, trim_above_bytes: int | None = None) -> ProcessMemory:
        """Start to measure; what the process holds now. Raises OSError where nothing can be read.

        Where it holds more than `trim_above_bytes`, the allocator gives back first what it keeps.
        """
        self._resets = reset_peak()
        now = own_memory()
        if trim_above_bytes is not None and now.resident_bytes > trim_above_bytes and give_back():
            self._resets = reset_peak()
            now = own_memory()
        self._mark = now.peak_bytes
        self._samples = [now]
        if self._swap is None:
            self._swap = swap_is_possible()
        if self._swap or not self._resets:
            self._done = threading.Event()
            threading.Thread(target=self._watch, args=(self._done,), name="floodplain-peak", daemon=True).start()
        return now

    def fold(self, *, last: bool = False) -> Segment:
        """What was seen since `begin` or the last `fold`; the next segment begins here."""
        now = own_memory()
        reset = self._resets and not last and reset_peak()
        with self._lock:
            samples, self._samples = [*self._samples, now], [now]
        if self._resets or now.peak_bytes > self._mark:
            resident, method = now.peak_bytes, Method.VMHWM
        else:
            resident, method = max(one.resident_bytes for one in samples), Method.SAMPLES
        self._resets = reset
        self._mark = now.resident_bytes if reset else now.peak_bytes
        swap = max(one.swap_bytes for one in samples)
        # What lay in swap all the time is held beside what is resident; what went there meanwhile may have been both.
        swapped_out = swap > samples[0].swap_bytes
        least = resident if swapped_out else resident + swap
        return Segment(max(least, *(one.held_bytes for one in samples)), swap, method, swapped_out)

    def end(self) -> Segment:
        """The last segment."""
        if self._done is not None:
            self._done.set()
            self._done = None
        return self.fold(last=True)

    def _watch(self, done: threading.Event) -> None:
        while not done.wait(self._interval):
            with contextlib.suppress(OSError):
                now = own_memory()
                with self._lock:
                    if not done.is_set():
                        # The largest ones suffice, however long the task is.
                        self._samples = [self._samples[0], *_largest([*self._samples[1:], now])]


def own_memory() -> ProcessMemory:
    """Of this process: by /proc, else by ps and getrusage. Raises OSError where there is neither."""
    memory = read_memory()
    if memory is not None:
        return memory
    resident, peak = resident_by_ps(), lifetime_peak_bytes()
    if resident is None or peak is None:
        raise OSError("memory cannot be measured here: there is no /proc/self/status, and no ps or no getrusage")
    return ProcessMemory(resident, max(peak, resident), 0)


def _largest(samples: list[ProcessMemory]) -> list[ProcessMemory]:
    return list(
        dict.fromkeys(
            (
                max(samples, key=lambda one: one.resident_bytes),
                max(samples, key=lambda one: one.swap_bytes),
                max(samples, key=lambda one: one.held_bytes),
            )
        )
    )
