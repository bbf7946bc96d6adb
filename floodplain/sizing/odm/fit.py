"""Where the model's constants come from: the few numbers that serve the observations best. The same each time.

A search by hand suffices for five numbers on a grid. The grid is as coarse as the evidence: finer steps would
follow single observations.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict

from floodplain.sizing.odm.observations import Observation
from floodplain.sizing.odm.peak import Constants, peak_gib
from floodplain.sizing.workload import Workload

SAFETY = 3.0
"""How much worse it is to predict a share too little, which kills a job, than too much, which costs."""
CLEARANCE = 1.1
"""A killed job needed more than it had; how much more nobody saw. A tenth is asked for."""
MOST_SHORT = 2.0
"""Jobs of like size differ by a factor of two. What lacks more than that has a cause that the model does not know, and
lacking more is counted no worse."""
EXPECTED_STEEPER, STEEPER_WEIGHT = 1.25, 4.0
"""Two jobs alone tell how fast memory grows beyond the knee: without them a quarter faster is expected."""


def _grid(first: float, step: float, count: int) -> tuple[float, ...]:
    return tuple(round(first + step * place, 6) for place in range(count))


GRID: dict[str, tuple[float, ...]] = {
    "base_gib": _grid(1.0, 0.25, 13),
    "gib_per_image": _grid(0.05, 0.001, 51),
    "steeper": _grid(1.0, 0.05, 13),
    "high_quality": _grid(1.0, 0.05, 31),
    "fast_orthophoto": _grid(0.5, 0.05, 11),
}
"""Values each constant may take; fast-orthophoto never costs more than the full job."""
_START = Constants(base_gib=2.5, gib_per_image=0.07, steeper=1.2, high_quality=1.4, fast_orthophoto=0.9)


def fit(observations: Sequence[Observation], safety: float = SAFETY) -> Constants:
    """The constants with the least loss: one is moved at a time until none gets better."""
    jobs = [(one, one.workload) for one in observations]
    best, least = _START, _loss(_START, jobs, safety)
    moved = True
    while moved:
        moved = False
        for name, values in GRID.items():
            for value in values:
                candidate = Constants(**{**asdict(best), name: value})
                lost = _loss(candidate, jobs, safety)
                if lost < least - 1e-9:
                    best, least, moved = candidate, lost, True
    return best


def _loss(constants: Constants, jobs: Sequence[tuple[Observation, Workload]], safety: float) -> float:
    """Shares too little weigh `safety` times shares too much."""
    lost = STEEPER_WEIGHT * math.log(constants.steeper / EXPECTED_STEEPER) ** 2
    for one, workload in jobs:
        peak = peak_gib(workload, constants)
        if one.low_gib is not None:
            lost += safety * math.log(min(max(1.0, CLEARANCE * one.low_gib / peak), MOST_SHORT))
        if one.high_gib is not None:
            lost += max(0.0, peak / one.high_gib - 1)
    return lost
