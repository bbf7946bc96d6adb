"""Does real Karpenter call a node drifted exactly when the offline preview says so, for the same reason?"""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial
from typing import Any

import pytest

from components import crd
from components.swap_pool import SwapPool
from tests.cluster.karpenter.bed import Bed, condition, pod, swap_pool

# A budget that keeps drifted nodes, so that their condition can be read.
KEPT: dict[str, Any] = {"budgets": [{"nodes": "0", "reasons": ["Drifted"]}]}
BEFORE: dict[str, Any] = {"families": ["m6id"], "vcpus": [2], "disruption": KEPT}

EDITS: dict[str, dict[str, Any]] = {
    "user-data": {"swap": {"swappiness": 60}},
    "tags": {"tags": {"team": "maps"}},
    "kubelet": {"kubelet": {"max_pods": 20}},
    "root-volume": {"root_volume": {"size": "40Gi"}},
    "ami": {"ami": {"alias": "al2023@v20260801"}},
    "subnets": {"subnets": [{"tags": {"Name": "floodplain-test-us-west-2c"}}]},
    "labels": {"labels": {"team": "maps"}},
    "taint": {"taint": {"key": "dedicated", "value": "maps"}},
    "expiry": {"disruption": {**KEPT, "expire_after": "600h"}},
    "grace": {"longest_job": "47h"},
    "narrower": {"vcpus": [4]},
    "wider": {"vcpus": [2, 4]},
    "limits": {"limits": {"cpu": "100", "memory": "1Ti"}},
    "consolidation": {"disruption": {**KEPT, "consolidate_after": "5m"}},
    "weight": {"weight": 7},
    "nothing": {},
}
"""Edits of a stack file, each made to a pool of its own with a node in zone a."""
LAST = ("limits", "consolidation", "weight", "wider", "nothing")
"""Those that must not drift, looked at when all others have, which then have waited for it already."""


@pytest.fixture(scope="module")
def edited(bed: Bed) -> dict[str, tuple[SwapPool, SwapPool]]:
    """Each pool before and after its edit, with a node that was launched before it."""
    zone = {"topology.kubernetes.io/zone": bed.aws.account.zones[0]}
    pairs = {
        name: (swap_pool(f"edit-{name}", **BEFORE), swap_pool(f"edit-{name}", **{**BEFORE, **edit}))
        for name, edit in EDITS.items()
    }
    bed.apply(*(before for before, _ in pairs.values()))
    for before, _ in pairs.values():
        where = {"floodplain.dev/pool": before.name, **zone}
        bed.api.must_apply(pod(before.name, before, "1Gi", nodeSelector=where))
    for before, _ in pairs.values():
        bed.initialized(bed.claim_of(bed.running(before.name)))
    bed.apply(*(after for _, after in pairs.values()))
    return pairs


def drifted(bed: Bed, pool: SwapPool) -> Mapping[str, Any]:
    """The Drifted condition of a pool's only node, empty without one."""
    [claim] = bed.claims(pool)
    return condition(claim, "Drifted")


@pytest.mark.parametrize("name", sorted(EDITS, key=lambda name: (name in LAST, name)))
def test_a_node_drifts_for_the_reason_that_the_preview_predicts(
    bed: Bed, edited: dict[str, tuple[SwapPool, SwapPool]], name: str
) -> None:
    before, after = edited[name]
    pairs = zip(bed.objects(before), bed.objects(after), strict=True)
    reasons = {field.reason for old, new in pairs for field in crd.drift_fields(old, new)}
    assert bool(reasons) == (name not in LAST)
    if reasons:
        bed.until(f"the node of {before.name} drifts", lambda: drifted(bed, before))
        assert {drifted(bed, before)["reason"]} == reasons
    else:
        for other in EDITS.keys() - LAST:
            pool, _ = edited[other]
            bed.until(f"the node of {pool.name} drifts", partial(drifted, bed, pool))
        # All were edited together, and drift of the others came within a second of each other.
        time.sleep(1)
        assert drifted(bed, before) == {}
