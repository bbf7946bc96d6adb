"""From the settings of raster workers to bytes: limits from the worker formula, one cache a process, budgets.

The formula is `floodplain.raster.worker`. A figure for GDAL's cache is one for each of P processes, and that for the
cache of fetched blocks too, so that both are multiplied.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from floodplain import quantity
from floodplain.byte_amount import mib
from floodplain.problem import ProblemsError, RuleError
from floodplain.quantity import MIB
from floodplain.raster.gdal_cache import LARGEST_SHARE, LEAST_BYTES
from floodplain.raster.two_pools import TwoPools
from floodplain.raster.worker import WorkerMemory
from floodplain.settings_path import Location

if TYPE_CHECKING:
    from .worker_settings import Workers

CACHE_SHARE = 16
"""All caches of a small worker together are one part in so many of its limit, where no cache is given."""
MOST_CACHE_BYTES = 512 * MIB
"""Above this a cache rarely saves a read: blocks of a tile are used within the tile."""


def cache_of(workers: Workers) -> int:
    """GDAL_CACHEMAX of one process in bytes, the same in both pools, so that an estimate holds in both."""
    if workers.gdal.cache is not None:
        return quantity.to_bytes(workers.gdal.cache)
    small = workers.small
    if small.memory is not None:
        all_caches = quantity.to_bytes(small.memory) // CACHE_SHARE
    else:
        without = _derived(workers, small.task_peak, small.slots, small.processes, LEAST_BYTES)
        all_caches = (without.bytes - small.processes * LEAST_BYTES) // (CACHE_SHARE - 1)
    return min(max(all_caches // small.processes // MIB * MIB, LEAST_BYTES), MOST_CACHE_BYTES)


def figures(workers: Workers) -> TwoPools:
    """Limits, budgets and threshold. Raises ProblemsError; the paths of its problems are fields of TwoPools."""
    small, big, cache = workers.small, workers.big, workers.cache_bytes
    return TwoPools(
        slots=small.slots,
        processes=small.processes,
        small_limit_bytes=quantity.to_bytes(small.memory)
        if small.memory is not None
        else _derived(workers, small.task_peak, small.slots, small.processes, cache).limit_bytes,
        big_limit_bytes=quantity.to_bytes(big.memory)
        if big.memory is not None
        else _derived(workers, big.task_peak, 1, 1, cache).limit_bytes,
        baseline_bytes=_baseline(workers),
        cache_bytes=cache,
        agent_bytes=quantity.to_bytes(workers.agent),
        given_threshold_bytes=None if small.threshold is None else quantity.to_bytes(small.threshold),
    )


def figure_problems(workers: Workers) -> Iterator[RuleError]:
    """Figures that do not go together, by the keys of the settings."""
    shared = tuple(_shared_cache(workers))
    if shared:
        # What is left for tasks would only repeat it.
        yield from shared
        return
    try:
        figures(workers)
    except ProblemsError as error:
        keys = _keys(workers)
        for problem in error.problems:
            path, value = keys[problem.path]
            yield RuleError(problem.rule, problem.remedy, path, value)


def _shared_cache(workers: Workers) -> Iterator[RuleError]:
    """One figure for several processes, each of which has a cache of its own."""
    small, given = workers.small, workers.gdal.cache
    if given is None or small.memory is None:
        # What is derived makes room for its caches.
        return
    limit, count = quantity.to_bytes(small.memory), small.processes
    every = count * quantity.to_bytes(given)
    if every <= limit * LARGEST_SHARE:
        return
    together = f": {count} processes have one each, {mib(every)} together" if count > 1 else ""
    most = int(limit * LARGEST_SHARE) // count // MIB
    smaller = f"write {most}Mi or less, or " if most * MIB >= LEAST_BYTES else ""
    yield RuleError(
        f"is the cache of one process{together}, more than half of a small worker's {mib(limit)}",
        f"{smaller}have {'fewer processes or ' if count > 1 else ''}more memory",
        ("gdal", "cache"),
        given,
    )


def document(pools: TwoPools) -> str:
    """raster.json: what `floodplain raster route --pools-file` needs to know of the pools."""
    found = {
        "slots": pools.slots,
        "small_limit_bytes": pools.small_limit_bytes,
        "big_limit_bytes": pools.big_limit_bytes,
        "baseline_bytes": pools.baseline_bytes,
        "cache_bytes": pools.cache_bytes,
        "processes": pools.processes,
        "agent_bytes": pools.agent_bytes,
        "given_threshold_bytes": pools.given_threshold_bytes,
    }
    return json.dumps({key: value for key, value in found.items() if value is not None}, indent=2) + "\n"


def _derived(workers: Workers, task_peak: str | None, slots: int, processes: int, cache: int) -> WorkerMemory:
    """A worker whose limit follows from a task's peak. Raises ProblemsError."""
    return WorkerMemory(
        marginal_bytes=quantity.to_bytes(task_peak or "0"),
        slots=slots,
        processes=processes,
        baseline_bytes=_baseline(workers),
        cache_bytes=cache,
        headroom=workers.headroom,
        agent_bytes=quantity.to_bytes(workers.agent),
    )


def _baseline(workers: Workers) -> int:
    """Of one process: itself, and the cache of fetched blocks that it fills in time."""
    return quantity.to_bytes(workers.baseline) + quantity.to_bytes(workers.gdal.curl_cache)


def _keys(workers: Workers) -> Mapping[str, tuple[Location, Any]]:
    """Which key is behind a figure, and what stands there."""
    small, big = workers.small, workers.big
    small_key, big_key = ("memory" if one.memory is not None else "task_peak" for one in (small, big))
    return {
        "slots": (("small", "slots"), small.slots),
        "processes": (("small", "processes"), small.processes),
        "marginal_bytes": (("small", "task_peak"), small.task_peak),
        "small_limit_bytes": (("small", small_key), getattr(small, small_key)),
        "big_limit_bytes": (("big", big_key), getattr(big, big_key)),
        "baseline_bytes": (("baseline",), workers.baseline),
        "cache_bytes": (("gdal", "cache"), workers.gdal.cache),
        "agent_bytes": (("agent",), workers.agent),
        "headroom": (("headroom",), workers.headroom),
        "given_threshold_bytes": (("small", "threshold"), small.threshold),
    }
