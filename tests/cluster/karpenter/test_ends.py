"""How do nodes of a pool end? Interruption messages, an instance that stops, emptiness, expiry: as documented.

All nodes are launched together before the first test, which saves a minute.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import datetime

import pytest

from testbed.aws.interruption import Kind
from tests.cluster.karpenter.bed import CLAIMS, INSTALLATION, PODS, Bed, Object, alone, pod, swap_pool

TOLD = ("spot", "stopping", "health", "rebalance", "unheard")
MESSAGES = swap_pool("messages", families=["m6id"], vcpus=[2])
EMPTIED = swap_pool("emptied", families=["m6id"], vcpus=[2], disruption={"consolidate_after": "0s"})
OCCUPIED = swap_pool("occupied", families=["m6id"], vcpus=[2], disruption={"consolidate_after": "0s"})
EXPIRING = swap_pool("expiring", families=["m6id"], vcpus=[2], longest_job="10s", disruption={"expire_after": "30s"})


@dataclass(frozen=True)
class Started:
    """The NodeClaim below each job, and when the job of EMPTIED ended."""

    claims: dict[str, Object]
    emptied_at: float


@pytest.fixture(scope="module")
def started(bed: Bed) -> Started:
    jobs = {f"told-{kind}": MESSAGES for kind in TOLD} | {"empty": EMPTIED, "busy": OCCUPIED}
    jobs |= dict.fromkeys(("expires", "expires-unprotected"), EXPIRING)
    bed.apply(MESSAGES, EMPTIED, OCCUPIED, EXPIRING)
    for name, pool in jobs.items():
        annotations = {"karpenter.sh/do-not-disrupt": "true"} if name == "expires" else {}
        bed.api.must_apply(alone(pod(name, pool, "1Gi", annotations=annotations), "ends"))
    claims = {name: bed.claim_of(bed.running(name)) for name in jobs}
    bed.finish("empty")
    return Started(claims, time.monotonic())


def ending(bed: Bed, claim: Object) -> bool:
    """Whether a NodeClaim is on its way out or gone."""
    found = bed.api.find(f"{CLAIMS}/{claim['metadata']['name']}")
    return found is None or "deletionTimestamp" in found["metadata"]


def instance_id(claim: Object) -> str:
    return str(claim["status"]["providerID"].rpartition("/")[2])


@pytest.mark.parametrize("kind", ["spot", "stopping", "health"])
def test_a_message_that_an_instance_will_go_takes_its_node_away_at_once(bed: Bed, started: Started, kind: Kind) -> None:
    claim = started.claims[f"told-{kind}"]
    told = time.monotonic()
    [delivery] = bed.aws.interrupt(kind, instance_id(claim))
    assert delivery.queue == INSTALLATION.queue_arn
    bed.until(f"the node goes after {kind}", lambda: ending(bed, claim))
    took = time.monotonic() - told
    print(f"{kind}: acted on after {took:.1f} s")
    assert took < 30


def test_a_rebalance_recommendation_is_told_and_nothing_else(bed: Bed, started: Started) -> None:
    claim = started.claims["told-rebalance"]
    bed.aws.interrupt("rebalance", instance_id(claim))
    assert "rebalance recommendation" in recommendation(bed, claim)
    assert not ending(bed, claim)


def test_without_its_rule_an_event_reaches_nobody(bed: Bed, started: Started) -> None:
    claim, events = started.claims["told-unheard"], bed.aws.client("events")
    rule = INSTALLATION.rule_name("state-change")
    targets = events.list_targets_by_rule(Rule=rule)["Targets"]
    events.remove_targets(Rule=rule, Ids=[target["Id"] for target in targets])
    try:
        assert bed.aws.interrupt("stopping", instance_id(claim)) == []
    finally:
        events.put_targets(Rule=rule, Targets=targets)
    # The next message arrives, so that the queue is read all the time.
    bed.aws.interrupt("rebalance", instance_id(claim))
    recommendation(bed, claim)
    assert not ending(bed, claim)


def recommendation(bed: Bed, claim: Object) -> str:
    """Karpenter's words about a rebalance recommendation for a NodeClaim."""
    selector = f"involvedObject.name={claim['metadata']['name']},reason=SpotRebalanceRecommendation"
    [event] = bed.until(
        "Karpenter tells of the recommendation",
        lambda: bed.api.items("/api/v1/namespaces/default/events", fieldSelector=selector) or None,
    )
    return str(event["message"])


def test_an_instance_that_powers_itself_off_at_boot_is_replaced(bed: Bed) -> None:
    pool = bed.apply(swap_pool("fails-once", families=["m6id"], vcpus=[2]))

    def first_of_pool(instance: object) -> bool:
        assert isinstance(instance, dict)
        tags = {tag["Key"]: tag["Value"] for tag in instance["Tags"]}
        return tags["karpenter.sh/nodepool"] == pool.name and not bed.kubelets.powered_off

    bed.kubelets.powers_off = first_of_pool
    try:
        bed.api.must_apply(pod("waits", pool, "1Gi"))
        [failed] = bed.until("an instance powers itself off", lambda: list(bed.kubelets.powered_off) or None)
        off = time.monotonic()
        running = bed.running("waits")
        took = time.monotonic() - off
    finally:
        bed.kubelets.powers_off = lambda instance: False
    assert bed.instance_of(running)[1] != failed
    bed.until(
        "the failed instance is terminated",
        lambda: bed.aws.instance(failed)["State"]["Name"] == "terminated",
    )
    print(f"powered off at boot: the pod runs on another instance after {took:.1f} s")
    # Registration alone would be waited for 15 minutes.
    assert took < 60


def test_a_node_expires_at_its_age_and_a_protected_job_runs_on_within_the_grace(bed: Bed, started: Started) -> None:
    path = f"{CLAIMS}/{started.claims['expires']['metadata']['name']}"
    bed.until("the node expires", lambda: "deletionTimestamp" in bed.api.get(path)["metadata"])
    metadata = bed.api.get(path)["metadata"]
    expired, made = (
        datetime.strptime(metadata[key], "%Y-%m-%dT%H:%M:%SZ") for key in ("deletionTimestamp", "creationTimestamp")
    )
    age = (expired - made).total_seconds()
    assert 30 <= age <= 50, f"expired after {age} s"
    assert EXPIRING.disruption.grace_period(EXPIRING.longest_job) == "1h10s"
    assert bed.running("expires")["metadata"].get("deletionTimestamp") is None


def test_a_job_without_do_not_disrupt_is_evicted_as_soon_as_its_node_expires(bed: Bed, started: Started) -> None:
    """Its neighbour in the same pool, which has the annotation and as old a node, runs on."""
    claim = started.claims["expires-unprotected"]
    bed.until("its node expires", lambda: ending(bed, claim))
    expired = time.monotonic()
    bed.until("the job is evicted", lambda: bed.api.find(f"{PODS}/expires-unprotected") is None)
    took = time.monotonic() - expired
    print(f"expiry: a job without do-not-disrupt is gone {took:.1f} s after its node's end began")
    # The grace of the pool, which its neighbour has, is an hour.
    assert took < 60
    assert bed.running("expires")["metadata"].get("deletionTimestamp") is None


def test_an_empty_node_goes_and_a_busy_one_stays(bed: Bed, started: Started) -> None:
    bed.until("the empty node goes", lambda: ending(bed, started.claims["empty"]))
    print(f"empty node: gone {time.monotonic() - started.emptied_at:.0f} s after its job at most")
    assert not ending(bed, started.claims["busy"])
