"""`measured`: what one task holds at its peak, in a process that does many. Edge: process memory, history.

    with measured(layer="ortho", history="peaks.jsonl") as measurement:
        build(tile)
    measurement.record.peak_bytes

Linux knows no peak of a thread: two tasks of one process at a time are refused, or share one figure (`shared="set"`).
"""

from __future__ import annotations

import functools
import inspect
import logging
import os
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, ParamSpec, TypeVar

from floodplain.problem import RuleError
from floodplain.quantity import MIB
from floodplain.raster.history_file import append
from floodplain.raster.open_tasks import OpenTasks, close_open_tasks, start_of
from floodplain.raster.peak_meter import PeakMeter, Segment
from floodplain.raster.process_memory import give_back, resident_bytes
from floodplain.raster.record import Outcome, Record

_P = ParamSpec("_P")
_T = TypeVar("_T")
_log = logging.getLogger(__name__)

TRIM_ABOVE_BYTES = MIB
"""Before a task the allocator is asked to give memory back where more than this lies above the baseline."""
RECYCLE_ABOVE_BYTES = 256 * MIB
"""Left resident above the baseline by earlier tasks: then the process should be started anew."""


class MeasuringError(RuleError):
    """`measured` is used in a way that gives no true figure."""


@dataclass
class Measurement:
    """What `with measured(...)` gives; `record` is there once the block has ended."""

    layer: str
    record: Record | None = None
    notes: list[str] = field(default_factory=list)
    """What a user should know: no warm-up, memory that stays, a history that could not be written."""


@dataclass(frozen=True)
class Facts:
    """What is known of a task before it runs. What is None is taken from `start_worker`."""

    layer: str | None = None
    task: str | None = None
    estimate_bytes: int | None = None
    slot_limit_bytes: int | None = None
    source_bytes: int | None = None


@dataclass(frozen=True)
class _Worker:
    """What `start_worker` said."""

    facts: Facts = Facts()
    history: str | Path | None = None
    on_record: Callable[[Record], None] | None = None
    recycle_above_bytes: int = RECYCLE_ABOVE_BYTES
    warmed: bool = False


@dataclass(eq=False)
class _Span:
    """A task that is being measured."""

    thread: int
    shared: bool
    began: float
    segment: Segment | None = None
    concurrent: int = 1
    before_bytes: int = 0
    baseline_bytes: int = 0


class _Process:
    """What is one for the whole process: the high-water mark, so the meter, the baseline, and the open tasks."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.worker = _Worker()
        self.baseline_bytes: int | None = None
        self.active: list[_Span] = []
        self.meter = PeakMeter()
        self.open_tasks: dict[str, OpenTasks] = {}

    def enter(self, span: _Span) -> None:
        with self.lock:
            _refuse(span, self.active)
            if self.active:
                self._fold(self.meter.fold())
                span.before_bytes = resident_bytes() or 0
            else:
                resident = resident_bytes()
                if resident and self.baseline_bytes and resident > self.baseline_bytes + TRIM_ABOVE_BYTES:
                    give_back()
                span.before_bytes = self.meter.begin().resident_bytes
            # The lower one: pages of libraries may have been taken back since the warm-up.
            self.baseline_bytes = min(self.baseline_bytes or span.before_bytes, span.before_bytes)
            span.baseline_bytes = self.baseline_bytes
            self.active.append(span)
            for one in self.active:
                one.concurrent = max(one.concurrent, len(self.active))

    def leave(self, span: _Span) -> Segment:
        with self.lock:
            self._fold(self.meter.end() if self.active == [span] else self.meter.fold())
            self.active.remove(span)
        assert span.segment is not None
        return span.segment

    def _fold(self, segment: Segment) -> None:
        for one in self.active:
            one.segment = one.segment.joined(segment) if one.segment else segment

    def opened(self, history: str | Path) -> OpenTasks:
        """The notes of open tasks for this history; at its first use what others left behind is closed."""
        with self.lock:
            key = os.path.abspath(history)  # noqa: PTH100 - resolve() would ask the file system
            if key not in self.open_tasks:
                close_open_tasks(history)
                self.open_tasks[key] = OpenTasks(history)
            return self.open_tasks[key]


_process = _Process()


def _forget() -> None:
    """A forked child measures itself anew; the tasks of its parent are not its own."""
    global _process
    worker = _process.worker
    _process = _Process()
    _process.worker = worker


os.register_at_fork(after_in_child=_forget)


def _refuse(span: _Span, active: list[_Span]) -> None:
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


class measured:  # noqa: N801 - used like a function
    """Measures a block, or each call of a function that it decorates, and appends a Record to `history`.

    What is not given is taken from `start_worker`. Raises MeasuringError where no true figure can be had, OSError where
    this system tells no memory or the history's folder cannot be written; both before the block begins. Whatever the
    block raises passes through, after its record (outcome failed) has been written.
    """

    def __init__(
        self,
        layer: str | None = None,
        *,
        history: str | Path | None = None,
        task: str | None = None,
        estimate_bytes: int | None = None,
        slot_limit_bytes: int | None = None,
        source_bytes: int | None = None,
        shared: Literal["no", "set"] = "no",
        on_record: Callable[[Record], None] | None = None,
    ) -> None:
        if shared not in ("no", "set"):
            raise MeasuringError("is not known", 'write "no" or "set"', path=("shared",), value=shared)
        self._given = Facts(layer, task, estimate_bytes, slot_limit_bytes, source_bytes)
        self._history = history
        self._shared = shared == "set"
        self._on_record = on_record
        self._open: tuple[_Span, Measurement, Facts, OpenTasks | None] | None = None

    def __enter__(self) -> Measurement:
        worker = _process.worker
        facts = _filled(self._given, worker.facts)
        if not facts.layer:
            raise MeasuringError("is required", "name the kind of task, such as measured(layer='ortho')", ("layer",))
        if self._open is not None:
            raise MeasuringError("is entered twice", "make a `measured` of its own for each block")
        if not self._shared and _in_event_loop():
            raise MeasuringError(
                "is used in a coroutine, where other coroutines run meanwhile",
                'run the task in a process (loop.run_in_executor), or take the figure of all: shared="set"',
            )
        history = self._history or worker.history
        notes = _process.opened(history) if history else None
        span = _Span(threading.get_ident(), self._shared, 0.0)
        _process.enter(span)
        measurement = Measurement(facts.layer)
        try:
            if notes:
                start = start_of(
                    facts.layer,
                    task=facts.task,
                    slot_limit_bytes=facts.slot_limit_bytes,
                    estimate_bytes=facts.estimate_bytes,
                    source_bytes=facts.source_bytes,
                    baseline_bytes=span.baseline_bytes,
                    concurrent=span.concurrent,
                )
                notes.begun(span, start)
        except BaseException:
            _process.leave(span)
            raise
        if not worker.warmed:
            measurement.notes.append("no warm-up: what the first task imports counts as its own; see start_worker")
        self._open = (span, measurement, facts, notes)
        span.began = time.perf_counter()
        return measurement

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        assert self._open is not None
        (span, measurement, facts, notes), self._open = self._open, None
        seconds = time.perf_counter() - span.began
        segment = _process.leave(span)
        record = _record(span, segment, facts, seconds, error)
        measurement.record = record
        left = span.before_bytes - span.baseline_bytes
        if left > _process.worker.recycle_above_bytes:
            measurement.notes.append(
                f"{left // MIB} MiB above the baseline stayed resident before this task: start the process anew, "
                "such as by max_tasks_per_child"
            )
        history = self._history or _process.worker.history
        try:
            if history:
                append(history, record)
            if notes:
                notes.ended(span)
        except OSError as failure:
            # What the task made is worth more than its record.
            measurement.notes.append(f"{history}: the record could not be written ({failure})")
            _log.warning("%s", measurement.notes[-1])
        for tell in (self._on_record, _process.worker.on_record):
            if tell:
                tell(record)

    async def __aenter__(self) -> Measurement:
        raise MeasuringError("is no asynchronous context", "run the task in a process, and measure it there")

    async def __aexit__(self, *_: object) -> None: ...

    def __call__(self, function: Callable[_P, _T]) -> Callable[_P, _T]:
        for wrong in (inspect.iscoroutinefunction, inspect.isasyncgenfunction, inspect.isgeneratorfunction):
            if wrong(function):
                raise MeasuringError(
                    "decorates a coroutine or generator, whose body runs after the call has returned",
                    "decorate the function that does the work",
                    value=getattr(function, "__qualname__", function),
                )

        @functools.wraps(function)
        def call(*args: _P.args, **kwargs: _P.kwargs) -> _T:
            with self._again():
                return function(*args, **kwargs)

        return call

    def _again(self) -> measured:
        given = self._given
        return measured(
            given.layer,
            history=self._history,
            task=given.task,
            estimate_bytes=given.estimate_bytes,
            slot_limit_bytes=given.slot_limit_bytes,
            source_bytes=given.source_bytes,
            shared="set" if self._shared else "no",
            on_record=self._on_record,
        )


def start_worker(
    layer: str | None = None,
    history: str | Path | None = None,
    slot_limit_bytes: int | None = None,
    warm_up: Callable[[], object] | None = None,
    on_record: Callable[[Record], None] | None = None,
    recycle_above_bytes: int = RECYCLE_ABOVE_BYTES,
) -> None:
    """Prepare this process to measure tasks: call `warm_up`, take the baseline, keep the rest for `measured` and `run`.

    An initializer for ProcessPoolExecutor and multiprocessing.Pool. `warm_up` should import and do what every task does
    once, such as `floodplain.raster.raster_warm_up.warm_up_raster`.
    """
    if warm_up:
        warm_up()
    give_back()
    with _process.lock:
        _process.baseline_bytes = resident_bytes()
        _process.worker = _Worker(
            Facts(layer, slot_limit_bytes=slot_limit_bytes),
            history,
            on_record,
            recycle_above_bytes,
            warm_up is not None,
        )
    if history:
        _process.opened(history)


def run(facts: Facts, task: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
    """Call `task`, measured, for functions without the decorator: `pool.submit(run, Facts(task="7/6/4"), build)`."""
    with measured(
        facts.layer,
        task=facts.task,
        estimate_bytes=facts.estimate_bytes,
        slot_limit_bytes=facts.slot_limit_bytes,
        source_bytes=facts.source_bytes,
    ):
        return task(*args, **kwargs)


def _record(span: _Span, segment: Segment, facts: Facts, seconds: float, error: BaseException | None) -> Record:
    peak = max(segment.peak_bytes, span.baseline_bytes)
    return Record(
        layer=facts.layer or "",
        peak_bytes=peak,
        marginal_bytes=peak - span.baseline_bytes,
        baseline_bytes=span.baseline_bytes,
        before_bytes=span.before_bytes,
        swap_peak_bytes=segment.swap_peak_bytes,
        # A task that was refused memory wanted more than it had.
        censored=segment.swap_peak_bytes > 0 or isinstance(error, MemoryError),
        outcome=Outcome.DONE if error is None else Outcome.FAILED,
        method=segment.method,
        concurrent=span.concurrent,
        estimate_bytes=facts.estimate_bytes,
        slot_limit_bytes=facts.slot_limit_bytes,
        seconds=round(seconds, 6),
        source_bytes=facts.source_bytes,
        task=facts.task,
    )


def _filled(given: Facts, default: Facts) -> Facts:
    return Facts(
        given.layer or default.layer,
        given.task or default.task,
        default.estimate_bytes if given.estimate_bytes is None else given.estimate_bytes,
        default.slot_limit_bytes if given.slot_limit_bytes is None else given.slot_limit_bytes,
        default.source_bytes if given.source_bytes is None else given.source_bytes,
    )


def _in_event_loop() -> bool:
    asyncio: Any = sys.modules.get("asyncio")
    if asyncio is None:
        return False
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
