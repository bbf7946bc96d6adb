"""`pulumi destroy` while a job still runs on a node that real Karpenter launched: it waits, and leaves nothing behind.

The node is a stand-in (no container runs), Karpenter and everything that drains it are real.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest

from floodplain import pools
from testbed.bed import Bed, open_bed
from testbed.chain import CLAIMS, PODS, pod
from testbed.cluster.fake_kubelets import fake_kubelets
from testbed.processes import wait_until
from testbed.pulumi.steps import Outcome
from testbed.state import State
from tests.cluster.admitted import admitted
from tests.cluster.pulumi.inventory import in_aws, in_the_cluster

POOL = "/apis/karpenter.sh/v1/nodepools/swap"
WATCHED_SECONDS = 15


@dataclass(frozen=True)
class Seen:
    """Once while the job ran and the destroy waited, and at the end."""

    cluster_while_waiting: dict[str, list[str]]
    aws_while_waiting: dict[str, list[Any]]
    claims_while_waiting: set[str]
    phases_while_waiting: set[str]
    over_before_the_job: bool
    outcome: Outcome
    waited_seconds: float
    left_in_the_cluster: dict[str, list[str]]
    left_in_aws: dict[str, list[Any]]
    before: dict[str, list[Any]]
    instances: set[str]


@pytest.fixture(scope="module")
def seen() -> Iterator[Seen]:
    with State() as state, open_bed(state) as bed, fake_kubelets(state, bed.cluster.api, bed.aws):
        before = in_aws(bed.aws)
        bed.deploy()
        job, _ = admitted(pod(peak_mib=64), pools.read(bed.project.outputs()["pools"].encode()))
        answer = bed.cluster.api.create(job)
        assert answer.ok, answer.message
        wait_until("the job runs", lambda: _phase(bed) == "Running", process=bed.karpenter.process, timeout_seconds=120)
        # As in any cluster older than half a minute. Before that a pool would go without waiting for its nodes, and
        # only the node class would wait.
        bed.cluster.wait_until_collected("nodeclaims")
        with ThreadPoolExecutor(1) as worker:
            destroy = worker.submit(bed.project.destroy)
            try:
                wait_until("the pool is being deleted", lambda: _deleting(bed), timeout_seconds=120)
                claims, phases = set(), set()
                begun = time.monotonic()
                while time.monotonic() - begun < WATCHED_SECONDS:
                    claims |= {one["metadata"]["name"] for one in bed.cluster.api.items(CLAIMS)}
                    phases.add(_phase(bed))
                    time.sleep(0.5)
                cluster, aws, over = in_the_cluster(bed), in_aws(bed.aws), destroy.done()
            finally:
                # The job ends by itself; without that a failed check would wait for the pool's grace of hours.
                bed.cluster.api.patch(f"{PODS}/peak/status", {"status": {"phase": "Succeeded"}})
            outcome = destroy.result(timeout=300)
        yield Seen(
            cluster_while_waiting=cluster,
            aws_while_waiting=aws,
            claims_while_waiting=claims,
            phases_while_waiting=phases,
            over_before_the_job=over,
            outcome=outcome,
            waited_seconds=outcome.seconds,
            left_in_the_cluster=in_the_cluster(bed),
            left_in_aws=in_aws(bed.aws),
            before=before,
            instances=_instance_states(bed),
        )


def _phase(bed: Bed) -> str:
    found = bed.cluster.api.find(f"{PODS}/peak") or {}
    return str(found.get("status", {}).get("phase", "gone"))


def _deleting(bed: Bed) -> bool:
    return "deletionTimestamp" in bed.cluster.api.get(POOL)["metadata"]


def _instance_states(bed: Bed) -> set[str]:
    answer = bed.aws.client("ec2").describe_instances()
    return {one["State"]["Name"] for found in answer["Reservations"] for one in found["Instances"]}


def test_the_job_goes_on_and_its_node_is_not_orphaned(seen: Seen) -> None:
    assert seen.phases_while_waiting == {"Running"}
    assert len(seen.claims_while_waiting) == 1
    assert not seen.over_before_the_job


def test_all_that_the_drain_needs_is_still_there(seen: Seen) -> None:
    found = seen.cluster_while_waiting
    assert (found["pools"], found["classes"], found["deployments"]) == (["swap"], ["swap"], ["karpenter"])
    assert found["releases"] == ["karpenter", "karpenter-crd"]
    assert found["policies"] == ["floodplain-swap-advice", "floodplain-swap-containment"]
    assert seen.aws_while_waiting["queues"] == ["Karpenter-testbed"]
    assert len(seen.aws_while_waiting["attachments"]) == 10 + len(seen.before["attachments"])
    assert len(seen.aws_while_waiting["roles"]) == 2 + len(seen.before["roles"])


def test_when_the_job_has_ended_everything_goes_in_order(seen: Seen) -> None:
    order = [urn.rpartition("::")[2] for urn in seen.outcome.order("delete")]
    assert order.index("platform-swap-nodepool") < order.index("platform-swap-nodeclass")
    assert order.index("platform-swap-nodeclass") < order.index("platform-karpenter-controller")
    assert seen.waited_seconds > WATCHED_SECONDS


def test_no_node_no_instance_and_nothing_else_is_left(seen: Seen) -> None:
    assert {key: names for key, names in seen.left_in_the_cluster.items() if names and key != "crds"} == {}
    assert seen.left_in_aws == seen.before
    assert seen.instances == {"terminated"}
