"""Distributions of measured peaks by layer: sketches to merge across workers, and a histogram for Prometheus.

Only true peaks of single tasks are values. A task that was killed, that swapped or failed gives a lower bound, and one
that shared its process gives the figure of a set: these are counted apart, and never observed as a value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from floodplain.quantity import GIB, MIB
from floodplain.raster.quantile import Quantile, of_sketches
from floodplain.raster.record import Outcome, Record
from floodplain.raster.sketch import sketch_of

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

SMALLEST_BUCKET_BYTES, GROWTH = 16 * MIB, 1.1
"""Ten percent: p99 by linear interpolation is then off by 5.2 % at most, not by 44 % as with powers of two
(facts/sizing.md 6). 88 buckets reach from 16 MiB to 64 GiB."""


def is_value(record: Record) -> bool:
    """Whether its peak is what the task needs, not a bound and not the figure of a set."""
    return not record.is_bound and record.concurrent == 1


def bucket_bounds(largest_bytes: int) -> tuple[int, ...]:
    """Upper bounds for a Prometheus histogram, the last one above `largest_bytes`, the limit of the big pool.

    Whatever then still lies in +Inf is a task that no pool takes; alert on it. Raises ValueError below 16 MiB.
    """
    if largest_bytes < SMALLEST_BUCKET_BYTES:
        raise ValueError(f"largest_bytes: {largest_bytes!r} is below {SMALLEST_BUCKET_BYTES} (16 MiB); write the limit "
                         "of the big pool in bytes")  # fmt: skip
    bounds = [SMALLEST_BUCKET_BYTES]
    while bounds[-1] <= largest_bytes:
        bounds.append(round(SMALLEST_BUCKET_BYTES * GROWTH ** len(bounds)))
    return tuple(bounds)


@dataclass
class LayerSketch:
    """Of one layer. Two sketches: true peaks, and lower bounds (killed, swapped, failed)."""

    values: Any
    lower_bounds: Any
    killed: int = 0
    sets: int = 0
    """Figures of tasks that shared their process; in neither sketch."""


class PeakSketches:
    """DDSketches by layer: every quantile within 1 % of a peak, and mergeable. They pickle."""

    def __init__(self) -> None:
        self.layers: dict[str, LayerSketch] = {}

    def observe(self, record: Record) -> None:
        layer = self._of(record.layer)
        layer.killed += record.outcome is Outcome.KILLED
        if record.concurrent > 1:
            layer.sets += 1
        else:
            (layer.values if is_value(record) else layer.lower_bounds).add(record.peak_bytes)

    def merge(self, other: PeakSketches) -> None:
        """Add what another worker has seen."""
        for name, theirs in other.layers.items():
            ours = self._of(name)
            ours.values.merge(theirs.values)
            ours.lower_bounds.merge(theirs.lower_bounds)
            ours.killed += theirs.killed
            ours.sets += theirs.sets

    def quantile(self, layer: str, quantile: float = 0.99) -> Quantile:
        """By true peaks and lower bounds together; see `quantile`. Raises RuleError for a layer without any."""
        known = self._of(layer)
        return of_sketches(known.values, known.lower_bounds, quantile=quantile)

    def _of(self, name: str) -> LayerSketch:
        if name not in self.layers:
            self.layers[name] = LayerSketch(sketch_of(()), sketch_of(()))
        return self.layers[name]


class PeakMetrics:
    """Metrics for Prometheus: `floodplain_raster_task_peak_bytes{layer}`, and counters of what is no value.

    Give `observe` to `measured(on_record=...)`. Bytes, as Prometheus names its units.
    """

    def __init__(self, largest_bytes: int = 64 * GIB, registry: CollectorRegistry | None = None) -> None:
        """`largest_bytes`: the limit of the big pool. `registry`: Prometheus' own by default."""
        from prometheus_client import REGISTRY, Counter, Histogram

        registry = registry or REGISTRY
        self._peaks = Histogram(
            "floodplain_raster_task_peak_bytes",
            "Peak memory of the process while it worked at one task",
            ["layer"],
            buckets=bucket_bounds(largest_bytes),
            registry=registry,
        )
        self._killed = Counter(
            "floodplain_raster_task_killed", "Tasks that were killed for memory", ["layer"], registry=registry
        )
        self._unobserved = Counter(
            "floodplain_raster_task_unobserved",
            "Tasks whose peak is no value: bound (it swapped or failed) or set (it shared its process)",
            ["layer", "reason"],
            registry=registry,
        )

    def observe(self, record: Record) -> None:
        if record.outcome is Outcome.KILLED:
            self._killed.labels(record.layer).inc()
        elif is_value(record):
            self._peaks.labels(record.layer).observe(record.peak_bytes)
        else:
            self._unobserved.labels(record.layer, "set" if record.concurrent > 1 else "bound").inc()
