"""Plans of round figures, for verdicts that can be checked in the head."""

from __future__ import annotations

from typing import Any

from floodplain.quantity import GIB
from floodplain.sizing.default_pool import default_pool
from floodplain.sizing.plan import Plan
from floodplain.sizing.planner import make_plan
from floodplain.sizing.workload import Workload

WORKLOAD = Workload(images=500)
_MADE = make_plan(WORKLOAD, [default_pool()])


def plan(limit_gib: float = 10, swap_gib: float = 20, **changes: Any) -> Plan:
    """A plan that holds `limit_gib` and `swap_gib`, and requests the limit."""
    limit, swap = int(limit_gib * GIB), int(swap_gib * GIB)
    update = {"limit_bytes": limit, "request_bytes": limit, "swap_grant_bytes": swap, **changes}
    made: Plan = _MADE.model_copy(update=update)
    return made
