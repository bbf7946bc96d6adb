"""Does a node contain its jobs? Kubelet's eviction does not see swap: it strikes when the working sets of all pods
together come near to what the node allows them, however much swap is free. Our limits and the headroom keep them below.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from components.pool_objects import headroom_daemon_set, runtime_class
from floodplain.pools import POOL_LABEL
from floodplain.quantity import MIB, to_bytes
from floodplain.swap import containment_shortfall_bytes
from testbed.cluster.control_plane import ControlPlane
from testbed.node.container_images import EATER, PAUSE
from testbed.node.image import Image
from testbed.node.machine import Machine
from testbed.processes import wait_until
from tests.node.figures import note
from tests.node.jobs import End, Jobs, container, memory
from tests.node.pool import pool

pytestmark = pytest.mark.full

POOL = pool()
OVERHEAD_MIB = to_bytes(POOL.overhead) // MIB
HEADROOM_MIB = to_bytes(POOL.headroom) // MIB
DAEMON_MIB = 150
PODS = "/api/v1/namespaces/kube-system/pods"


@pytest.fixture(scope="module")
def runtime(cluster: ControlPlane) -> Iterator[str]:
    made = runtime_class(POOL)
    cluster.api.must_apply(made)
    yield made["metadata"]["name"]
    cluster.api.delete(cluster.api.path_of(made))


@pytest.fixture
def allocatable(machine: Machine) -> int:
    """MiB, on a node that is open: the pressure of an earlier test has passed."""
    wait_until("memory pressure has passed", lambda: _open(machine), timeout_seconds=120, pause_seconds=1)
    node = machine.node()
    assert node is not None
    return to_bytes(node["status"]["allocatable"]["memory"]) // MIB


def _open(machine: Machine) -> bool:
    node = machine.node() or {"spec": {}}
    return [taint["key"] for taint in node["spec"].get("taints", [])] == [POOL_LABEL]


def _greedy_daemon() -> dict[str, Any]:
    """A DaemonSet like kube-proxy's or a CNI's: critical, and with no request for what it uses."""
    labels = {"app": "greedy-daemon"}
    container = {"name": "daemon", "image": EATER, "imagePullPolicy": "Never"}
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "greedy-daemon", "namespace": "kube-system"},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "nodeSelector": {POOL_LABEL: POOL.name},
                    "tolerations": [{"operator": "Exists"}],
                    "priorityClassName": "system-node-critical",
                    "hostNetwork": True,
                    "automountServiceAccountToken": False,
                    "terminationGracePeriodSeconds": 0,
                    "containers": [{**container, "args": [f"-mib={DAEMON_MIB}", "-hold=1h"]}],
                },
            },
        },
    }


@contextmanager
def _daemon_sets(cluster: ControlPlane, *made: dict[str, Any]) -> Iterator[None]:
    """They run when the block begins and are gone when it has ended."""
    for each in made:
        cluster.api.must_apply(each)
    try:
        question = "the DaemonSets' pods run"
        wait_until(question, lambda: _ready_pods(cluster) == len(made), timeout_seconds=120, pause_seconds=0.5)
        yield
    finally:
        for each in made:
            cluster.api.delete(cluster.api.path_of(each), propagation="Foreground")
        wait_until("the DaemonSets' pods are gone", lambda: not cluster.api.items(PODS), timeout_seconds=120)


def _ready_pods(cluster: ControlPlane) -> int:
    conditions = [pod["status"].get("conditions", []) for pod in cluster.api.items(PODS)]
    return sum(any(c["type"] == "Ready" and c["status"] == "True" for c in each) for each in conditions)


Pair = Callable[[int, int, int], dict[str, End]]


@pytest.fixture
def pair(jobs: Jobs, runtime: str) -> Pair:
    """Runs two jobs of (request, limit, peak) MiB side by side and tells how they ended."""

    def run(request: int, limit: int, peak: int) -> dict[str, End]:
        eat = (f"-mib={peak}", "-hold=30s")
        for name in ("one", "two"):
            jobs.start(name, container(request_mib=request, limit_mib=limit, eat=eat), runtimeClassName=runtime)
        ends = jobs.ended("one", "two", timeout_seconds=500)
        free, total = (memory(jobs.machine)[f"Swap{key}"] // MIB for key in ("Free", "Total"))
        note(f"two jobs of {request}/{limit} MiB, peak {peak} MiB: {ends}; swap free {free} of {total} MiB")
        jobs.remove("one", "two")
        return ends

    return run


def _shortfall(limits: list[int], allocatable: int, daemons: int) -> int:
    found = containment_shortfall_bytes(
        [limit * MIB for limit in limits], allocatable_bytes=allocatable * MIB, daemonset_bytes=daemons * MIB
    )
    return found // MIB


def test_beside_a_daemon_that_requests_nothing_the_headroom_keeps_both_jobs(
    cluster: ControlPlane, pair: Pair, allocatable: int, image: Image
) -> None:
    request = (allocatable - HEADROOM_MIB) // 2 - OVERHEAD_MIB
    assert _shortfall([request + 1] * 2, allocatable, DAEMON_MIB) == 0
    headroom = headroom_daemon_set(pool(headroomImage=image.reference(PAUSE)))
    with _daemon_sets(cluster, headroom, _greedy_daemon()):
        ends = pair(request, request + 1, request * 3 - 100)
    assert [(end.exit_code, end.pod_reason) for end in ends.values()] == [(0, None), (0, None)]


def test_without_headroom_the_same_daemon_gets_a_job_evicted(
    cluster: ControlPlane, pair: Pair, allocatable: int
) -> None:
    request = allocatable // 2 - OVERHEAD_MIB
    assert _shortfall([request + 1] * 2, allocatable, DAEMON_MIB) > 0
    with _daemon_sets(cluster, _greedy_daemon()):
        ends = pair(request, request + 1, request * 3 - 100)
    assert "Evicted" in [end.pod_reason for end in ends.values()]


def test_limits_over_the_requests_bring_the_eviction_that_is_blind_to_swap(pair: Pair, allocatable: int) -> None:
    """facts of production: limit = 1.2 x request; "The node was low on resource: memory", with swap all but empty."""
    request = allocatable // 2 - OVERHEAD_MIB
    limit = request * 6 // 5
    assert _shortfall([limit] * 2, allocatable, 0) > 0
    ends = pair(request, limit, request * 3 - 100)
    evicted = [end for end in ends.values() if end.pod_reason == "Evicted"]
    assert evicted
    assert "The node was low on resource: memory." in evicted[0].message
