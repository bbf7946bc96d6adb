"""By how much the estimates of a layer must grow to cover what its tasks held. Pure.

Factors come from measured tasks that had an estimate. They never make an estimate smaller than FLOOR of itself: a
layer's next task may be of a kind that it has not had.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from floodplain.raster.record import Outcome, Record

ENOUGH = 299
"""Independent tasks of which the largest lies above the 99th percentile with 95 % probability: 1 - 0.99^n."""
COVERED = 0.99
FLOOR = 0.8
"""Least factor, with ENOUGH records: what the model must reach is 0.8 of the truth, so that less is not trusted."""


@dataclass(frozen=True)
class LayerFactor:
    """Of one layer."""

    factor: float
    records: int
    """Tasks with an estimate, whose peak is known or known to be at least so much."""
    censored: int
    """Of them: only known to be at least so much."""
    reason: str


@dataclass(frozen=True)
class Calibration:
    """Factors of all layers that have records."""

    layers: Mapping[str, LayerFactor]

    def factor(self, layer: str) -> float:
        """What to multiply an estimate of this layer by; 1 for a layer without records."""
        return self.of(layer).factor

    def of(self, layer: str) -> LayerFactor:
        """The factor with its reason."""
        return self.layers.get(layer) or LayerFactor(1.0, 0, 0, f"layer {layer} has no records with an estimate")


def calibrate(records: Iterable[Record]) -> Calibration:
    """Factors by layer, from measured / estimated.

    Below ENOUGH records: the largest ratio, but at least 1. From there: the smallest factor that covers 99 % of the
    tasks, but at least FLOOR. The ratio of a censored record (killed, or partly in swap) is a lower bound: nobody knows
    how far above it the task went. Where one lies at or below that percentile, the percentile is not known, and the
    largest ratio is taken, but at least 1. Left out, since they say nothing of one task's peak: records without an
    estimate, of several tasks at once, and of tasks that failed for a reason other than memory.
    """
    ratios: dict[str, list[tuple[float, bool]]] = defaultdict(list)
    for record in records:
        if record.estimate_bytes and record.concurrent == 1 and _tells(record):
            ratios[record.layer].append((record.marginal_bytes / record.estimate_bytes, record.is_bound))
    return Calibration({layer: _factor(layer, found) for layer, found in ratios.items()})


def _tells(record: Record) -> bool:
    return record.outcome is not Outcome.FAILED or record.censored


def _factor(layer: str, ratios: list[tuple[float, bool]]) -> LayerFactor:
    ordered = sorted(ratio for ratio, _ in ratios)
    bounds = [ratio for ratio, censored in ratios if censored]
    count, largest = len(ordered), ordered[-1]
    said = f"layer {layer}: {count} records" + (f", {len(bounds)} of them lower bounds" if bounds else "")
    if count < ENOUGH:
        why = f"{said}, fewer than {ENOUGH}: the largest measured / estimated is {largest:.3g}"
        why += ", and no factor below 1 is taken from so few" if largest < 1 else ""
        return LayerFactor(max(1.0, largest), count, len(bounds), why)
    at = ordered[math.ceil(COVERED * count) - 1]
    if bounds and min(bounds) <= at:
        why = (
            f"{said}: a lower bound lies at or below the 99th percentile, so the largest ratio, {largest:.3g}, is taken"
        )
        return LayerFactor(max(1.0, largest), count, len(bounds), why)
    why = f"{said}: 99 % of them held at most {at:.3g} of their estimates"
    why += f"; no factor below {FLOOR} is taken" if at < FLOOR else ""
    return LayerFactor(max(FLOOR, at), count, len(bounds), why)
