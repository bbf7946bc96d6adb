"""A pool of processes that measures each task, and knows which tasks were killed for memory. Edge: processes.

    with MeasuredPool(4, layer="ortho", history="peaks.jsonl", warm_up=warm_up_raster) as pool:
        pictures = list(pool.map(build, tiles))

One process is one slot. As of any ProcessPoolExecutor, one process that dies ends the pool: every future that is left
raises BrokenProcessPool. The lower bound of the task that was killed is written when the pool is shut down.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from multiprocessing.context import SpawnContext, SpawnProcess
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from floodplain.raster.measuring import RECYCLE_ABOVE_BYTES, Facts, is_measured, run, start_worker
from floodplain.raster.open_tasks import close_open_tasks
from floodplain.raster.process_spans import MeasuringError
from floodplain.raster.record import Record

_P = ParamSpec("_P")
_T = TypeVar("_T")


_run: Callable[..., Any] = run  # mypy does not follow a ParamSpec through another


class _Remembering(SpawnContext):
    """Starts processes and keeps them: the executor forgets those that died, and with them their status.

    They are spawned, not forked: a fork would begin with the memory of its parent, and threads of GDAL do not survive.
    """

    def __init__(self) -> None:
        self.processes: list[SpawnProcess] = []

    def Process(self, *args: Any, **kwargs: Any) -> SpawnProcess:  # type: ignore[override]  # noqa: N802
        self.processes.append(SpawnProcess(*args, **kwargs))
        return self.processes[-1]


class MeasuredPool(ProcessPoolExecutor):
    """`warm_up` and what is submitted are pickled: functions of a module, not lambdas."""

    def __init__(
        self,
        processes: int,
        *,
        layer: str | None = None,
        history: str | Path | None = None,
        slot_limit_bytes: int | None = None,
        warm_up: Callable[[], object] | None = None,
        max_tasks_per_child: int | None = None,
        recycle_above_bytes: int = RECYCLE_ABOVE_BYTES,
        every_sigkill: bool = False,
    ) -> None:
        """`every_sigkill`: see `close_open_tasks`; for machines with an out-of-memory killer outside the kernel."""
        self._context = _Remembering()
        self._history = history
        self._every_sigkill = every_sigkill
        self.killed: list[Record] = []
        """Lower bounds of tasks that were killed for memory; filled by `shutdown`."""
        super().__init__(
            processes,
            mp_context=self._context,
            initializer=start_worker,
            initargs=(layer, history, slot_limit_bytes, warm_up, None, recycle_above_bytes),
            max_tasks_per_child=max_tasks_per_child,
        )

    def submit(self, fn: Callable[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> Future[_T]:
        """Measured with what the pool knows; a function that `measured` decorates, with what that says."""
        if is_measured(fn):
            return super().submit(fn, *args, **kwargs)
        return super().submit(_run, Facts(), fn, *args, **kwargs)

    def submit_task(self, facts: Facts, fn: Callable[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> Future[_T]:
        """Measured with what is known of this task: its name, its estimate, its layer."""
        return super().submit(_run, facts, fn, *args, **kwargs)

    def map(
        self, fn: Callable[..., _T], /, *iterables: Iterable[Any], timeout: float | None = None, chunksize: int = 1
    ) -> Iterator[_T]:
        """One task for each item."""
        if chunksize != 1:
            raise MeasuringError("would measure several tasks as one", "leave it out", ("chunksize",), chunksize)
        return Executor.map(self, fn, *iterables, timeout=timeout)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """With `wait`, tasks that were killed for memory are written to the history and kept in `killed`."""
        super().shutdown(wait, cancel_futures=cancel_futures)
        if wait and self._history:
            ended = {one.pid: one.exitcode for one in self._context.processes}
            statuses = {pid: status for pid, status in ended.items() if pid is not None and status is not None}
            self.killed += close_open_tasks(self._history, statuses, every_sigkill=self._every_sigkill)
