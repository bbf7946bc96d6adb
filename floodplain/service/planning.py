"""Plans and charts for one snapshot, remembered: a page that is looked at again, or a hundred equal jobs, cost one.

Pure but for its memory.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Generic, TypeVar

from floodplain.problem import RuleError
from floodplain.service.snapshot import Snapshot
from floodplain.sizing.chart import chart_svg
from floodplain.sizing.plan import Plan
from floodplain.sizing.planner import make_plan
from floodplain.sizing.workload import Workload

T = TypeVar("T")


class Remembered(Generic[T]):
    """Answers about a workload, forgotten as soon as the snapshot has other content."""

    def __init__(self, make: Callable[[Workload, Snapshot], T], most: int) -> None:
        self._make, self._most = make, most
        self._current: tuple[Snapshot, Callable[[Workload, str | None], T]] | None = None

    def of(self, workload: Workload, snapshot: Snapshot, pool: str | None = None) -> T:
        """The answer in all pools, or in the one named `pool`. Raises RuleError where that does not exist."""
        current = self._current
        if current is None or not snapshot.same_content(current[0]):
            current = self._current = snapshot, self._remembering(snapshot)
        return current[1](workload, pool)

    def _remembering(self, snapshot: Snapshot) -> Callable[[Workload, str | None], T]:
        @lru_cache(maxsize=self._most)
        def answer(workload: Workload, pool: str | None) -> T:
            return self._make(workload, snapshot if pool is None else _only(snapshot, pool))

        return answer


def remembered_plans() -> Remembered[Plan]:
    """Some 6 KiB each, and never more than some 50, whatever is asked."""
    return Remembered(_plan, 512)


def remembered_charts() -> Remembered[str]:
    """The SVG of jobs like a workload, which is marked. Some 20 KiB each, and a quarter of a second to make."""
    return Remembered(_chart, 64)


def _plan(workload: Workload, snapshot: Snapshot) -> Plan:
    return make_plan(workload, snapshot.pools, settings=snapshot.settings, prices=snapshot.prices)


def _chart(workload: Workload, snapshot: Snapshot) -> str:
    return chart_svg(workload, snapshot.pools, snapshot.settings, marked=_plan(workload, snapshot))


def _only(snapshot: Snapshot, name: str) -> Snapshot:
    pools = tuple(pool for pool in snapshot.pools if pool.name == name)
    if not pools:
        raise RuleError("is no pool here", f"there are {', '.join(pool.name for pool in snapshot.pools)}", value=name)
    return replace(snapshot, pools=pools)
