"""Which measured tasks are open in this process, and what each saw of its memory. Edge: process memory.

One process has one high-water mark, so there is one meter. It is read and set back whenever a task begins or ends, and
what it saw is put to all that were open: each has the peak of the process during its own time.
"""

from __future__ import annotations

import atexit
import threading
from dataclasses import dataclass

from floodplain.problem import RuleError
from floodplain.quantity import MIB
from floodplain.raster.open_tasks import OpenTasks, close_open_tasks
from floodplain.raster.peak_meter import PeakMeter, Segment, own_memory

TRIM_ABOVE_BYTES = MIB
"""Before a task the allocator is asked to give memory back where more than this lies above the baseline."""


class MeasuringError(RuleError):
    """`measured` is used in a way that gives no true figure."""


@dataclass(eq=False)
class Span:
    """A task that is being measured."""

    thread: int
    shared: bool
    began: float
    segment: Segment | None = None
    concurrent: int = 1
    before_bytes: int = 0
    baseline_bytes: int = 0


class MeasuredProcess:
    """What is one for the whole process: the high-water mark, so the meter, the baseline, and the open tasks."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.baseline_bytes: int | None = None
        self.active: list[Span] = []
        self.meter = PeakMeter()
        self.open_tasks: dict[str, OpenTasks] = {}

    def enter(self, span: Span) -> None:
        with self.lock:
            _refuse(span, self.active)
            if self.active:
                self._fold(self.meter.fold())
                span.before_bytes = own_memory().held_bytes
            else:
                trim_above = None if self.baseline_bytes is None else self.baseline_bytes + TRIM_ABOVE_BYTES
                span.before_bytes = self.meter.begin(trim_above).held_bytes
            # The lower one: pages of libraries may have been taken back since the warm-up.
            self.baseline_bytes = min(self.baseline_bytes or span.before_bytes, span.before_bytes)
            span.baseline_bytes = self.baseline_bytes
            self.active.append(span)
            for one in self.active:
                one.concurrent = max(one.concurrent, len(self.active))

    def leave(self, span: Span) -> Segment:
        with self.lock:
            self._fold(self.meter.end() if self.active == [span] else self.meter.fold())
            self.active.remove(span)
        assert span.segment is not None
        return span.segment

    def _fold(self, segment: Segment) -> None:
        for one in self.active:
            one.segment = one.segment.joined(segment) if one.segment else segment

    def opened(self, history: str) -> OpenTasks:
        """The notes of open tasks for this history; at its first use what others left behind is closed."""
        with self.lock:
            if history not in self.open_tasks:
                close_open_tasks(history)
                self.open_tasks[history] = OpenTasks(history)
                atexit.register(self.open_tasks[history].close)
            return self.open_tasks[history]


def _refuse(span: Span, active: list[Span]) -> None:
    if any(one.thread == span.thread for one in active):
        raise MeasuringError(
            "another measured task is open in this thread: nested, or in a second coroutine",
            "measure the outer task only, or the steps one after the other",
        )
    if active and not (span.shared and all(one.shared for one in active)):
        raise MeasuringError(
            "another measured task is open in this process, and Linux knows no peak of a thread",
            'use processes (MeasuredPool), one thread, or measured(..., shared="set") for the figure of all together',
        )
