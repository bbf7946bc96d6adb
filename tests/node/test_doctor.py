"""`floodplain doctor` on a cluster with a real kubelet behind the real API server: what it reads there is what the
kernel has, and what it says of jobs that got no swap or were killed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from components.cluster import ClusterVersions
from components.pool_document import pool_document
from floodplain.byte_amount import amount
from floodplain.doctor.api import connect
from floodplain.doctor.examine import examine
from floodplain.doctor.finding import Finding
from floodplain.doctor.observe import observe
from floodplain.doctor.seen import Cluster, KubeletSeen
from floodplain.quantity import MIB
from testbed.cluster.control_plane import ControlPlane
from testbed.processes import wait_until
from tests.node.jobs import Jobs, container, memory
from tests.node.pool import pool

POOL = pool()
Look = Callable[[], Cluster]


@pytest.fixture
def look(cluster: ControlPlane) -> Look:
    """One look at the cluster as its administrator, with the pool's document."""
    document = pool_document(POOL, ClusterVersions(name="testbed", kubernetes_version="1.36"))

    def seen() -> Cluster:
        with connect(str(cluster.kubeconfig)) as reader:
            return observe(reader, pools=[document])

    return seen


def kubelet_of(cluster: Cluster, jobs: Jobs) -> KubeletSeen:
    (found,) = [node for node in cluster.pool_nodes if node.name == jobs.machine.instance.node_name]
    assert found.kubelet is not None, cluster.unseen
    return found.kubelet


def once_measured(look: Look, jobs: Jobs, *pods: str) -> Cluster:
    """A look after cAdvisor, in kubelet, has found these pods' containers: it does so some seconds after their start,
    and kubelet fills in zeros until then."""

    def known() -> bool:
        measured = kubelet_of(look(), jobs).containers
        return {*pods} <= {pod for (_, pod, _), one in measured.items() if one.cadvisor_swap_limit_bytes is not None}

    wait_until("kubelet has measured the pods", known, timeout_seconds=180, pause_seconds=1)
    return look()


def of(findings: tuple[Finding, ...], check: str) -> list[tuple[str, str, str]]:
    return [(one.severity.value, one.object, one.seen) for one in findings if one.check == check]


def test_a_node_whose_jobs_have_their_swap_is_found_in_order_by_what_its_kubelet_says(jobs: Jobs, look: Look) -> None:
    jobs.start("job", container(request_mib=100, limit_mib=101))
    jobs.running("job")
    cluster = once_measured(look, jobs, "job")
    kubelet = kubelet_of(cluster, jobs)
    limit = jobs.swap_limits("job")["job"]
    assert limit > 0
    assert kubelet.containers["default", "job", "job"].swap_limit_bytes == limit
    settings = (kubelet.swap_behavior, kubelet.fail_swap_on, kubelet.memory_eviction)
    assert settings == ("LimitedSwap", False, POOL.kubelet.eviction_hard["memory.available"])
    findings = examine(cluster)
    assert {check: of(findings, check) for check in ("grant", "kubelet-swap", "swap-size", "eviction-room")} == {
        "grant": [("ok", "1 container", "exactly the swap that kubelet's rule gives")],
        "kubelet-swap": [("ok", "1 node", "kubelet runs with LimitedSwap")],
        "swap-size": [("ok", "1 node", "swap is on and as large as the pool's ratio asks")],
        "eviction-room": [("ok", "1 node", "pods' memory is above kubelet's eviction threshold")],
    }
    assert [one for one in of(findings, "cannot-see") if one[0] not in ("ok", "info")] == []

    def told() -> bool:
        """In container_swap_limit_bytes too, which stays 0 for some seconds more."""
        return kubelet_of(look(), jobs).containers["default", "job", "job"].resource_swap_limit_bytes == limit

    wait_until("/metrics/resource has the grant", told, timeout_seconds=180, pause_seconds=1)


@pytest.mark.full
def test_what_is_left_for_pods_is_what_kubelet_counts_of_their_cgroup(jobs: Jobs, look: Look) -> None:
    """The signal that kubelet evicts by: the pods' cgroup, without swap."""
    jobs.start("eater", container(request_mib=200, limit_mib=201, eat=("-mib=150", "-hold=1h")))
    jobs.running("eater")
    wait_until("it has eaten", lambda: "filled 150 MiB" in jobs.log("eater"), timeout_seconds=120, pause_seconds=1)
    limit = int(jobs.machine.run("cat /sys/fs/cgroup/kubepods.slice/memory.max"))

    def told() -> bool:
        left = kubelet_of(look(), jobs).pods_available_bytes
        return left is not None and limit - 400 * MIB < left < limit - 150 * MIB

    wait_until("kubelet counts the pods' memory", told, timeout_seconds=120, pause_seconds=2)


def test_a_request_that_is_the_limit_is_found_to_take_swap_away(jobs: Jobs, look: Look) -> None:
    jobs.start("equal", container(request_mib=100, limit_mib=100))
    jobs.running("equal")
    cluster = once_measured(look, jobs, "equal")
    assert kubelet_of(cluster, jobs).containers["default", "equal", "job"].swap_limit_bytes == 0
    assert jobs.swap_limits("equal") == {"job": 0}
    (found,) = [one for one in examine(cluster) if one.check == "no-swap"]
    assert (found.severity, found.object) == ("warning", "pod default/equal, container job")
    assert found.levers[0].startswith("set the memory request 1 MiB below the limit")


def test_a_killed_job_is_found_with_what_it_could_hold_and_the_request_that_holds_more(jobs: Jobs, look: Look) -> None:
    found = memory(jobs.machine)
    jobs.start("killed", container(request_mib=99, limit_mib=100, eat=("-mib=500",)))
    assert jobs.ended("killed")["killed"].reason == "OOMKilled"
    (told,) = [one for one in examine(look()) if one.check == "oom-kill"]
    assert (told.severity, told.object) == ("warning", "pod default/killed, container job")
    grant = 99 * MIB * found["SwapTotal"] // found["MemTotal"] // 4096 * 4096
    assert told.seen.startswith("was killed for want of memory (OOMKilled)")
    assert told.seen.endswith(f"it could hold 100 MiB of memory and {amount(grant)} of swap")
    # (100 + 198) x 1.5 on a node of ratio 2: a third of it, with request 1 MiB below.
    assert told.levers[0] == "bigger request: raise the memory limit from 100 MiB to 150 MiB, request 1 MiB below"
    assert told.levers[1].startswith("more node swap: raise the swap ratio of pool odm from 2 to ")
