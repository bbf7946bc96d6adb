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

from floodplain.quantity import MIB
from floodplain.raster.history_file import append
from floodplain.raster.open_tasks import OpenTasks, start_of
from floodplain.raster.peak_meter import Segment, own_memory
from floodplain.raster.process_memory import give_back
from floodplain.raster.process_spans import MeasuredProcess, MeasuringError, Span
from floodplain.raster.record import Outcome, Record

_P = ParamSpec("_P")
_T = TypeVar("_T")
_log = logging.getLogger(__name__)
_MARK = "_floodplain_measured"

RECYCLE_ABOVE_BYTES = 256 * MIB
"""Left resident above the baseline by earlier tasks: then the process should be started anew."""


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


_process = MeasuredProcess()
_worker = _Worker()


def _forget() -> None:
    """A forked child measures itself anew; the tasks of its parent are not its own."""
    global _process
    _process = MeasuredProcess()


os.register_at_fork(after_in_child=_forget)


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
        self._open: tuple[Span, Measurement, Facts, str | None, OpenTasks | None] | None = None

    def __enter__(self) -> Measurement:
        worker = _worker
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
        named = self._history or worker.history
        # The task may change the working directory.
        history = _absolute(named) if named else None
        notes = _process.opened(history) if history else None
        span = Span(threading.get_ident(), self._shared, 0.0)
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
        self._open = (span, measurement, facts, history, notes)
        span.began = time.perf_counter()
        return measurement

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        assert self._open is not None
        (span, measurement, facts, history, notes), self._open = self._open, None
        if span not in _process.active:
            return  # A child that was forked inside the block; it is its parent that measures.
        seconds = time.perf_counter() - span.began
        segment = _process.leave(span)
        record = _record(span, segment, facts, seconds, error)
        measurement.record = record
        left = span.before_bytes - span.baseline_bytes
        if left > _worker.recycle_above_bytes:
            measurement.notes.append(
                f"{left // MIB} MiB above the baseline stayed resident before this task: start the process anew, "
                "such as by max_tasks_per_child"
            )
        try:
            if history:
                append(history, record)
            if notes:
                notes.ended(span)
        except OSError as failure:
            # What the task made is worth more than its record.
            measurement.notes.append(f"{history}: the record could not be written ({failure})")
            _log.warning("%s", measurement.notes[-1])
        for tell in (self._on_record, _worker.on_record):
            if tell:
                try:
                    tell(record)
                except Exception as failure:
                    measurement.notes.append(f"on_record failed ({failure!r})")
                    _log.warning("on_record failed", exc_info=True)

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

        vars(call)[_MARK] = True
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
    global _worker
    if history:
        history = _absolute(history)
        _process.opened(history)
    with _process.lock:
        _process.baseline_bytes = own_memory().held_bytes
        _worker = _Worker(
            Facts(layer, slot_limit_bytes=slot_limit_bytes),
            history,
            on_record,
            recycle_above_bytes,
            warm_up is not None,
        )


def is_measured(function: object) -> bool:
    """Whether `measured` decorates it."""
    return bool(getattr(function, _MARK, False))


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


def _record(span: Span, segment: Segment, facts: Facts, seconds: float, error: BaseException | None) -> Record:
    peak = max(segment.peak_bytes, span.baseline_bytes)
    return Record(
        layer=facts.layer or "",
        peak_bytes=peak,
        marginal_bytes=peak - span.baseline_bytes,
        baseline_bytes=span.baseline_bytes,
        before_bytes=span.before_bytes,
        swap_peak_bytes=segment.swap_peak_bytes,
        # A task that was refused memory wanted more than it had.
        censored=segment.swapped_out or isinstance(error, MemoryError),
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


def _absolute(path: str | Path) -> str:
    return os.path.abspath(path)  # noqa: PTH100 - resolve() would ask the file system


def _in_event_loop() -> bool:
    asyncio: Any = sys.modules.get("asyncio")
    if asyncio is None:
        return False
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
