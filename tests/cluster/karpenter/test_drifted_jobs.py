"""What becomes of a job whose node drifts? It depends on do-not-disrupt, the pool's grace and its budgets.

All pools get their node and then the same edit before the first test.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from components.pool_boot import boot_text
from components.pool_objects import node_pool
from components.swap_pool import SwapPool
from nodeconfig.archive import read_archive
from tests.cluster.karpenter.bed import CLAIMS, PODS, Bed, Object, condition, pod, swap_pool

PROTECTED = {"karpenter.sh/do-not-disrupt": "true"}
DISRUPTED = {"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}
_SMALL: dict[str, Any] = {"families": ["m6id"], "vcpus": [2]}
_NO_BUDGET: dict[str, Any] = {"disruption": {"budgets": [{"nodes": "0", "reasons": ["Drifted"]}]}}
_SHORT: dict[str, Any] = {"longest_job": "15s", "disruption": {"termination_grace_period": "20s"}}
_ONE_NODE: dict[str, Any] = {"limits": {"cpu": "2", "memory": "8Gi", "nodes": "1"}}
_EDIT: dict[str, Any] = {"swap": {"swappiness": 61}}

CASES: dict[str, tuple[dict[str, Any], Mapping[str, str]]] = {
    "plain": ({}, {}),
    "no-grace": ({}, PROTECTED),
    "default-grace": ({}, PROTECTED),
    "short-grace": (_SHORT, PROTECTED),
    "at-limits": (_ONE_NODE, {}),
    "above-limits": (_ONE_NODE, {}),
    "no-budget": (_NO_BUDGET, {}),
    "no-budget-protected": (_NO_BUDGET, PROTECTED),
}
"""Pool and job by name: what differs from the defaults, and the job's annotations."""


@dataclass(frozen=True)
class Drifting:
    """The NodeClaim of each case, and when the edit was made."""

    claims: dict[str, Object]
    edited_at: float


def pool_of(name: str, **edit: Any) -> SwapPool:
    return swap_pool(name, **{**_SMALL, **CASES[name][0], **edit})


@pytest.fixture(scope="module")
def drifting(bed: Bed) -> Drifting:
    bed.apply(*(pool_of(name) for name in CASES))
    # SwapNodePool always sets a grace; here one is taken off.
    without_grace = node_pool(pool_of("no-grace"))
    del without_grace["spec"]["template"]["spec"]["terminationGracePeriod"]
    bed.api.must_apply(without_grace)
    bed.ready(pool_of("no-grace"))
    for name, (_, marks) in CASES.items():
        bed.api.must_apply(pod(name, pool_of(name), "1Gi", annotations=dict(marks)))
    claims = {name: bed.claim_of(bed.running(name)) for name in CASES}
    for claim in claims.values():
        bed.initialized(claim)
    lowered = node_pool(pool_of("above-limits"))
    lowered["spec"]["limits"]["cpu"] = "1"
    bed.api.must_apply(lowered)
    for name in CASES:
        bed.api.must_apply(bed.node_class_of(pool_of(name, **_EDIT)))
    return Drifting(claims, time.monotonic())


def path_of(claim: Object) -> str:
    return f"{CLAIMS}/{claim['metadata']['name']}"


def on_its_way_out(bed: Bed, claim: Object) -> bool:
    found = bed.api.find(path_of(claim))
    return found is None or "deletionTimestamp" in found["metadata"]


def blocked(bed: Bed, kind: str, name: str, words: str) -> bool:
    """Wait until Karpenter gives these words as a reason for leaving an object; it may have had others before."""
    selector = f"involvedObject.name={name},involvedObject.kind={kind},reason=DisruptionBlocked"
    return bed.until(
        f"Karpenter leaves {kind} {name}: {words}",
        lambda: any(
            words in event["message"]
            for event in bed.api.items("/api/v1/namespaces/default/events", fieldSelector=selector)
        ),
    )


def drifted_and_kept(bed: Bed, claim: Object) -> bool:
    found = bed.api.get(path_of(claim))
    return condition(found, "Drifted").get("status") == "True" and "deletionTimestamp" not in found["metadata"]


def test_at_the_end_of_the_grace_a_protected_job_is_ended(bed: Bed, drifting: Drifting) -> None:
    """The first test, so that the twenty seconds are seen to pass."""
    claim = drifting.claims["short-grace"]
    bed.until("the old node is on its way out", lambda: on_its_way_out(bed, claim))
    begun = time.monotonic()
    bed.until("the job is ended", lambda: bed.api.find(f"{PODS}/short-grace") is None)
    took = time.monotonic() - begun
    # A pod is deleted its own grace (5 s) before the node's is over.
    assert 8 <= took <= 30, f"ended after {took:.0f} s"
    bed.until("the old node is gone", lambda: bed.api.find(path_of(claim)) is None)


def test_a_job_without_the_annotation_is_evicted_when_a_new_node_is_ready(bed: Bed, drifting: Drifting) -> None:
    claim, pool = drifting.claims["plain"], pool_of("plain")
    bed.until("the old node is on its way out", lambda: on_its_way_out(bed, claim))
    newer = [one for one in bed.claims(pool) if one["metadata"]["name"] != claim["metadata"]["name"]]
    assert [condition(one, "Initialized").get("status") for one in newer] == ["True"]
    print(f"drift: a new node is ready {time.monotonic() - drifting.edited_at:.0f} s after the edit at most")
    bed.until("the job is evicted", lambda: bed.api.find(f"{PODS}/plain") is None)
    bed.until("the old node is gone", lambda: bed.api.find(path_of(claim)) is None)


def test_a_node_is_replaced_although_its_pool_is_at_its_limits(bed: Bed, drifting: Drifting) -> None:
    """Karpenter leaves the node that goes out of its sum: for a while the pool has two."""
    claim, pool = drifting.claims["at-limits"], pool_of("at-limits", **_EDIT)
    bed.until("the old node is on its way out", lambda: on_its_way_out(bed, claim))
    newer = [one for one in bed.claims(pool) if one["metadata"]["name"] != claim["metadata"]["name"]]
    assert [condition(one, "Initialized").get("status") for one in newer] == ["True"]
    bed.until("the job is evicted", lambda: bed.api.find(f"{PODS}/at-limits") is None)


def test_without_a_grace_do_not_disrupt_keeps_a_drifted_node(bed: Bed, drifting: Drifting) -> None:
    claim = drifting.claims["no-grace"]
    assert blocked(bed, "NodeClaim", claim["metadata"]["name"], 'Pod has "karpenter.sh/do-not-disrupt" annotation')
    assert drifted_and_kept(bed, claim)


def test_with_the_default_grace_the_node_takes_no_job_more_and_ends_with_its_last(bed: Bed, drifting: Drifting) -> None:
    """No node is launched in its place until a job needs one: the one that runs cannot move."""
    claim, pool = drifting.claims["default-grace"], pool_of("default-grace", **_EDIT)
    bed.until("the old node is on its way out", lambda: on_its_way_out(bed, claim))
    assert [one["metadata"]["name"] for one in bed.claims(pool)] == [claim["metadata"]["name"]]
    node = bed.node_of(bed.running("default-grace"))
    assert DISRUPTED in [{key: taint[key] for key in ("key", "effect")} for taint in node["spec"]["taints"]]

    # Small enough to fit beside the first.
    [next_job] = bed.run(pod("next-job", pool, "1Gi", annotations=dict(PROTECTED)))
    assert bed.node_of(next_job)["spec"]["providerID"] != claim["status"]["providerID"]
    _, instance = bed.instance_of(next_job)
    merged = read_archive(bed.aws.launch_template_of(instance).user_data.decode()).parts
    assert merged[:-1] == read_archive(boot_text(pool)).parts

    assert bed.running("default-grace")["metadata"].get("deletionTimestamp") is None
    bed.finish("default-grace")
    bed.until("the old node goes with its job", lambda: bed.api.find(path_of(claim)) is None)


@pytest.mark.parametrize("name", ["no-budget", "no-budget-protected"])
def test_a_zero_budget_keeps_a_drifted_node_with_any_job(bed: Bed, drifting: Drifting, name: str) -> None:
    assert blocked(bed, "NodePool", name, "due to blocking budget")
    assert drifted_and_kept(bed, drifting.claims[name])


def test_a_pool_that_was_given_lower_limits_than_it_uses_keeps_a_drifted_node(bed: Bed, drifting: Drifting) -> None:
    claim, pool = drifting.claims["above-limits"], pool_of("above-limits", **_EDIT)
    words = "all available instance types exceed limits for nodepool"
    assert blocked(bed, "NodeClaim", claim["metadata"]["name"], words)
    assert drifted_and_kept(bed, claim)
    bed.apply(pool)
    bed.until("with its limits back the node is on its way out", lambda: on_its_way_out(bed, claim))
