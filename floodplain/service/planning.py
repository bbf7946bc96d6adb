"""Plans for one snapshot, remembered: a page that is looked at again, or a hundred equal jobs, cost one plan. Pure."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from floodplain.service.snapshot import Snapshot
from floodplain.sizing.plan import Plan
from floodplain.sizing.planner import make_plan
from floodplain.sizing.workload import Workload

REMEMBERED = 1024
"""Some 6 KiB each."""


class RememberedPlans:
    """Makes plans, and forgets them as soon as the snapshot has other content."""

    def __init__(self) -> None:
        self._snapshot: Snapshot | None = None
        self._plan: Callable[[Workload, str | None], Plan] | None = None

    def plan(self, workload: Workload, snapshot: Snapshot, pool: str | None = None) -> Plan:
        """The plan in all pools, or in the one named `pool`. Raises RuleError where that does not exist."""
        if self._plan is None or self._snapshot is None or not snapshot.same_content(self._snapshot):
            self._snapshot, self._plan = snapshot, _remembering(snapshot)
        return self._plan(workload, pool)


def _remembering(snapshot: Snapshot) -> Callable[[Workload, str | None], Plan]:
    @lru_cache(maxsize=REMEMBERED)
    def plan(workload: Workload, pool: str | None) -> Plan:
        pools = [one for one in snapshot.pools if pool in (None, one.name)]
        return make_plan(workload, pools, settings=snapshot.settings, prices=snapshot.prices)

    return plan
