"""Pods of the tests: made, watched to their end, and looked at from inside the machine, at their cgroups."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from floodplain.pools import POOL_LABEL
from testbed.cluster.api import Api
from testbed.node.container_images import EATER, PAUSE
from testbed.node.machine import Machine
from testbed.processes import wait_until

PODS = "/api/v1/namespaces/default/pods"
START_SECONDS = 300
"""For a pod to start or to go, on a busy computer; a few seconds on a quiet one."""


@dataclass(frozen=True)
class End:
    """How a pod ended. `reason` is the container's, `pod_reason` the pod's (Evicted)."""

    exit_code: int | None
    reason: str | None
    pod_reason: str | None
    message: str
    seconds: float


def container(
    name: str = "job",
    *,
    request_mib: int | None = None,
    limit_mib: int | None = None,
    cpu: str | None = None,
    eat: Sequence[str] = (),
) -> dict[str, Any]:
    """The pause program, or the eater with these arguments. `cpu` is both request and limit."""
    resources = {}
    for kind, mib in (("requests", request_mib), ("limits", limit_mib)):
        amounts = {**({"memory": f"{mib}Mi"} if mib else {}), **({"cpu": cpu} if cpu else {})}
        resources.update({kind: amounts} if amounts else {})
    made = {"name": name, "image": EATER if eat else PAUSE, "imagePullPolicy": "Never", "resources": resources}
    return {**made, **({"args": list(eat)} if eat else {})}


def pod(name: str, containers: Sequence[Mapping[str, Any]], *, node: str, **spec: Any) -> dict[str, Any]:
    """A pod for one machine of our pool. `spec` are further keys of its spec."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {
            "containers": list(containers),
            "restartPolicy": "Never",
            "hostNetwork": True,
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "terminationGracePeriodSeconds": 1,
            "nodeSelector": {"kubernetes.io/hostname": node},
            "tolerations": [{"key": POOL_LABEL, "operator": "Exists"}],
            **spec,
        },
    }


@dataclass(frozen=True)
class Jobs:
    """Pods on one machine."""

    api: Api
    machine: Machine

    def start(self, name: str, *containers: Mapping[str, Any], **spec: Any) -> None:
        """Create a pod; an error when the API server refuses it."""
        answer = self.api.create(pod(name, containers, node=self.machine.instance.node_name, **spec))
        assert answer.ok, answer.message

    def get(self, name: str) -> dict[str, Any]:
        return self.api.get(f"{PODS}/{name}")

    def running(self, *names: str) -> None:
        """Wait until each has all of its containers started."""
        for name in names:
            wait_until(f"pod {name} runs", partial(self._is_running, name), timeout_seconds=START_SECONDS)

    def ended(self, *names: str, timeout_seconds: float = 300) -> dict[str, End]:
        """Wait until each has succeeded or failed."""
        started = time.monotonic()
        ends: dict[str, End] = {}
        while len(ends) < len(names):
            for name in names:
                status = self.get(name)["status"]
                if name not in ends and status["phase"] in ("Succeeded", "Failed"):
                    ends[name] = _end(status, time.monotonic() - started)
            assert time.monotonic() - started < timeout_seconds, f"not ended after {timeout_seconds} s: {names}"
            time.sleep(0.5)
        return {name: ends[name] for name in names}

    def cgroups(self, name: str) -> dict[str, str]:
        """Folders of its containers' cgroups, by container."""
        found = self.get(name)
        qos = found["status"]["qosClass"].lower()
        kind = "" if qos == "guaranteed" else f"-{qos}"
        parent = f"/kubepods{kind}.slice" if kind else ""
        slice_ = f"kubepods{kind}-pod{found['metadata']['uid'].replace('-', '_')}.slice"
        return {
            status["name"]: f"/sys/fs/cgroup/kubepods.slice{parent}/{slice_}/cri-containerd-{_id(status)}.scope"
            for status in found["status"]["containerStatuses"]
        }

    def swap_limits(self, name: str) -> dict[str, int]:
        """memory.swap.max of each container of the pod."""
        folders = self.cgroups(name)
        values = self.machine.run(f"for f in {' '.join(folders.values())}; do cat $f/memory.swap.max; done").split()
        return {name: int(value) for name, value in zip(folders, values, strict=True)}

    def log(self, name: str) -> str:
        """What its container printed, by way of the API server and kubelet."""
        answer = self.api.request("GET", f"{PODS}/{name}/log")
        assert answer.ok, answer.message
        return str(answer.body["text"])

    def remove(self, *names: str) -> None:
        for name in names:
            self.api.delete(f"{PODS}/{name}", grace_seconds=1)
        for name in names:
            wait_until(f"pod {name} is gone", partial(self._is_gone, name), timeout_seconds=START_SECONDS)

    def _is_running(self, name: str) -> bool:
        statuses = self.get(name)["status"].get("containerStatuses") or [{}]
        states = [status.get("state", {}) for status in statuses]
        assert not any("terminated" in state for state in states), states
        return all("running" in state for state in states)

    def _is_gone(self, name: str) -> bool:
        return self.api.find(f"{PODS}/{name}") is None


def _id(status: Mapping[str, Any]) -> str:
    return str(status["containerID"].partition("//")[2])


def _end(status: dict[str, Any], seconds: float) -> End:
    state = (status.get("containerStatuses") or [{}])[0].get("state", {}).get("terminated", {})
    return End(state.get("exitCode"), state.get("reason"), status.get("reason"), status.get("message", ""), seconds)


def memory(machine: Machine) -> dict[str, int]:
    """/proc/meminfo, in bytes."""
    lines = (line.split() for line in machine.run("cat /proc/meminfo").splitlines())
    return {fields[0].removesuffix(":"): int(fields[1]) * 1024 for fields in lines if len(fields) == 3}
