"""Pods with the limit and request of real plans, on a real kubelet: a peak in ODM's shape is survived, also by two that
fill the node; the old rule's pair in an unsafe band is not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from components.cluster import ClusterVersions
from components.pool_document import pool_document
from components.pool_objects import runtime_class
from floodplain.pools import PoolDocument, PoolLimits, PoolType
from floodplain.quantity import GIB, MIB, to_bytes
from floodplain.sizing.plan import Plan
from floodplain.sizing.planner import make_plan
from floodplain.sizing.prediction import Confidence, Prediction
from floodplain.sizing.settings import SizingSettings
from floodplain.sizing.workload import Workload
from testbed.cluster.control_plane import ControlPlane
from testbed.node.machine import Machine
from testbed.processes import wait_until
from tests.node.figures import note
from tests.node.jobs import End, Jobs, container
from tests.node.pool import pool

POOL = pool(headroom="0")
NOTHING_BESIDE = SizingSettings(daemonset_memory="0", daemonset_cpu="0", ephemeral_least="0", ephemeral_share=0)
"""The machine runs no DaemonSets, and its jobs keep nothing on disk."""


@pytest.fixture(scope="module")
def runtime(cluster: ControlPlane) -> Iterator[str]:
    made = runtime_class(POOL)
    cluster.api.must_apply(made)
    yield made["metadata"]["name"]
    cluster.api.delete(cluster.api.path_of(made))


@pytest.fixture
def document(machine: Machine) -> PoolDocument:
    """The pool with the shared machine as its only type, as kubelet says it is, once earlier pressure has passed."""
    wait_until("memory pressure has passed", lambda: _taints(machine) == 1, timeout_seconds=120, pause_seconds=1)
    node = machine.node()
    assert node is not None
    capacity, offered = node["status"]["capacity"], node["status"]["allocatable"]
    kind = PoolType(
        name="machine",
        vcpu=int(capacity["cpu"]),
        memory_bytes=to_bytes(capacity["memory"]),
        nvme_bytes=100 * GIB,
        allocatable_memory_bytes=to_bytes(offered["memory"]),
        allocatable_cpu_millicores=1000 * int(capacity["cpu"]),
        pods=int(offered["pods"]),
        swap_bytes_at_most=node["status"]["nodeInfo"]["swap"]["capacity"],
        ephemeral_bytes_for_pods=to_bytes(offered["ephemeral-storage"]),
    )
    of_stack = pool_document(POOL, ClusterVersions(name="testbed", kubernetes_version="1.36"))
    room = PoolLimits(cpu_millicores=100_000, memory_bytes=100 * GIB)
    return of_stack.model_copy(update={"types": (kind,), "limits": room})


def _taints(machine: Machine) -> int:
    return len((machine.node() or {"spec": {}})["spec"].get("taints", []))


def planned(document: PoolDocument, peak_mib: int, settings: SizingSettings = NOTHING_BESIDE) -> Plan:
    """The plan of a job whose peak is known: no ODM job is as small as an emulated machine."""
    known = Prediction(peak_mib * MIB, "the test", Confidence.HIGH, "the job's program fills exactly this")
    plan = make_plan(Workload(images=20), [document], settings=settings, prediction=known)
    assert plan.feasible, plan.reasons
    return plan


def largest_of_two(document: PoolDocument) -> int:
    """MiB of the largest peak of which two planned pods fit the machine."""
    (kind,) = document.types
    half = kind.allocatable_memory_bytes // 2 - document.overhead_bytes
    return 2 * (half // MIB)


@dataclass(frozen=True)
class Odm:
    """A job in ODM's shape: a short peak over a plateau that is touched again at the end."""

    jobs: Jobs
    runtime: str

    def run(self, *names: str, request: int, limit: int, peak: int, hot: int, hold: str) -> dict[str, End]:
        eat = (f"-mib={peak // MIB}", f"-hold={hold}", f"-plateau={hot // MIB}")
        for name in names:
            sized = container(request_mib=request // MIB, limit_mib=limit // MIB, eat=eat)
            self.jobs.start(name, sized, runtimeClassName=self.runtime)
        ends = self.jobs.ended(*names, timeout_seconds=600)
        note(f"request {request // MIB}, limit {limit // MIB}, peak {peak // MIB}, plateau {hot // MIB} MiB: {ends}")
        return ends


@pytest.fixture
def odm(jobs: Jobs, runtime: str) -> Odm:
    return Odm(jobs, runtime)


def endings(ends: dict[str, End]) -> list[tuple[int | None, str | None, str | None]]:
    return [(end.exit_code, end.reason, end.pod_reason) for end in ends.values()]


def test_a_planned_pod_survives_a_peak_in_odms_shape_with_the_grant_that_the_plan_names(
    odm: Odm, document: PoolDocument
) -> None:
    plan = planned(document, 700)
    eat = ("-mib=700", "-hold=5s", f"-plateau={plan.hot_bytes // MIB}")
    sized = container(request_mib=plan.request_bytes // MIB, limit_mib=plan.limit_bytes // MIB, eat=eat)
    odm.jobs.start("planned", sized, runtimeClassName=odm.runtime)
    odm.jobs.running("planned")
    granted = odm.jobs.swap_limits("planned")["job"]
    ends = odm.jobs.ended("planned", timeout_seconds=600)
    note(f"planned: limit {plan.limit_bytes // MIB} MiB, grant {granted} bytes, foretold {plan.swap_grant_bytes}")
    assert endings(ends) == [(0, "Completed", None)]
    assert abs(granted - plan.swap_grant_bytes) <= 4096
    assert f"plateau of {plan.hot_bytes // MIB} MiB" in odm.jobs.log("planned")


@pytest.mark.full
def test_two_planned_pods_that_fill_the_node_both_survive(odm: Odm, document: PoolDocument) -> None:
    peak = largest_of_two(document)
    plan = planned(document, peak)
    assert 2 * (plan.request_bytes + document.overhead_bytes) > document.types[0].allocatable_memory_bytes - 4 * MIB
    figures = {"request": plan.request_bytes, "limit": plan.limit_bytes, "peak": plan.peak_bytes}
    ends = odm.run("one", "two", **figures, hot=plan.hot_bytes, hold="20s")
    assert endings(ends) == [(0, "Completed", None)] * 2


@pytest.mark.full
def test_the_same_two_by_the_old_rule_are_in_an_unsafe_band_and_one_is_evicted(
    odm: Odm, document: PoolDocument
) -> None:
    """ScaleODM's limit is 1.2 x request, for the same request: both fit by request, and their limits pass the node."""
    plan = planned(document, largest_of_two(document))
    limit = plan.request_bytes * 6 // 5
    assert 2 * limit > document.types[0].allocatable_memory_bytes
    figures = {"request": plan.request_bytes, "limit": limit, "peak": plan.peak_bytes}
    ends = odm.run("one", "two", **figures, hot=plan.hot_bytes, hold="20s")
    evicted = [end for end in ends.values() if end.pod_reason == "Evicted"]
    assert evicted
    assert "The node was low on resource: memory." in evicted[0].message
