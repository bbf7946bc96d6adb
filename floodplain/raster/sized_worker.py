"""The worker for a history: which layer's peak it is sized for, slots, memory, threshold, cache, and what to beware of.

Pure. The formula is `worker`, the quantile `quantile`, budgets `two_pools`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, pstdev

from floodplain.byte_amount import mib
from floodplain.problem import RuleError
from floodplain.quantity import MIB
from floodplain.raster import concurrency
from floodplain.raster.gdal_cache import lint, pinned
from floodplain.raster.peaks import LayerPeaks, Task, layer_peaks
from floodplain.raster.quantile import Quantile, quantile_of
from floodplain.raster.record import Record
from floodplain.raster.two_pools import BASELINE_BYTES, CACHE_BYTES, TwoPools
from floodplain.raster.worker import HEADROOM, WorkerMemory, slot_bytes, slots_within

SLOTS = 8
THRESHOLD_SHARE = 0.5
"""Half, for estimates that may be too low by two (facts/sizing.md 3.7)."""
ESTIMATE_SHARE = 0.8
"""For estimates that are never below 0.8 of the truth, as the additive model was in 153 measured warps."""
_MOST_ABOVE = 0.1
"""More tasks than these in a serial pool are no tail."""


@dataclass(frozen=True)
class Wishes:
    """What is asked of the worker. Bytes; None: it follows from the history, or from the other wishes."""

    slots: int | None = None
    limit_bytes: int | None = None
    """Instead of slots: as many as this memory holds."""
    processes: int | None = 1
    """None: one for each slot."""
    baseline_bytes: int | None = None
    cache_bytes: int = CACHE_BYTES
    cache_in_marginal_bytes: int = 0
    headroom: float = HEADROOM
    agent_bytes: int = 0
    quantile: float = 0.99
    threshold_share: float = THRESHOLD_SHARE
    """Of the slot budget: an estimate above it goes to the big worker."""


@dataclass(frozen=True)
class SizedWorker:
    """The answer."""

    layer: str
    """Whose quantile is the largest."""
    quantiles: Mapping[str, Quantile]
    """By layer."""
    worker: WorkerMemory
    pools: TwoPools
    """With a big worker that holds the largest task, with the same headroom."""
    largest_bytes: int
    """The largest peak or lower bound of any layer."""
    gdal_cachemax: str
    levels: tuple[concurrency.Level, ...]
    above_threshold: float
    """Share of all tasks that would go to the big worker."""
    remarks: tuple[str, ...]
    warnings: tuple[str, ...]
    given_limit: bool = False
    """The limit was given, and slots follow from it."""

    @property
    def peak(self) -> Quantile:
        return self.quantiles[self.layer]


def size_worker(records: Sequence[Record], wishes: Wishes | None = None, *, layer: str | None = None) -> SizedWorker:
    """The worker for these records, of one layer or of the one with the largest quantile.

    Raises RuleError where nothing can be said (no records, an unknown layer, no slot in the memory), and ProblemsError
    for wrong wishes. Paths of problems are fields of Wishes.
    """
    wishes = wishes or Wishes()
    if not 0 < wishes.threshold_share <= 1:
        rule = "is not above 0 and at most 1: a threshold is a share of the slot budget"
        raise RuleError(
            rule, f"write {THRESHOLD_SHARE:g}, or leave it out", ("threshold_share",), wishes.threshold_share
        )
    layers = layer_peaks(records, layer)
    quantiles = {
        name: quantile_of(found.values, found.bounds, quantile=wishes.quantile) for name, found in layers.items()
    }
    of = max(quantiles, key=lambda name: quantiles[name].bytes)
    if quantiles[of].bytes == 0:
        remedy = "measure anew with `floodplain measure`: a difference of ru_maxrss is 0 for all but the largest tasks"
        raise RuleError("has no task that held anything beyond its baseline", remedy)
    worker = _worker(layers[of], quantiles[of], wishes)
    largest = max(task.bytes for found in layers.values() for task in found.tasks)
    big = slot_bytes(max(largest, quantiles[of].bytes), 0, wishes.headroom)
    pools = worker.pools(_whole_mib(worker.baseline_bytes + worker.cache_bytes + worker.agent_bytes + big))
    if wishes.limit_bytes is not None:
        pools = replace(pools, small_limit_bytes=wishes.limit_bytes)
    if wishes.threshold_share != THRESHOLD_SHARE:
        pools = _with_share(pools, wishes.threshold_share)
    tasks = [task for found in layers.values() for task in found.tasks]
    levels = concurrency.levels(record for record in records if record.layer == of)
    return SizedWorker(
        layer=of,
        quantiles=quantiles,
        worker=worker,
        pools=pools,
        largest_bytes=largest,
        gdal_cachemax=pinned(worker.cache_bytes),
        levels=levels,
        above_threshold=_share_above(tasks, pools),
        remarks=tuple(f"{name}: {remark}" for name, found in layers.items() for remark in found.remarks),
        warnings=(
            *_warnings(quantiles[of], layers[of], pools, wishes),
            *_no_tail(tasks, pools, wishes),
            *concurrency.warnings(levels),
        ),
        given_limit=wishes.limit_bytes is not None,
    )


def _worker(peaks: LayerPeaks, peak: Quantile, wishes: Wishes) -> WorkerMemory:
    baseline = wishes.baseline_bytes or peaks.baseline_bytes or BASELINE_BYTES
    known = peaks.values
    slots = wishes.slots or SLOTS
    one_each = wishes.processes is None
    worker = WorkerMemory(
        marginal_bytes=peak.bytes,
        # With memory given, slots are counted below; until then there are as many as processes need.
        slots=slots if wishes.limit_bytes is None else max(slots, wishes.processes or 1),
        processes=slots if one_each else wishes.processes or 1,
        baseline_bytes=baseline,
        cache_bytes=wishes.cache_bytes,
        cache_in_marginal_bytes=wishes.cache_in_marginal_bytes,
        headroom=wishes.headroom,
        agent_bytes=wishes.agent_bytes,
        mean_bytes=fmean(known) if known and not peaks.bounds else None,
        deviation_bytes=pstdev(known) if known and not peaks.bounds else None,
    )
    if wishes.limit_bytes is None:
        return worker
    slots = slots_within(
        wishes.limit_bytes,
        worker.slot_bytes,
        processes=wishes.processes,
        baseline_bytes=baseline,
        cache_bytes=wishes.cache_bytes,
        agent_bytes=wishes.agent_bytes,
    )
    if slots == 0:
        processes = wishes.processes or 1
        needed = replace(worker, slots=processes, processes=processes).bytes
        raise RuleError(
            f"holds no slot: {_tasks(processes)} of {peak.name} {mib(peak.bytes)} need {mib(needed)}",
            "give more memory or a smaller cache, or send more tasks to the big pool",
            ("limit_bytes",),
            wishes.limit_bytes,
        )
    return replace(worker, slots=slots, processes=slots if one_each else worker.processes)


def _tasks(processes: int) -> str:
    return "a process and a task" if processes == 1 else f"{processes} processes with a task each,"


def _warnings(peak: Quantile, peaks: LayerPeaks, pools: TwoPools, wishes: Wishes) -> list[str]:
    said = []
    if peak.at_least:
        said.append(
            f"the true p{peak.quantile * 100:g} is not known: measure again with more memory for a task than "
            f"{mib(peak.bytes)}, and take these figures for the least"
        )
    if not peaks.values:
        said.append("no task ended within its memory: there are only lower bounds")
    if wishes.baseline_bytes is None and peaks.baseline_bytes is None:
        said.append(
            f"no record has a baseline: {mib(BASELINE_BYTES)} a process are assumed; give yours with --baseline"
        )
    cache = lint(
        pinned(wishes.cache_bytes),
        pools.small_limit_bytes,
        limit_bytes=pools.small_limit_bytes,
        processes=pools.processes,
    )
    return [*said, *(str(problem) for problem in cache)]


def _share_above(tasks: Sequence[Task], pools: TwoPools) -> float:
    threshold = pools.threshold_bytes
    return sum(task.bytes > threshold for task in tasks) / len(tasks)


def _no_tail(tasks: Sequence[Task], pools: TwoPools, wishes: Wishes) -> list[str]:
    """Where peaks are alike, half a slot lies below most of them, and the rule sends them all to the serial worker."""
    share = _share_above(tasks, pools)
    if share <= _MOST_ABOVE:
        return []
    said = (
        f"{share * 100:.0f} % of these tasks lie above the threshold of {mib(pools.threshold_bytes)} and would run one "
        "after the other: "
    )
    if wishes.threshold_share < ESTIMATE_SHARE:
        other = _share_above(tasks, _with_share(pools, ESTIMATE_SHARE))
        return [
            f"{said}give --threshold {ESTIMATE_SHARE:g}, with which it is {other * 100:.0f} %, if no estimate is below "
            f"{ESTIMATE_SHARE:g} of what its task held; `raster bill` shows what either costs"
        ]
    return [f"{said}give more headroom or memory, or have several big workers"]


def _with_share(pools: TwoPools, share: float) -> TwoPools:
    return replace(pools, given_threshold_bytes=int(pools.slot_budget_bytes * share))


def _whole_mib(count: int) -> int:
    return -(-count // MIB) * MIB
