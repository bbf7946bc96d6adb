"""The quantile of peaks from which a worker is sized, what it rests on, and when there is only a lower bound.

Pure. Design decision 11: below 299 peaks the maximum times a factor; else DDSketch, values and lower bounds in a sketch
each, combined by Kaplan-Meier over their buckets.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Any

from floodplain.byte_amount import mib
from floodplain.problem import RuleError
from floodplain.raster.sketch import RELATIVE_ERROR, buckets, maximum, sketch_of

CONFIDENCE = 0.95
FACTOR = 1.1
"""On the maximum of few peaks: of all simple rules the one with the least waste in a replay of 13,930 tasks
(facts/sizing.md 5.6)."""


class Rule(StrEnum):
    """How the figure came about."""

    MAXIMUM = "maximum"
    SKETCH = "sketch"
    KAPLAN_MEIER = "kaplan-meier"
    LOWER_BOUND = "lower-bound"


@dataclass(frozen=True)
class Quantile:
    """A figure in bytes, or a bound of it."""

    bytes: int
    at_least: bool
    """The quantile is this or more, by an unknown amount: never call it a p99."""
    rule: Rule
    quantile: float
    values: int
    """Peaks that are known."""
    bounds: int
    """Peaks of which only a lower bound is known."""
    why: str

    @property
    def name(self) -> str:
        """`p99`, `p99 by maximum` where there are few peaks, or `at least`, which is none."""
        if self.at_least:
            return "at least"
        return f"p{self.quantile * 100:g}{' by maximum' if self.rule is Rule.MAXIMUM else ''}"

    @property
    def confidence(self) -> float:
        """That the largest of so many peaks lies above the quantile: 1 - q^n (facts/sizing.md 6)."""
        return float(1 - self.quantile**self.values)


def enough(quantile: float) -> int:
    """How many peaks it takes until their maximum lies above the quantile with 95 %: 299 for the p99."""
    return math.ceil(math.log(1 - CONFIDENCE) / math.log(quantile))


def quantile_of(
    values: Iterable[float], bounds: Iterable[float] = (), *, quantile: float = 0.99, factor: float = FACTOR
) -> Quantile:
    """The quantile of peaks in bytes, some of which are only known as lower bounds. Raises RuleError without any."""
    return of_sketches(sketch_of(values), sketch_of(bounds), quantile=quantile, factor=factor)


def of_sketches(values: Any, bounds: Any, *, quantile: float = 0.99, factor: float = FACTOR) -> Quantile:
    """The same of two DDSketches of one accuracy: known peaks, and lower bounds."""
    if not 0 < quantile < 1:
        raise RuleError("is no quantile", "give one between 0 and 1, such as 0.99", ("quantile",), quantile)
    known, unknown = round(values.count), round(bounds.count)
    if known + unknown == 0:
        raise RuleError("there are no peaks", "measure tasks first")
    largest, largest_bound = maximum(values), maximum(bounds)
    name = f"p{quantile * 100:g}"

    def answer(count: float | Fraction, rule: Rule, why: str) -> Quantile:
        at_least = rule is Rule.LOWER_BOUND
        return Quantile(math.ceil(count), at_least, rule, quantile, known, unknown, why)

    lower_bounds = f"{unknown:,} lower bound{'s' if unknown != 1 else ''}"
    if known < enough(quantile):
        if largest_bound > largest:
            why = (
                f"the largest of {_tasks(known + unknown)} is a lower bound, {mib(largest_bound)}: the {name} may be "
                "any more"
            )
            return answer(largest_bound, Rule.LOWER_BOUND, why)
        confidence = math.floor(100 * (1 - quantile**known))
        why = (
            f"{_tasks(known)}, fewer than {enough(quantile)}: the maximum, {mib(largest)}, times {factor:g}; by "
            f"itself it lies above the {name} with a probability of {confidence} %"
        )
        return answer(Fraction(largest) * Fraction(str(factor)), Rule.MAXIMUM, why)
    found = _kaplan_meier(values, bounds, quantile)
    if found is None:
        why = f"the {name} of {_tasks(known + unknown)} lies among {lower_bounds}, up to {mib(largest_bound)}"
        return answer(max(largest, largest_bound), Rule.LOWER_BOUND, why)
    if unknown:
        why = f"{_tasks(known)} and {lower_bounds}, by Kaplan-Meier over buckets of {RELATIVE_ERROR * 100:g} %"
        return answer(min(found, largest), Rule.KAPLAN_MEIER, why)
    why = f"{_tasks(known)}, by DDSketch with a relative error of {RELATIVE_ERROR * 100:g} %"
    return answer(min(found, largest), Rule.SKETCH, why)


def _kaplan_meier(values: Any, bounds: Any, quantile: float) -> float | None:
    """The value of the least bucket up to which a share of `quantile` ends; None where the lower bounds hide it.

    Survival after each bucket: S x (1 - ended / at risk), where at risk is whatever has not ended and is not hidden
    before. Of one bucket what ended comes first. Source: Kaplan and Meier 1958, doi 10.1080/01621459.1958.10501452.
    """
    ended, hidden = buckets(values), buckets(bounds)
    at_risk = values.count + bounds.count
    survival = 1.0
    for value in sorted(ended.keys() | hidden.keys()):
        survival *= 1 - ended.get(value, 0.0) / at_risk
        # Sums of shares come out a little above or below the round figure.
        if ended.get(value) and survival <= 1 - quantile + 1e-12:
            return value
        at_risk -= ended.get(value, 0.0) + hidden.get(value, 0.0)
        if at_risk <= 0:
            break
    return None


def _tasks(count: int) -> str:
    return f"{count:,} task{'' if count == 1 else 's'}"
