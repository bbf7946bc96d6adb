"""The rules of a stack and the controllers of Kubernetes: where a person sees that a pod was refused, what is left
alone, and what the RuntimeClass brings. The stack is prod, as its file renders it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from preview.render import render
from preview.wire import reveal
from testbed.cluster.api import STRATEGIC, Api
from testbed.cluster.control_plane import ControlPlane
from testbed.processes import wait_until
from tests.cluster.guardrails.in_force import in_force
from tests.cluster.guardrails.server_words import warned
from tests.components.guardrails.api_server import Manifest, Request, admitted, judge
from tests.components.guardrails.corpus import GOOD_METADATA, GOOD_SPEC, IMAGE

CHECKOUT = Path(__file__).parent.parent.parent.parent
PODS = "/api/v1/namespaces/jobs/pods"
POOLS = ("swap", "swap-large")
POOL_NODE = "swap-1"
ROOM = {"cpu": "64", "memory": "512Gi", "pods": "500", "ephemeral-storage": "2Ti"}


def of_kinds(*kinds: str) -> list[Manifest]:
    resources = render("prod", CHECKOUT).apply.resources
    found = [reveal(dict(one.inputs)) for one in resources if one.type.startswith("kubernetes:")]
    return [one for one in found if one.get("kind") in kinds]


POLICIES = of_kinds("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
RUNTIME_CLASSES = of_kinds("RuntimeClass")
HEADROOM = of_kinds("PriorityClass", "DaemonSet")
CLASS = next(one for one in RUNTIME_CLASSES if one["metadata"]["name"] == "floodplain-swap")

GOOD: Manifest = copy.deepcopy(GOOD_SPEC)
GOOD["runtimeClassName"] = "floodplain-swap"
GOOD["containers"][0]["image"] = IMAGE
BROKEN: Manifest = {"runtimeClassName": "floodplain-swap", "containers": [{"name": "main", "image": IMAGE}]}


def template(spec: Manifest, name: str, **more: Any) -> Manifest:
    metadata = {"labels": {"app": name}, "annotations": GOOD_METADATA["annotations"]}
    return {"metadata": metadata, "spec": {**copy.deepcopy(spec), **more}}


def workload(kind: str, name: str, spec: Manifest) -> Manifest:
    if kind == "Job":
        made = {"backoffLimit": 0, "template": template(spec, name, restartPolicy="Never")}
    else:
        made = {"selector": {"matchLabels": {"app": name}}, "template": template(spec, name)}
        made |= {} if kind == "DaemonSet" else {"replicas": 1}
        made |= {"serviceName": name} if kind == "StatefulSet" else {}
    version = "batch/v1" if kind == "Job" else "apps/v1"
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": "jobs"}, "spec": made}


@pytest.fixture(scope="module")
def old_job(cluster: ControlPlane) -> Manifest:
    """A Job whose pod breaks the rules and was there before them."""
    for runtime_class in RUNTIME_CLASSES:
        cluster.api.must_apply(runtime_class)
    return cluster.api.must_apply(workload("Job", "old", BROKEN))


@pytest.fixture(scope="module")
def pool_node(cluster: ControlPlane) -> str:
    """A node of the pool swap, without a kubelet."""
    metadata = {"name": POOL_NODE, "labels": {"floodplain.dev/pool": "swap", "kubernetes.io/os": "linux"}}
    taint = {"key": "floodplain.dev/pool", "value": "swap", "effect": "NoSchedule"}
    cluster.api.must_apply({"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": {"taints": [taint]}})
    path = f"/api/v1/nodes/{POOL_NODE}"
    assert cluster.api.patch(f"{path}/status", {"status": {"capacity": ROOM, "allocatable": ROOM}}).ok
    return POOL_NODE


@pytest.fixture(scope="module")
def api(cluster: ControlPlane, old_job: Manifest, pool_node: str) -> Iterator[Api]:
    api = cluster.api
    wait_until("the old job has a pod", lambda: pods_of(api, "old"))
    with in_force(api, POLICIES, RUNTIME_CLASSES):
        for thing in HEADROOM:
            api.must_apply(thing)
        yield api
    for thing in (old_job, *HEADROOM, *RUNTIME_CLASSES):
        api.delete(api.path_of(thing))
    api.delete(f"/api/v1/nodes/{pool_node}")


@pytest.fixture
def make(api: Api) -> Iterator[Callable[[Manifest], Manifest]]:
    """Create an object for the length of a test."""
    made: list[Manifest] = []

    def create(thing: Manifest) -> Manifest:
        answer = api.create(thing)
        assert answer.ok, answer.message
        made.append(thing)
        return answer.body

    yield create
    for thing in made:
        api.delete(api.path_of(thing), grace_seconds=0)


def pods_of(api: Api, name: str) -> list[dict[str, Any]]:
    return api.items(PODS, labelSelector=f"app={name}")


def complaint(spec: Manifest) -> str:
    """What our verdict says of the pods of a template."""
    pod = {"metadata": GOOD_METADATA, "spec": spec}
    (message,) = judge(POLICIES, Request(admitted(pod, RUNTIME_CLASSES))).refusals
    return message


@pytest.mark.parametrize(("kind", "told_by"), [("Job", "Job"), ("Deployment", "ReplicaSet"), ("StatefulSet",) * 2])
def test_an_event_tells_whose_pod_was_refused_and_why(
    kind: str, told_by: str, api: Api, make: Callable[[Manifest], Manifest]
) -> None:
    name = f"broken-{kind.lower()}"
    make(workload(kind, name, BROKEN))

    def events() -> list[dict[str, Any]]:
        found = api.items("/api/v1/namespaces/jobs/events", fieldSelector=f"involvedObject.kind={told_by}")
        return [one for one in found if one["involvedObject"]["name"].startswith(name) and one["type"] == "Warning"]

    event = wait_until(f"there is an event about {name}", events)[0]
    assert event["reason"] == "FailedCreate"
    assert event["message"].endswith(f"denied request: {complaint(BROKEN)}")
    assert "ValidatingAdmissionPolicy 'floodplain-swap-containment'" in event["message"]
    assert pods_of(api, name) == []


def test_a_deployment_says_itself_that_its_pods_were_refused(api: Api, make: Callable[[Manifest], Manifest]) -> None:
    path = api.path_of(make(workload("Deployment", "broken-web", BROKEN)))

    def failure() -> list[dict[str, Any]]:
        conditions = api.get(path).get("status", {}).get("conditions", [])
        return [one for one in conditions if one["type"] == "ReplicaFailure"]

    (condition,) = wait_until("the deployment has failed", failure)
    assert (condition["status"], condition["reason"]) == ("True", "FailedCreate")
    assert condition["message"].endswith(f"denied request: {complaint(BROKEN)}")


@pytest.mark.parametrize("kind", ["Job", "Deployment", "StatefulSet"])
def test_pods_that_keep_the_rules_are_made_and_get_selector_toleration_and_overhead(
    kind: str, api: Api, make: Callable[[Manifest], Manifest]
) -> None:
    name = f"good-{kind.lower()}"
    make(workload(kind, name, GOOD))
    (pod,) = wait_until(f"{name} has a pod", lambda: pods_of(api, name))
    assert brought(pod) == {
        "nodeSelector": {"floodplain.dev/pool": "swap"},
        "tolerations": [{"key": "floodplain.dev/pool", "operator": "Equal", "value": "swap", "effect": "NoSchedule"}],
        "overhead": {"memory": "16Mi"},
    }
    assert brought(pod) == brought(admitted({"metadata": GOOD_METADATA, "spec": GOOD}, RUNTIME_CLASSES))


def brought(pod: Manifest) -> Manifest:
    """What the RuntimeClass wrote into a pod; every pod gets the tolerations of its node's own taints."""
    spec = pod["spec"]
    tolerations = [one for one in spec["tolerations"] if not one["key"].startswith("node.kubernetes.io/")]
    return {"nodeSelector": spec["nodeSelector"], "tolerations": tolerations, "overhead": spec["overhead"]}


def test_a_runtime_class_refuses_a_pod_that_selects_another_pool(api: Api) -> None:
    pod = bare("elsewhere", {**GOOD, "nodeSelector": {"floodplain.dev/pool": "other"}})
    answer = api.create(pod, dry_run=True)
    assert (answer.status, "conflict" in answer.message) == (403, True)


def bare(name: str, spec: Manifest, namespace: str = "jobs") -> Manifest:
    metadata = {**GOOD_METADATA, "name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": copy.deepcopy(spec)}


def test_a_daemon_set_of_anybody_reaches_the_nodes_of_the_pool(api: Api, make: Callable[[Manifest], Manifest]) -> None:
    """Log shippers and node exporters tolerate everything and set no limits; their pods are the controller's."""
    spec = {"tolerations": [{"operator": "Exists"}], "containers": [{"name": "main", "image": IMAGE}]}
    make(workload("DaemonSet", "agent", spec))
    (pod,) = wait_until("the agent is on the pool's node", lambda: on_node(pods_of(api, "agent")))
    (owner,) = pod["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"]) == ("DaemonSet", "agent")
    refused = api.create(bare("no-agent", spec), dry_run=True)
    assert (refused.status, "denied request" in refused.message) == (403, True)


def on_node(pods: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those whose DaemonSet made them for the pool's node: by an affinity, which the scheduler then follows."""
    return [one for one in pods if f"'{POOL_NODE}'" in str(one["spec"]["affinity"])]


def test_the_headroom_of_a_pool_gets_its_pod_on_every_node_of_that_pool_only(api: Api) -> None:
    daemon_sets = {one["metadata"]["name"]: one for one in HEADROOM if one["kind"] == "DaemonSet"}

    def desired() -> dict[str, int] | None:
        found = {name: api.get(api.path_of(one)) for name, one in daemon_sets.items()}
        seen = all(one["status"].get("observedGeneration") == one["metadata"]["generation"] for one in found.values())
        return {name: one["status"]["desiredNumberScheduled"] for name, one in found.items()} if seen else None

    wanted = wait_until("the headroom's controller has seen both pools", desired)
    assert wanted == {"floodplain-headroom-swap": 1, "floodplain-headroom-swap-large": 0}

    def pods() -> list[dict[str, Any]]:
        return on_node(api.items("/api/v1/namespaces/kube-system/pods"))

    (pod,) = wait_until("there is headroom on the pool's node", pods)
    ours = daemon_sets["floodplain-headroom-swap"]["spec"]["template"]["spec"]
    assert pod["spec"]["priorityClassName"] == ours["priorityClassName"]
    assert pod["spec"]["containers"][0]["resources"] == ours["containers"][0]["resources"]


def test_kube_system_is_left_alone(api: Api) -> None:
    answer = api.create(bare("debug", BROKEN, "kube-system"), dry_run=True)
    assert (answer.status, warned(answer)) == (201, [])


def test_a_job_from_before_the_rules_can_still_end(api: Api, old_job: Manifest) -> None:
    """Its controller takes its finalizer off the pod, which breaks every rule."""
    (pod,) = pods_of(api, "old")
    assert pod["metadata"]["finalizers"] == ["batch.kubernetes.io/job-tracking"]
    path = f"{PODS}/{pod['metadata']['name']}"
    done = api.patch(f"{path}/status", {"status": {"phase": "Succeeded"}})
    assert (done.status, warned(done)) == (200, [])

    def complete() -> bool:
        conditions = api.get(api.path_of(old_job))["status"].get("conditions", [])
        return any(one["type"] == "Complete" and one["status"] == "True" for one in conditions)

    wait_until("the old job is complete", complete)
    assert api.get(path)["metadata"].get("finalizers", []) == []


def test_a_resize_is_judged_like_a_new_pod(api: Api, make: Callable[[Manifest], Manifest], pool_node: str) -> None:
    pod = make(bare("resized", {**GOOD, "nodeName": pool_node}))
    path = f"{api.path_of(pod)}/resize"

    def resized(**resources: Any) -> Any:
        change = {"spec": {"containers": [{"name": "main", "resources": resources}]}}
        return api.patch(path, change, content_type=STRATEGIC)

    refused = resized(limits={"memory": "4Gi"})
    assert (refused.status, "above the requests and the pod overhead pays for" in refused.message) == (403, True)
    allowed = resized(limits={"memory": "1030Mi"})
    assert (allowed.status, warned(allowed)) == (200, [])
    assert allowed.body["spec"]["containers"][0]["resources"]["limits"]["memory"] == "1030Mi"


def test_a_debug_container_is_admitted_with_advice(
    api: Api, make: Callable[[Manifest], Manifest], pool_node: str
) -> None:
    pod = make(bare("debugged", {**GOOD, "nodeName": pool_node}))
    debug = {"spec": {"ephemeralContainers": [{"name": "debug", "image": IMAGE, "targetContainerName": "main"}]}}
    answer = api.patch(f"{api.path_of(pod)}/ephemeralcontainers", debug, content_type=STRATEGIC)
    (warning,) = warned(answer)
    assert (answer.status, "'floodplain-swap-advice'" in warning) == (200, True)
