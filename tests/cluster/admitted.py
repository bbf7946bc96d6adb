"""A pod as sizing's admission hands it on, where no admission runs: for tests of what comes after it."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import jsonpatch

from floodplain.admission.decide import decide
from floodplain.admission.decision import Mode
from floodplain.admission.subject import Kind
from floodplain.pools import PoolDocument
from floodplain.sizing.plan import Plan
from floodplain.sizing.settings import SizingSettings


def admitted(
    pod: dict[str, Any], pools: Sequence[PoolDocument], settings: SizingSettings | None = None
) -> tuple[dict[str, Any], Plan]:
    """The pod with everything that *enforce* writes, and the plan."""
    decision = decide(pod, Kind.POD, pools, settings or SizingSettings(), Mode.ENFORCE)
    assert decision.allowed, decision.message
    assert decision.plan is not None
    patched: dict[str, Any] = jsonpatch.apply_patch(copy.deepcopy(pod), [dict(one) for one in decision.patch])
    return patched, decision.plan
