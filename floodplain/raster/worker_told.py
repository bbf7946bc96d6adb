"""A sized worker in words for a terminal, and as a document for programs. Pure; every figure is the worker's own."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from floodplain.byte_amount import mib
from floodplain.quantity import from_bytes
from floodplain.raster.quantile import Quantile
from floodplain.raster.sized_worker import SizedWorker
from floodplain.raster.stack_keys import mebibytes, mebibytes_within, stack_entry, stack_keys
from floodplain.raster.two_pools import TwoPools
from floodplain.sizing.explain import Explanation, Row, Section


def told(sized: SizedWorker) -> Explanation:
    """Slots, memory with its arithmetic, threshold and cache; what the history says of itself, and warnings."""
    worker, pools = sized.worker, sized.pools
    limit = from_bytes(pools.small_limit_bytes)
    sections = (
        Section("Layers", _layers(sized)),
        Section("The history", sized.remarks),
        Section("Beware", sized.warnings),
    )
    return Explanation(
        headline=f"{pools.slots} slot{'s' if pools.slots != 1 else ''} in {limit} of memory, for layer {sized.layer}",
        rows=(
            Row("Peak of a task", f"{sized.peak.name} {mib(sized.peak.bytes)}", sized.peak.why),
            Row("Slots", str(pools.slots), _processes(pools.processes)),
            Row("Memory limit", limit, _limit(sized)),
            *(Row(f"  {term.name}", mib(term.bytes), term.why) for term in worker.terms),
            Row("Slot budget", mib(pools.slot_budget_bytes), "(limit - baseline and cache of each process) / slots"),
            Row(
                "Threshold",
                mib(pools.threshold_bytes),
                f"{_share(pools)}; {sized.above_threshold * 100:.1f} % of these peaks lie above it",
            ),
            Row("Big worker", from_bytes(pools.big_limit_bytes), _big(sized)),
            Row("GDAL_CACHEMAX", sized.gdal_cachemax, "of each process, in its environment before it starts"),
            *_independent(sized),
        ),
        sections=tuple(section for section in sections if section.sentences),
    )


def next_steps(sized: SizedWorker) -> list[str]:
    """What to do with it, in lines to copy: they must not be wrapped."""
    return [
        "Write into a stack file",
        *stack_entry(sized),
        "",
        "Route with these pools",
        f"  floodplain raster route TILES --out DIR {route_options(sized.pools)}",
    ]


def route_options(pools: TwoPools) -> str:
    """The pools as options of `raster route`; what is no whole MiB is rounded to the safe side."""
    given = {
        "--slots": str(pools.slots),
        "--small-memory": mebibytes_within(pools.small_limit_bytes),
        "--big-memory": mebibytes_within(pools.big_limit_bytes),
        "--baseline": mebibytes(pools.baseline_bytes),
        "--cache": mebibytes(pools.cache_bytes),
    }
    if pools.processes != 1:
        given["--processes"] = str(pools.processes)
    if pools.agent_bytes:
        given["--agent"] = mebibytes(pools.agent_bytes)
    if pools.given_threshold_bytes is not None:
        given["--threshold"] = mebibytes_within(pools.given_threshold_bytes)
    return " ".join(f"{option} {value}" for option, value in given.items())


def document(sized: SizedWorker) -> dict[str, Any]:
    """Everything, in bytes, with snake_case keys."""
    worker, pools = sized.worker, sized.pools
    return {
        "layer": sized.layer,
        "slots": pools.slots,
        "processes": pools.processes,
        "limit_bytes": pools.small_limit_bytes,
        "needed_bytes": worker.bytes,
        "terms": [asdict(term) for term in worker.terms],
        "headroom": worker.headroom,
        "independent_bytes": worker.independent_bytes,
        "slot_budget_bytes": pools.slot_budget_bytes,
        "threshold_bytes": pools.threshold_bytes,
        "big_limit_bytes": pools.big_limit_bytes,
        "big_budget_bytes": pools.big_budget_bytes,
        "cache_bytes": pools.cache_bytes,
        "pools": {name: count for name, count in asdict(pools).items() if count is not None},
        "stack_keys": stack_keys(sized),
        "gdal_cachemax": sized.gdal_cachemax,
        "share_above_threshold": sized.above_threshold,
        "largest_bytes": sized.largest_bytes,
        "peak": _peak(sized.peak),
        "layers": {name: _peak(peak) for name, peak in sized.quantiles.items()},
        "levels": [{**asdict(level), "per_second": level.per_second} for level in sized.levels],
        "remarks": list(sized.remarks),
        "warnings": list(sized.warnings),
    }


def _peak(peak: Quantile) -> dict[str, Any]:
    return {**asdict(peak), "rule": peak.rule.value, "confidence": peak.confidence}


def _share(pools: TwoPools) -> str:
    if pools.given_threshold_bytes is None:
        return "half the slot budget"
    return f"{pools.threshold_bytes / pools.slot_budget_bytes:.2g} of the slot budget"


def _processes(count: int) -> str:
    return "in one process, as threads" if count == 1 else f"in {count} processes"


def _limit(sized: SizedWorker) -> str:
    if sized.given_limit:
        return f"given; tasks and processes need {mib(sized.worker.bytes)} of it"
    return "rounded up to whole MiB, the sum of"


def _big(sized: SizedWorker) -> str:
    largest = mib(max(sized.largest_bytes, sized.peak.bytes))
    return f"one slot for the largest task, {largest}, x {sized.worker.headroom:g}; serial"


def _independent(sized: SizedWorker) -> tuple[Row, ...]:
    count = sized.worker.independent_bytes
    if count is None or sized.pools.slots == 1:
        return ()
    why = "for information: 99 % of moments, were tasks independent, without headroom; tiles of one scene are not"
    return (Row("If independent", mib(count), why),)


def _layers(sized: SizedWorker) -> tuple[str, ...]:
    if len(sized.quantiles) == 1:
        return ()
    return tuple(f"{name}: {peak.name} {mib(peak.bytes)} ({peak.why})" for name, peak in sized.quantiles.items())
