"""Does a pod that was taken away count as a failure of its Job? The Job controller is real, a test plays kubelet."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from testbed.cluster.api import Api, is_true
from testbed.cluster.control_plane import ControlPlane
from testbed.processes import wait_until

NODE = "taken"
PODS, JOBS = "/api/v1/namespaces/default/pods", "/apis/batch/v1/namespaces/default/jobs"
IGNORE = {"rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]}
"""As docs/how-to/run-a-job.md has it."""


@pytest.fixture(scope="module")
def api(cluster: ControlPlane) -> Iterator[Api]:
    """With a node that has no kubelet."""
    room = {"cpu": "8", "memory": "8Gi", "pods": "20"}
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE}}
    cluster.api.must_apply(node)
    cluster.api.patch(f"/api/v1/nodes/{NODE}/status", {"status": {"capacity": room, "allocatable": room}})
    yield cluster.api
    cluster.api.delete(f"/api/v1/nodes/{NODE}")


@pytest.fixture
def job(api: Api, request: pytest.FixtureRequest) -> Iterator[str]:
    """Name of a Job whose one pod runs; it may not fail once."""
    policy: dict[str, Any] | None = request.param
    name = "with-policy" if policy else "without-policy"
    spec: dict[str, Any] = {
        "backoffLimit": 0,
        "template": {
            "metadata": {"labels": {"app": name}},
            "spec": {
                "restartPolicy": "Never",
                "nodeName": NODE,
                "tolerations": [{"operator": "Exists"}],
                "containers": [{"name": "main", "image": "images.example/job:1"}],
            },
        },
        **({"podFailurePolicy": policy} if policy else {}),
    }
    made = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "namespace": "default"}, "spec": spec}
    answer = api.create(made)
    assert answer.ok, answer.message
    yield name
    api.delete(f"{JOBS}/{name}")
    api.delete(PODS, grace_seconds=0)


def pods(api: Api, job: str) -> list[dict[str, Any]]:
    """The Job's pods that are not on their way out."""
    found = api.items(PODS, labelSelector=f"app={job}")
    return [one for one in found if "deletionTimestamp" not in one["metadata"]]


def status(api: Api, job: str) -> dict[str, Any]:
    found: dict[str, Any] = api.get(f"{JOBS}/{job}")["status"]
    return found


def taken_away(api: Api, job: str) -> str:
    """Evict the Job's pod, as Karpenter's drain does, and end it, as kubelet would; the pod's name."""
    [pod] = wait_until("the job has a pod", lambda: pods(api, job))
    path = f"{PODS}/{pod['metadata']['name']}"
    api.patch(f"{path}/status", {"status": {"phase": "Running"}})
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod["metadata"]["name"]}}
    answer = api.request("POST", f"{path}/eviction", eviction)
    assert answer.ok, answer.message
    assert is_true(api.get(path), "DisruptionTarget")
    killed = {"exitCode": 137, "reason": "Error"}
    ended = {
        "name": "main",
        "image": "",
        "imageID": "",
        "ready": False,
        "restartCount": 0,
        "state": {"terminated": killed},
    }
    failed = {"status": {"phase": "Failed", "containerStatuses": [ended]}}
    assert api.patch(f"{path}/status", failed).ok
    return str(pod["metadata"]["name"])


@pytest.mark.parametrize("job", [IGNORE], indirect=True)
def test_by_pod_failure_policy_it_does_not_and_another_is_made(api: Api, job: str) -> None:
    gone = taken_away(api, job)
    [other] = wait_until("another pod is made", lambda: pods(api, job))
    assert other["metadata"]["name"] != gone
    found = status(api, job)
    assert (found.get("failed", 0), found["active"], found.get("conditions", [])) == (0, 1, [])


@pytest.mark.parametrize("job", [None], indirect=True)
def test_without_it_does_and_the_job_has_failed(api: Api, job: str) -> None:
    taken_away(api, job)
    wait_until("the job has failed", lambda: is_true(api.get(f"{JOBS}/{job}"), "Failed"))
    assert status(api, job)["failed"] == 1
