"""From the settings of raster workers to bytes: limits from the worker formula, one cache a process, budgets.

The formula (facts/sizing.md 3.6): limit = P x (baseline + cache) + agent + slots x peak of a task x headroom. A bare
cache figure is one for each of P processes, and the cache of fetched blocks too, so that both are multiplied.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from math import ceil
from typing import TYPE_CHECKING, Any

from floodplain import quantity
from floodplain.problem import ProblemsError, RuleError
from floodplain.quantity import MIB
from floodplain.raster.gdal_cache import LARGEST_SHARE, LEAST_BYTES
from floodplain.raster.two_pools import TwoPools
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
        besides = small.processes * _baseline(workers) + _agent(workers) + small.slots * _peak(workers, small.task_peak)
        all_caches = besides // (CACHE_SHARE - 1)
    return min(max(all_caches // small.processes // MIB * MIB, LEAST_BYTES), MOST_CACHE_BYTES)


def figures(workers: Workers) -> dict[str, Any]:
    """The fields of TwoPools. Limits that follow from a task's peak are rounded up to whole MiB."""
    cache, baseline, agent = workers.cache_bytes, _baseline(workers), _agent(workers)
    small, big = workers.small, workers.big
    return {
        "slots": small.slots,
        "processes": small.processes,
        "small_limit_bytes": quantity.to_bytes(small.memory)
        if small.memory is not None
        else _whole(small.processes * (baseline + cache) + agent + small.slots * _peak(workers, small.task_peak)),
        "big_limit_bytes": quantity.to_bytes(big.memory)
        if big.memory is not None
        else _whole(baseline + cache + agent + _peak(workers, big.task_peak)),
        "baseline_bytes": baseline,
        "cache_bytes": cache,
        "agent_bytes": agent,
        "given_threshold_bytes": None if small.threshold is None else quantity.to_bytes(small.threshold),
    }


def figure_problems(workers: Workers) -> Iterator[RuleError]:
    """Figures that do not go together, by the keys of the settings."""
    small, cache, given = workers.small, workers.cache_bytes, figures(workers)
    limit, every = given["small_limit_bytes"], small.processes * cache
    if workers.gdal.cache is not None and every > limit * LARGEST_SHARE:
        most = int(limit * LARGEST_SHARE) // small.processes // MIB
        of_all = f"{small.processes} processes have one each, {_shown(every)} together" if small.processes > 1 else ""
        yield RuleError(
            f"is the cache of one process{': ' + of_all if of_all else ''}, more than half of a small worker's"
            f" {_shown(limit)}",
            f"write {most}Mi or less, or have fewer processes or more memory"
            if most * MIB >= LEAST_BYTES
            else "have fewer processes or more memory",
            ("gdal", "cache"),
            workers.gdal.cache,
        )
        return
    texts: Mapping[str, tuple[Location, Any]] = {
        "slots": (("small", "slots"), small.slots),
        "processes": (("small", "processes"), small.processes),
        "small_limit_bytes": _limit("small", small),
        "big_limit_bytes": _limit("big", workers.big),
        "baseline_bytes": (("baseline",), workers.baseline),
        "cache_bytes": (("gdal", "cache"), workers.gdal.cache),
        "agent_bytes": (("agent",), workers.agent),
        "given_threshold_bytes": (("small", "threshold"), small.threshold),
    }
    try:
        TwoPools(**given)
    except ProblemsError as error:
        for problem in error.problems:
            path, value = texts[problem.path]
            yield RuleError(problem.rule, problem.remedy, path, value)


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


def _baseline(workers: Workers) -> int:
    """Of one process: itself, and the cache of fetched blocks that it fills in time."""
    return quantity.to_bytes(workers.baseline) + quantity.to_bytes(workers.gdal.curl_cache)


def _agent(workers: Workers) -> int:
    return quantity.to_bytes(workers.agent)


def _peak(workers: Workers, task_peak: str | None) -> int:
    """Of one task with its headroom. The pinned caches have none: they are full at some time, and never fuller."""
    return ceil(quantity.to_bytes(task_peak or "0") * workers.headroom)


def _limit(pool: str, members: Any) -> tuple[Location, Any]:
    key = "memory" if members.memory is not None else "task_peak"
    return (pool, key), getattr(members, key)


def _whole(count: int) -> int:
    return -(-count // MIB) * MIB


def _shown(count: int) -> str:
    return quantity.from_bytes(count)
