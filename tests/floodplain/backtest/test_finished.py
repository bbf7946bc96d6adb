"""Past jobs from pods and Jobs of a cluster: how they ended, what they had, and what nobody knows."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from floodplain.backtest.finished import Finished, finished
from floodplain.backtest.past_job import Outcome, PastJob
from floodplain.doctor.seen import NodeSeen
from floodplain.quantity import GIB, MIB
from floodplain.sizing.workload import Workload
from floodplain.swap import grant_bytes
from tests.floodplain.doctor.clusters import POOL

ASKED = {"floodplain.dev/engine": "odm", "floodplain.dev/images": "500", "floodplain.dev/options": "dsm"}
WORKLOAD = Workload(images=500, options="dsm")
REQUEST = 8 * GIB - MIB
RESOURCES = {"requests": {"memory": "8191Mi"}, "limits": {"memory": "8Gi"}}
NODES = {
    "pool": NodeSeen("pool", POOL, True, "v1.36.3", 64 * GIB, 60 * GIB, 128 * GIB),
    "plain": NodeSeen("plain", None, True, "v1.36.3", 32 * GIB, 30 * GIB, None),
    "other": NodeSeen("other", None, True, "v1.36.3", 32 * GIB, 30 * GIB, 32 * GIB),
}


def ended(reason: str, code: int, key: str = "state") -> dict[str, Any]:
    times = {"startedAt": "2026-08-01T10:00:00Z", "finishedAt": "2026-08-01T11:30:00Z"}
    return {"name": "job", key: {"terminated": {"reason": reason, "exitCode": code, **times}}}


def pod(status: dict[str, Any], node: str = "pool", annotations: dict[str, str] | None = None) -> dict[str, Any]:
    return {
        "metadata": {"namespace": "jobs", "name": "p", "annotations": ASKED if annotations is None else annotations},
        "spec": {"nodeName": node, "containers": [{"name": "job", "resources": RESOURCES}]},
        "status": {"qosClass": "Burstable", **status},
    }


def past(outcome: Outcome, **changes: Any) -> PastJob:
    known: dict[str, Any] = {
        "request_bytes": REQUEST,
        "limit_bytes": 8 * GIB,
        "swap_bytes": grant_bytes(REQUEST, 64 * GIB, 128 * GIB),
        "node_memory_bytes": 64 * GIB,
        "seconds": 5400.0,
        **changes,
    }
    return PastJob("jobs/p", WORKLOAD, outcome, **known)


EVICTED = {"phase": "Failed", "reason": "Evicted"}
PODS: dict[str, tuple[dict[str, Any], PastJob | None]] = {
    "ran": (
        pod({"phase": "Succeeded", "containerStatuses": [ended("Completed", 0)]}),
        past(Outcome.SUCCEEDED),
    ),
    "killed": (pod({"phase": "Failed", "containerStatuses": [ended("OOMKilled", 137)]}), past(Outcome.OOM)),
    "killed, and runs again": (
        pod({"phase": "Running", "containerStatuses": [ended("OOMKilled", 137, "lastState")]}),
        past(Outcome.OOM),
    ),
    "failed": (pod({"phase": "Failed", "containerStatuses": [ended("Error", 1)]}), past(Outcome.FAILED)),
    "stopped by a signal": (pod({"phase": "Failed", "containerStatuses": [ended("Error", 137)]}), past(Outcome.FAILED)),
    "evicted for memory": (
        pod({**EVICTED, "message": "The node was low on resource: memory."}),
        past(Outcome.EVICTED, seconds=None),
    ),
    "evicted for disk": (
        pod({**EVICTED, "message": "The node was low on resource: ephemeral-storage."}),
        past(Outcome.FAILED, seconds=None),
    ),
    "on a node without swap": (
        pod({"phase": "Succeeded", "containerStatuses": [ended("Completed", 0)]}, "plain"),
        past(Outcome.SUCCEEDED, swap_bytes=0, node_memory_bytes=32 * GIB),
    ),
    "on a node whose swap is not ours": (
        pod({"phase": "Succeeded", "containerStatuses": [ended("Completed", 0)]}, "other"),
        past(Outcome.SUCCEEDED, swap_bytes=None, node_memory_bytes=32 * GIB),
    ),
    "on a node that is gone": (
        pod({"phase": "Succeeded", "containerStatuses": [ended("Completed", 0)]}, "gone"),
        past(Outcome.SUCCEEDED, swap_bytes=None, node_memory_bytes=None),
    ),
    "running": (pod({"phase": "Running"}), None),
    "waiting": (pod({"phase": "Pending"}), None),
}


@pytest.mark.parametrize(("thing", "expected"), PODS.values(), ids=PODS)
def test_a_pod_is_known_by_its_end(thing: dict[str, Any], expected: PastJob | None) -> None:
    assert finished([thing], [], NODES) == Finished((expected,) if expected else (), (), 0 if expected else 1)


def test_swap_on_nodes_that_are_gone_is_what_is_assumed() -> None:
    thing = pod({"phase": "Succeeded", "containerStatuses": [ended("Completed", 0)]}, "gone")
    (found,) = finished([thing], [], NODES, swap_ratio=1.5).jobs
    assert found.swap_bytes == REQUEST * 3 // 2


def test_pods_that_ask_for_nothing_are_left_out_and_wrong_ones_told() -> None:
    status = {"phase": "Succeeded", "containerStatuses": [ended("Completed", 0)]}
    wrong = pod(status, annotations={**ASKED, "floodplain.dev/images": "0"})
    found = finished([pod(status, annotations={}), wrong], [], NODES)
    assert (found.jobs, [str(problem) for problem in found.problems]) == (
        (),
        [
            "pod jobs/p, metadata.annotations[floodplain.dev/images]: 0 is not from 1 to 1000000; write how many images"
            " the job reads"
        ],
    )


def job(*conditions: str) -> dict[str, Any]:
    template = {
        "metadata": {"annotations": ASKED},
        "spec": {"containers": [{"name": "job", "resources": RESOURCES}]},
    }
    return {
        "metadata": {"namespace": "jobs", "name": "p"},
        "spec": {"template": template},
        "status": {
            "startTime": "2026-08-01T10:00:00Z",
            "completionTime": "2026-08-01T11:30:00Z",
            "conditions": [{"type": one, "status": "True"} for one in conditions],
        },
    }


def test_a_job_whose_pods_are_gone_is_known_by_its_own_end() -> None:
    known = {"swap_bytes": None, "node_memory_bytes": None}
    assert finished([], [job("SuccessCriteriaMet", "Complete")], {}).jobs == (past(Outcome.SUCCEEDED, **known),)
    assert finished([], [job("FailureTarget", "Failed")], {}).jobs == (past(Outcome.FAILED, **known),)
    assert finished([], [job()], {}) == Finished((), (), 1)


def test_a_job_with_a_pod_is_counted_once() -> None:
    own = pod({"phase": "Failed", "containerStatuses": [ended("OOMKilled", 137)]})
    own["metadata"]["labels"] = {"batch.kubernetes.io/job-name": "p"}
    assert [one.outcome for one in finished([own], [job("Failed")], NODES).jobs] == [Outcome.OOM]


_KEYS = """metadata name namespace labels annotations spec status containers containerStatuses state lastState
terminated reason exitCode startedAt finishedAt template resources requests limits memory conditions type phase
floodplain.dev/engine floodplain.dev/images floodplain.dev/plan"""
KEYS = st.sampled_from(_KEYS.split())
LEAVES = st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.sampled_from(["odm", "5", "job", "True"])
ANYTHING = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=6), max_leaves=30
)
OBJECTS = st.dictionaries(KEYS, ANYTHING, max_size=6)


@given(OBJECTS, OBJECTS)
def test_no_object_makes_it_stumble(thing: dict[str, Any], other: dict[str, Any]) -> None:
    assert isinstance(finished([thing], [other], NODES), Finished)
    kept: dict[str, Any] = {key: thing[key] for key in ("spec", "status") if key in thing}
    annotated: dict[str, Any] = {"metadata": {"annotations": ASKED}, **kept}
    assert isinstance(finished([annotated], [{"spec": {"template": annotated}, **other}], NODES), Finished)
