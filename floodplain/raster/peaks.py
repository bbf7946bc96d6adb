"""Which records of a history are peaks of single tasks, which are only lower bounds, and which say neither.

Pure. What quantile follows is `quantile`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median_high

from floodplain.problem import RuleError, did_you_mean
from floodplain.raster.record import Method, Outcome, Record

_MOST_BYTES = 1 << 60
_MOST_SECONDS = 1e9


@dataclass(frozen=True)
class Task:
    """One record as a size: bytes beyond the baseline."""

    bytes: int
    bound: bool
    """The task needed at least this: killed, failed before its end, partly in swap, or cut off by a limit."""
    record: Record


@dataclass(frozen=True)
class LayerPeaks:
    """The tasks of one layer, in the order of the history."""

    layer: str
    tasks: tuple[Task, ...]
    left_out: int = 0
    """Records of sets of tasks, in one process or killed together, where there are records of single tasks too."""
    of_sets: bool = False
    """There are only records of sets: each counts as one task, which is too much rather than too little."""

    @property
    def values(self) -> tuple[int, ...]:
        return tuple(task.bytes for task in self.tasks if not task.bound)

    @property
    def bounds(self) -> tuple[int, ...]:
        return tuple(task.bytes for task in self.tasks if task.bound)

    @property
    def baseline_bytes(self) -> int | None:
        """The largest baseline; None where no record has one."""
        return max((task.record.baseline_bytes for task in self.tasks), default=0) or None

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a reader should know of these records."""
        found = Counter(_why_bound(task.record) for task in self.tasks if task.bound)
        remarks = [f"{count:,} of {len(self.tasks):,} tasks {why}: lower bounds" for why, count in found.items()]
        blind = sum(task.record.outcome is Outcome.KILLED and not task.bytes for task in self.tasks)
        if blind:
            remarks.append(
                f"{blind:,} of the killed have no limit on record and say nothing of the peak, which may be higher "
                "than it seems: measure with a slot limit"
            )
        sampled = sum(task.record.method is Method.SAMPLES for task in self.tasks)
        if sampled:
            remarks.append(f"{sampled:,} peaks were sampled: spikes between two looks are not in them")
        if self.left_out:
            remarks.append(f"{self.left_out:,} records of several tasks at once are left out")
        if self.of_sets:
            remarks.append(
                "every record is of several tasks at once, and counts as one task: measure with one task a "
                "process for a true figure"
            )
        return tuple(remarks)


def layer_peaks(records: Iterable[Record], layer: str | None = None) -> Mapping[str, LayerPeaks]:
    """Tasks by layer, in the order of their first records; only `layer`, where it is given.

    Raises RuleError for a history without records, a layer that is not in it, and a record that cannot be.
    """
    by_layer: dict[str, list[Record]] = {}
    for record in records:
        _check(record)
        by_layer.setdefault(record.layer, []).append(record)
    if not by_layer:
        raise RuleError(
            "has no records", "measure tasks first: `floodplain measure -- COMMAND`, or `measured` in Python"
        )
    if layer is not None:
        if layer not in by_layer:
            known = f"the history has {', '.join(sorted(by_layer))}"
            raise RuleError("is not a layer of the history", did_you_mean(layer, by_layer) or known, value=layer)
        by_layer = {layer: by_layer[layer]}
    return {name: _peaks(name, found) for name, found in by_layer.items()}


def _check(record: Record) -> None:
    """Figures that no machine has would only end as an overflow."""
    named = f"has a task{f' {record.task!r}' if record.task else ''} of layer {record.layer!r} with"
    most = max(record.peak_bytes, record.marginal_bytes, record.baseline_bytes, record.estimate_bytes or 0)
    if most > _MOST_BYTES:
        raise RuleError(f"{named} more than {_MOST_BYTES >> 50} PiB", "correct the record, or remove it")
    if (record.seconds or 0) > _MOST_SECONDS:
        raise RuleError(f"{named} more than {_MOST_SECONDS:g} seconds", "correct the record, or remove it")


def _peaks(layer: str, records: Sequence[Record]) -> LayerPeaks:
    single = [record for record in records if record.concurrent == 1]
    baselines = [record.baseline_bytes for record in records if record.baseline_bytes]
    baseline = median_high(baselines) if baselines else 0
    return LayerPeaks(
        layer=layer,
        tasks=tuple(_task(record, baseline) for record in single or records),
        left_out=len(records) - len(single) if single else 0,
        of_sets=not single,
    )


def _task(record: Record, baseline: int) -> Task:
    count = record.marginal_bytes
    if record.method is Method.NONE and not record.baseline_bytes:
        # Of a killed task only the limit is known, and the process was a part of what filled it.
        count = max(0, count - baseline)
    return Task(count, record.is_bound, record)


def _why_bound(record: Record) -> str:
    if record.outcome is Outcome.KILLED:
        return "were killed for memory"
    if record.outcome is Outcome.FAILED:
        return "failed before their end"
    return "lay partly in swap" if record.swap_peak_bytes else "stood at a limit"
