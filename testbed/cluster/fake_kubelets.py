"""Stand-ins for the kubelets of launched instances, in a thread: nodes register and stay alive, their pods run and end.

No container runs. A node registers once, as soon as Karpenter has its instance's id, or powers itself off instead. An
instance that does not run any more sends no heartbeat, and its node is marked as a machine that nobody can hear.
"""

from __future__ import annotations

import contextlib
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from testbed.aws import Aws
from testbed.cluster.api import STRATEGIC, Api
from testbed.cluster.registration import node_object, ready, timestamp, unheard
from testbed.engine_error import EngineError
from testbed.state import State

Instance = Mapping[str, Any]
"""As EC2's DescribeInstances answers."""

IGNORES_TERM = "testbed.floodplain.dev/ignores-term"
"""Annotation of a pod that does not end when it is asked to, only when its grace is over."""
PAUSE_SECONDS = 0.25
HEARTBEAT_SECONDS = 8
_LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
_CLAIMS = "/apis/karpenter.sh/v1/nodeclaims"
_UNREGISTERED = "karpenter.sh/unregistered"


@dataclass
class FakeKubelets:
    """`takes` chooses the instances to stand in for (a real machine may be booted for another); `powers_off` those
    that end themselves instead of registering; `memory` is the capacity that nodes of a type report, Karpenter's own
    estimate for others. All may be changed while it runs."""

    api: Api
    aws: Aws
    log: Path
    takes: Callable[[Instance], bool] = lambda instance: True
    powers_off: Callable[[Instance], bool] = lambda instance: False
    memory: dict[str, str] = field(default_factory=dict)
    powered_off: list[str] = field(default_factory=list)
    """Ids of the instances that powered themselves off."""
    _seen: set[str] = field(default_factory=set)
    _nodes: dict[str, str] = field(default_factory=dict)
    """Instance id by node name, of the nodes that stand-ins registered."""
    _starting: set[str] = field(default_factory=set)
    """Names of nodes that are not ready yet."""
    _heard: float = 0
    _ending: threading.Event = field(default_factory=threading.Event)
    _failures: int = 0

    def run(self) -> None:
        """Until `end`. A pass that fails is logged and tried again."""
        while not self._ending.wait(PAUSE_SECONDS):
            try:
                self._register()
                self._become_ready()
                self._heartbeats()
                self._pods()
                self._failures = 0
            except Exception:
                self._failures += 1
                self._say(traceback.format_exc())

    def end(self) -> None:
        self._ending.set()

    def failing(self) -> bool:
        """Whether it has not got through a pass for some seconds."""
        return self._failures > 20

    def _register(self) -> None:
        for claim in self.api.items(_CLAIMS):
            provider_id = claim.get("status", {}).get("providerID", "")
            identity = provider_id.rpartition("/")[2]
            if not identity or identity in self._seen or "deletionTimestamp" in claim["metadata"]:
                continue
            instance = self.aws.instance(identity)
            self._seen.add(identity)
            if not self.takes(instance):
                self._say(f"left {identity} ({instance['InstanceType']}) to others")
            elif self.powers_off(instance):
                told = self.aws.stop_instance(identity)
                self.powered_off.append(identity)
                self._say(f"{identity} powered off, told to {[delivery.queue for delivery in told]}")
            else:
                self._register_one(instance, claim)

    def _register_one(self, instance: Instance, claim: Mapping[str, Any]) -> None:
        identity = instance["InstanceId"]
        user_data = self.aws.launch_template_of(identity).user_data
        node = node_object(
            instance, claim, user_data, now=datetime.now(UTC), memory=self.memory.get(instance["InstanceType"])
        )
        answer = self.api.create(node)
        if not answer.ok:
            raise EngineError(f"register the node of {identity}: {answer.status} {answer.message}")
        name = node["metadata"]["name"]
        self._nodes[name] = identity
        self._starting.add(name)
        self._heartbeat(name, answer.body["metadata"]["uid"])
        self._say(f"registered {name} for {identity} ({instance['InstanceType']})")

    def _become_ready(self) -> None:
        """As a machine is, some time after its kubelet has registered: when Karpenter has taken its taint off.

        A node that was ready before that might get a pod while the taint eviction controller still sees the taint, and
        would lose it (seen on a busy computer).
        """
        for name in sorted(self._starting):
            node = self.api.find(f"/api/v1/nodes/{name}")
            taints = node["spec"].get("taints") or [] if node else []
            if any(taint["key"] == _UNREGISTERED for taint in taints):
                continue
            if node:
                self._set_condition(name, ready(datetime.now(UTC)))
            self._starting.remove(name)

    def _set_condition(self, name: str, condition: Mapping[str, Any]) -> None:
        status = {"status": {"conditions": [condition]}}
        self.api.patch(f"/api/v1/nodes/{name}/status", status, content_type=STRATEGIC)

    def _heartbeats(self) -> None:
        if time.monotonic() - self._heard < HEARTBEAT_SECONDS:
            return
        self._heard = time.monotonic()
        running = self._running()
        for node in self.api.items("/api/v1/nodes"):
            name = node["metadata"]["name"]
            if name not in self._nodes:
                continue
            if self._nodes[name] in running:
                self._heartbeat(name, node["metadata"]["uid"])
            else:
                self._set_condition(name, unheard(datetime.now(UTC)))

    def _running(self) -> set[str]:
        state = [{"Name": "instance-state-name", "Values": ["running"]}]
        pages = self.aws.client("ec2").get_paginator("describe_instances").paginate(Filters=state)
        return {
            instance["InstanceId"]
            for page in pages
            for reservation in page["Reservations"]
            for instance in reservation["Instances"]
        }

    def _heartbeat(self, name: str, uid: str) -> None:
        spec = {
            "holderIdentity": name,
            "leaseDurationSeconds": 40,
            "renewTime": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        }
        if self.api.patch(f"{_LEASES}/{name}", {"spec": spec}).status == 404:
            owner = {"apiVersion": "v1", "kind": "Node", "name": name, "uid": uid}
            metadata = {"name": name, "namespace": "kube-node-lease", "ownerReferences": [owner]}
            self.api.create(
                {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}
            )

    def _pods(self) -> None:
        for pod in self.api.items("/api/v1/pods", fieldSelector="spec.nodeName!="):
            metadata = pod["metadata"]
            if pod["spec"]["nodeName"] not in self._nodes:
                continue
            path = f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}"
            if "deletionTimestamp" in metadata:
                self._end_pod(path, pod)
            elif pod["status"].get("phase") == "Pending":
                self.api.patch(f"{path}/status", {"status": _running_status(pod, datetime.now(UTC))})

    def _end_pod(self, path: str, pod: Mapping[str, Any]) -> None:
        metadata = pod["metadata"]
        # The time at which the grace is over, not the one at which deletion was asked for.
        killed = datetime.strptime(metadata["deletionTimestamp"], "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
        waits = (metadata.get("annotations") or {}).get(IGNORES_TERM) == "true" and pod["status"]["phase"] == "Running"
        if not waits or datetime.now(UTC) >= killed:
            self.api.delete(path, grace_seconds=0)

    def _say(self, text: str) -> None:
        with self.log.open("a") as file:
            file.write(f"{timestamp(datetime.now(UTC))} {text}\n")


def _running_status(pod: Mapping[str, Any], now: datetime) -> dict[str, Any]:
    kinds = ("Initialized", "ContainersReady", "Ready")
    return {
        "phase": "Running",
        "startTime": timestamp(now),
        "conditions": [{"type": kind, "status": "True", "lastTransitionTime": timestamp(now)} for kind in kinds],
        "containerStatuses": [
            {
                "name": container["name"],
                "image": container["image"],
                "imageID": "",
                "ready": True,
                "started": True,
                "restartCount": 0,
                "state": {"running": {"startedAt": timestamp(now)}},
            }
            for container in pod["spec"]["containers"]
        ],
    }


@contextlib.contextmanager
def fake_kubelets(state: State, api: Api, aws: Aws, **choices: Any) -> Iterator[FakeKubelets]:
    """Stand-ins that run until the block is left. Raises EngineError there when they did not get through any more."""
    kubelets = FakeKubelets(api, aws, state.path("logs", "fake-kubelets.log"), **choices)
    thread = threading.Thread(target=kubelets.run, name="fake-kubelets", daemon=True)
    thread.start()
    try:
        yield kubelets
    finally:
        kubelets.end()
        thread.join(timeout=10)
        if kubelets.failing():
            last = kubelets.log.read_text().splitlines()[-10:]
            raise EngineError("stand-ins for kubelets do not get through any more:\n" + "\n".join(last))
