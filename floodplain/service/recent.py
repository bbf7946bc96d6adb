"""The last plans of this process, for people who look at the page. In memory only."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from floodplain.sizing.plan import Plan
from floodplain.sizing.workload import Workload


@dataclass(frozen=True)
class RecentPlan:
    """One of them."""

    at: float
    """Unix time."""
    workload: Workload
    plan: Plan


class Recent:
    """At most 50, the newest first; one that is asked for twice in a row is kept once."""

    KEPT: ClassVar[int] = 50

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._plans: deque[RecentPlan] = deque(maxlen=self.KEPT)

    def add(self, workload: Workload, plan: Plan) -> None:
        """Remember a plan."""
        if self._plans and self._plans[0].plan is plan:
            self._plans.popleft()
        self._plans.appendleft(RecentPlan(self._clock(), workload, plan))

    def plans(self) -> tuple[RecentPlan, ...]:
        """The newest first."""
        return tuple(self._plans)
