"""How well a predictor of ODM's peaks does on bounds: what it misses, which kills jobs, and what it has too much.

Not an error of squares: hardly any true peak is known. Any predictor can be judged, ours or another's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from floodplain.sizing.odm.observations import Kind, Observation

Predictor = Callable[[Observation], float]
"""The peak in GiB of a job as it was observed."""

TOLERATED = 1.25
"""Up to a quarter more than has sufficed is no waste that anybody would notice."""


@dataclass(frozen=True)
class Score:
    """Both axes; either alone is made zero by predicting everything or nothing."""

    missed: tuple[str, ...]
    """Observations whose lower bound is not cleared, or whose low end is not reached."""
    over: float
    """Sum over upper bounds of prediction / bound - 1, where that is above zero."""
    far_over: int
    """How many upper bounds are passed by more than a quarter."""

    def __add__(self, other: Score) -> Score:
        return Score(self.missed + other.missed, self.over + other.over, self.far_over + other.far_over)


def score(predictor: Predictor, observations: Iterable[Observation]) -> Score:
    """What `predictor` does on these."""
    missed: list[str] = []
    over, far_over = 0.0, 0
    for one in observations:
        peak_gib = predictor(one)
        if is_missed(one, peak_gib):
            missed.append(one.id)
        if one.high_gib is not None:
            over += max(0.0, peak_gib / one.high_gib - 1)
            far_over += peak_gib > TOLERATED * one.high_gib
    return Score(tuple(missed), over, far_over)


def is_missed(one: Observation, peak_gib: float) -> bool:
    """Whether a job given that much would have died. One that was killed needed more than it had."""
    if one.low_gib is None:
        return False
    return peak_gib <= one.low_gib if one.kind is Kind.LOWER else peak_gib < one.low_gib
