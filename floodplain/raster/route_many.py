"""Edge: many tasks routed by all cores, in their order.

In one process Python computes one estimate at a time, however many threads there are.
"""

from __future__ import annotations

import multiprocessing
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from itertools import islice

from floodplain.raster.read_headers import Read
from floodplain.raster.routed import Ground, Routed, routed
from floodplain.raster.tile_line import TileLine
from floodplain.stop_signals import unstopped

FEWEST = 20_000
"""Below this starting processes, which import GDAL, takes longer than it saves."""
_CHUNK = 500

_held: tuple[Mapping[str, Read], Ground] | None = None
"""In a process of the pool: what all its tasks share."""


def route_many(
    tasks: Sequence[TileLine], headers: Mapping[str, Read], ground: Ground, *, fewest: int = FEWEST
) -> Iterator[Routed]:
    """The answer for each task. Whoever stops early (Ctrl-C) waits for no more than what is being computed.

    Raises BrokenProcessPool where a process was killed.
    """
    cores = multiprocessing.cpu_count()
    if len(tasks) < fewest or cores < 2:
        for task in tasks:
            yield routed(task.source, task.asked, headers[task.source], ground)
        return
    # Spawned, not forked: threads that read headers may hold locks of GDAL, which a fork would copy.
    context = multiprocessing.get_context("spawn")
    # Signals often go to a whole group of processes; whoever started these ends them.
    with unstopped():
        pool = ProcessPoolExecutor(min(cores, 16), context, initializer=_hold, initargs=(headers, ground))
    try:
        chunks = (tasks[start : start + _CHUNK] for start in range(0, len(tasks), _CHUNK))
        with unstopped():
            waiting: deque[Future[list[Routed]]] = deque(
                pool.submit(_route, chunk) for chunk in islice(chunks, 2 * cores)
            )
        while waiting:
            yield from waiting.popleft().result()
            waiting.extend(pool.submit(_route, chunk) for chunk in islice(chunks, 1))
    finally:
        # Not Future.cancel: it races with a pool whose process died, and then Python never ends.
        pool.shutdown(wait=False, cancel_futures=True)


def _hold(headers: Mapping[str, Read], ground: Ground) -> None:
    global _held
    _held = headers, ground


def _route(tasks: Sequence[TileLine]) -> list[Routed]:
    assert _held is not None
    headers, ground = _held
    return [routed(task.source, task.asked, headers[task.source], ground) for task in tasks]
