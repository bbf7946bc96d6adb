"""Swap that kubelet grants to containers, against our arithmetic, to the page."""

from __future__ import annotations

import pytest

from floodplain.quantity import MIB
from floodplain.swap import NoSwap, Qos, SwapContainer, SwapNode, container_grant_bytes, no_swap_reason
from testbed.node.machine import Machine
from tests.node.jobs import Jobs, container, memory

CASES = {
    "usual": (256, 384),
    "ours": (100, 101),
    "no-limit": (64, None),
    "uneven": (333, 777),
    # Less than about 10 MiB and runc cannot start a container.
    "small": (16, 20),
    "request-is-limit": (50, 50),
    "limit-only": (None, 50),
}


@pytest.fixture(scope="module")
def node(machine: Machine) -> SwapNode:
    found = memory(machine)
    return SwapNode(found["MemTotal"], found["SwapTotal"])


def described(request: int | None, limit: int | None, qos: Qos = Qos.BURSTABLE, priority: int = 0) -> SwapContainer:
    return SwapContainer(request and request * MIB, limit and limit * MIB, qos=qos, priority=priority)


def test_grants_to_the_containers_of_a_pod_are_exact(jobs: Jobs, node: SwapNode) -> None:
    containers = [container(name, request_mib=request, limit_mib=limit) for name, (request, limit) in CASES.items()]
    jobs.start("pod", *containers)
    jobs.running("pod")
    expected = {name: container_grant_bytes(described(*case), node) for name, case in CASES.items()}
    assert jobs.swap_limits("pod") == expected
    assert {name for name, grant in expected.items() if not grant} == {"request-is-limit", "limit-only"}
    # A limit beside containers without one bounds nothing as a whole; swap is never bounded by the pod.
    folder = jobs.cgroups("pod")["usual"].rpartition("/")[0]
    assert jobs.machine.run(f"cat {folder}/memory.max {folder}/memory.swap.max").split() == ["max", "max"]


def test_these_pods_get_none_as_a_whole(jobs: Jobs, node: SwapNode) -> None:
    jobs.start("guaranteed", container(request_mib=50, limit_mib=50, cpu="500m"))
    jobs.start("best-effort", container())
    jobs.start("critical", container(request_mib=50, limit_mib=90), priorityClassName="system-cluster-critical")
    names = ("guaranteed", "best-effort", "critical")
    jobs.running(*names)
    assert {name: jobs.swap_limits(name)["job"] for name in names} == dict.fromkeys(names, 0)
    assert {name: jobs.get(name)["status"]["qosClass"] for name in names} == {
        "guaranteed": "Guaranteed",
        "best-effort": "BestEffort",
        "critical": "Burstable",
    }
    assert [
        no_swap_reason(described(50, 50, Qos.GUARANTEED), node),
        no_swap_reason(described(None, None, Qos.BEST_EFFORT), node),
        no_swap_reason(described(50, 90, priority=jobs.get("critical")["spec"]["priority"]), node),
    ] == [NoSwap.QOS, NoSwap.QOS, NoSwap.CRITICAL]


def test_a_pod_has_the_sum_of_its_limits(jobs: Jobs) -> None:
    jobs.start("pod", container("a", request_mib=20, limit_mib=30), container("b", request_mib=40, limit_mib=50))
    jobs.running("pod")
    folder = jobs.cgroups("pod")["a"].rpartition("/")[0]
    assert jobs.machine.run(f"cat {folder}/memory.max {folder}/memory.swap.max").split() == [str(80 * MIB), "max"]
