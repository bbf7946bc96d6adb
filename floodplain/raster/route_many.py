"""Edge: many tasks routed by all cores, in their order.

In one process Python computes one estimate at a time, however many threads there are.
"""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor

from floodplain.raster.read_headers import Read
from floodplain.raster.routed import Ground, Routed, routed
from floodplain.raster.tile_line import TileLine

FEWEST = 20_000
"""Below this starting processes, which import GDAL, takes longer than it saves."""
_CHUNK = 500

_held: tuple[Mapping[str, Read], Ground] | None = None
"""In a process of the pool: what all its tasks share."""


def route_many(
    tasks: Sequence[TileLine], headers: Mapping[str, Read], ground: Ground, *, fewest: int = FEWEST
) -> Iterator[Routed]:
    """The answer for each task. Whoever stops early (Ctrl-C) waits for no more than what is being computed."""
    cores = multiprocessing.cpu_count()
    if len(tasks) < fewest or cores < 2:
        for task in tasks:
            yield routed(task.source, task.asked, headers[task.source], ground)
        return
    # Spawned, not forked: threads that read headers may hold locks of GDAL, which a fork would copy.
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(min(cores, 16), context, initializer=_hold, initargs=(headers, ground))
    try:
        chunks = (tasks[start : start + _CHUNK] for start in range(0, len(tasks), _CHUNK))
        for answers in pool.map(_route, chunks):
            yield from answers
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _hold(headers: Mapping[str, Read], ground: Ground) -> None:
    global _held
    # A terminal sends Ctrl-C to these too; the process that started them ends them.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _held = headers, ground


def _route(tasks: Sequence[TileLine]) -> list[Routed]:
    assert _held is not None
    headers, ground = _held
    return [routed(task.source, task.asked, headers[task.source], ground) for task in tasks]
