"""The mosaic's Jobs in the real Kueue: each waits until its queue has room, and the big queue has room for one.

No kubelet runs: a pod ends only when a test ends it. So two big pods admitted together would be seen together.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from floodplain.quantity import MIB, to_bytes
from mosaic.kueue import NAMESPACE, QUEUE_LABEL, jobs, queues
from mosaic.routes import Place, Route
from mosaic.settings import POOLS
from mosaic.tiles import grid
from testbed.cluster.api import Api, is_true
from testbed.cluster.control_plane import ControlPlane, Options, control_plane
from testbed.cluster.kueue import start_kueue
from testbed.processes import Processes, wait_until
from testbed.state import State

JOBS = f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
WORKLOADS = f"/apis/kueue.x-k8s.io/v1beta2/namespaces/{NAMESPACE}/workloads"


@pytest.fixture(scope="module")
def api() -> Iterator[Api]:
    """A control plane of its own, since Kueue's webhooks would be asked about other tests' Jobs too."""
    with (
        State() as state,
        Processes(state) as processes,
        control_plane(state, processes, Options(scheduler=False)) as cluster,
    ):
        start_kueue(state, processes, cluster)
        _apply_queues(cluster)
        yield cluster.api


def _apply_queues(cluster: ControlPlane) -> None:
    for manifest in queues():
        cluster.api.must_apply(manifest)
    account = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/default"
    wait_until("the namespace has its service account", lambda: cluster.api.find(account))


def _routes() -> list[Route]:
    """Three big tiles of different sizes, and eight small ones."""
    tiles = grid(["s3://scenes/aerial.tif"])
    big = [
        Route(tile=tile, place=Place.BIG, why="", estimate_bytes=count * MIB, terms={"warp chunk": count * MIB})
        for tile, count in zip(tiles[:3], (60, 147, 90), strict=True)
    ]
    small = [
        Route(tile=tile, place=Place.SMALL, why="", estimate_bytes=12 * MIB, terms={"warp chunk": 12 * MIB})
        for tile in tiles[3:11]
    ]
    return big + small


def _live(api: Api, queue: str) -> list[dict[str, Any]]:
    """Pods of a queue's Jobs that have not ended."""
    names = {job["metadata"]["name"] for job in api.items(JOBS) if job["metadata"]["labels"][QUEUE_LABEL] == queue}
    return [
        pod
        for pod in api.items(PODS)
        if pod["metadata"]["labels"]["batch.kubernetes.io/job-name"] in names
        and pod["status"].get("phase") in (None, "Pending", "Running")
    ]


def _at_least(count: int, pods: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return pods if len(pods) >= count else []


def _wait_for_the_next_second(api: Api, job: str) -> None:
    """Kueue orders by the time at which a workload was made, which has whole seconds."""

    def owned() -> list[str]:
        return [
            workload["metadata"]["creationTimestamp"]
            for workload in api.items(WORKLOADS)
            if workload["metadata"]["ownerReferences"][0]["name"] == job
        ]

    [made] = wait_until(f"Kueue has made a workload of {job}", owned)
    second = datetime.strptime(made, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC).timestamp()
    wait_until("the next second has begun", lambda: time.time() >= second + 1)


def _end(api: Api, pod: dict[str, Any]) -> None:
    name = pod["metadata"]["name"]
    answer = api.patch(f"{PODS}/{name}/status", {"status": {"phase": "Succeeded"}})
    assert answer.ok, answer.message


def _admitted(api: Api) -> set[str]:
    """Names of the Jobs whose workloads are admitted and have not ended."""
    return {
        workload["metadata"]["ownerReferences"][0]["name"]
        for workload in api.items(WORKLOADS)
        if is_true(workload, "Admitted") and not is_true(workload, "Finished")
    }


def _asked(pods: list[dict[str, Any]]) -> int:
    return sum(to_bytes(pod["spec"]["containers"][0]["resources"]["requests"]["memory"]) for pod in pods)


def test_jobs_wait_suspended_never_two_big_ones_run_and_all_are_done_in_the_end(api: Api) -> None:
    routes = _routes()
    made = jobs(routes)
    big = [job["metadata"]["name"] for job in made if job["metadata"]["labels"][QUEUE_LABEL] == "big"]
    for job in made:
        answer = api.create(job)
        assert answer.ok, answer.message
        assert answer.body["spec"]["suspend"] is True
        if job["metadata"]["name"] in big:
            _wait_for_the_next_second(api, job["metadata"]["name"])
    order: list[str] = []
    while len(order) < len(big):
        [pod] = wait_until("a big pod is there", lambda: _live(api, "big"))
        name = pod["metadata"]["labels"]["batch.kubernetes.io/job-name"]
        order.append(name)
        assert _admitted(api) & set(big) == {name}
        waiting = {job["metadata"]["name"] for job in api.items(JOBS) if job["spec"]["suspend"]}
        assert waiting >= set(big) - set(order)
        # The small queue goes on meanwhile, and fills what it has: two pods, and not a third.
        small = wait_until("two small pods are there", lambda: _at_least(2, _live(api, "small")))
        assert _asked(small) <= POOLS.small_limit_bytes < _asked(small) * 3 / 2
        for one in small:
            _end(api, one)
        assert [one["metadata"]["name"] for one in _live(api, "big")] == [pod["metadata"]["name"]]
        _end(api, pod)
    # Strictly in the order in which they came, though the second is the largest.
    assert order == big

    def all_done() -> bool:
        for pod in _live(api, "small"):
            _end(api, pod)
        return all(is_true(job, "Complete") for job in api.items(JOBS))

    wait_until("all Jobs are complete", all_done)
    assert len(api.items(JOBS)) == len(routes)
    assert _admitted(api) == set()


def test_a_pods_own_request_is_what_the_big_queue_counts(api: Api) -> None:
    queue = next(one for one in queues() if one["kind"] == "ClusterQueue" and one["metadata"]["name"] == "mosaic-big")
    found = api.get("/apis/kueue.x-k8s.io/v1beta2/clusterqueues/mosaic-big")
    assert "cohortName" not in found["spec"]
    assert found["spec"]["queueingStrategy"] == "StrictFIFO"
    [group] = found["spec"]["resourceGroups"]
    assert group == queue["spec"]["resourceGroups"][0]
    assert {"name": "pods", "nominalQuota": "1"} in group["flavors"][0]["resources"]


def test_a_job_that_comes_unsuspended_is_suspended_by_kueues_webhook(api: Api) -> None:
    [job] = jobs(_routes()[:1])
    job["metadata"]["name"] = "hasty"
    job["spec"]["suspend"] = False
    answer = api.request("POST", JOBS, job, query={"dryRun": "All"})
    assert answer.ok, answer.message
    assert answer.body["spec"]["suspend"] is True


def test_a_borrowing_limit_needs_a_cohort_so_the_big_queue_has_neither(api: Api) -> None:
    queue = next(one for one in queues() if one["kind"] == "ClusterQueue" and one["metadata"]["name"] == "mosaic-big")
    queue["metadata"]["name"] = "borrows"
    queue["spec"]["resourceGroups"][0]["flavors"][0]["resources"][-1]["borrowingLimit"] = "0"
    answer = api.apply(queue, dry_run=True)
    assert not answer.ok
    assert "borrowingLimit must be nil when cohort is empty" in answer.message
