"""Runs the real Karpenter controller as a process, against a control plane and the pretended AWS.

Its settings are those that its chart gave the Deployment, so that a stack's values drive the real program; only what
this machine needs is set here: where to listen, whom to talk to, and as whom.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import requests

from floodplain.quantity import to_bytes, to_millicores
from testbed import engines
from testbed.aws import Aws
from testbed.cluster.control_plane import ControlPlane
from testbed.ports import free_port
from testbed.processes import Process, Processes, clean_environment, wait_until
from testbed.state import State

CALLER = "karpenter"
"""The access key by which Karpenter's calls are found in `Aws.calls`."""
READY_SECONDS = 90


def settings_from_deployment(deployment: Mapping[str, Any]) -> dict[str, str]:
    """The environment of the first container of a Deployment, as kubelet would resolve it.

    Knows the sources that Karpenter's chart uses: plain values, the namespace, and the container's own resources.
    Raises ValueError for another one.
    """
    container = deployment["spec"]["template"]["spec"]["containers"][0]
    namespace = deployment["metadata"].get("namespace", "default")
    return {entry["name"]: _value(entry, namespace, container.get("resources", {})) for entry in container["env"]}


def _value(entry: Mapping[str, Any], namespace: str, resources: Mapping[str, Any]) -> str:
    source = entry.get("valueFrom", {})
    if not source:
        return str(entry.get("value", ""))
    if source.get("fieldRef", {}).get("fieldPath") == "metadata.namespace":
        return str(namespace)
    asked = source.get("resourceFieldRef", {}).get("resource", "")
    kind, _, name = asked.partition(".")
    amount = resources.get(kind, {}).get(name, "0")
    if asked == "requests.cpu":
        return str(to_millicores(amount))
    if asked == "limits.memory":
        return str(to_bytes(amount))
    raise ValueError(f"{entry['name']} comes from {source}, which is not followed here")


def environment(
    settings: Mapping[str, str], control_plane: ControlPlane, aws: Aws, metrics_port: int, health_port: int
) -> dict[str, str]:
    """What the process is started with: settings win over defaults, this machine's needs over both."""
    defaults = {**clean_environment(), **aws.environment(CALLER), "SYSTEM_NAMESPACE": "kube-system"}
    needs = {
        "AWS_ENDPOINT_URL": aws.endpoint,
        "AWS_ACCESS_KEY_ID": CALLER,
        "KUBECONFIG": str(control_plane.kubeconfig),
        "DISABLE_LEADER_ELECTION": "true",
        "METRICS_PORT": str(metrics_port),
        "HEALTH_PROBE_PORT": str(health_port),
    }
    return {**defaults, **settings, **needs}


def start_karpenter(
    state: State, processes: Processes, control_plane: ControlPlane, aws: Aws, settings: Mapping[str, str]
) -> Process:
    """The controller, ready when this returns: it has read the instance types and its caches are filled.

    The CRDs must be there. Raises EngineError with its last lines when it does not come up. Its metrics and health
    ports listen on every interface: the program has a setting for their numbers, none for the address.
    """
    metrics_port, health_port = free_port(), free_port()
    process = processes.start(
        "karpenter",
        [engines.path("karpenter")],
        env=environment(settings, control_plane, aws, metrics_port, health_port),
    )
    try:
        wait_until(
            "Karpenter is ready",
            lambda: requests.get(f"http://127.0.0.1:{health_port}/readyz", timeout=5, proxies={"http": ""}).ok,
            process=process,
            timeout_seconds=READY_SECONDS,
        )
    except BaseException:
        process.stop()  # else it would act beside the next one that is started
        raise
    return process


def error_lines(log: Path) -> list[str]:
    """What the controller logged as an error, one text each: its message, the error and the object it was about."""
    return [
        " ".join(str(entry[key]) for key in ("message", "error", *_ABOUT) if entry.get(key))
        for entry in _entries(log)
        if entry.get("level") == "ERROR"
    ]


_ABOUT = ("EC2NodeClass", "NodePool", "NodeClaim", "Pod")


def _entries(log: Path) -> Iterator[dict[str, Any]]:
    for line in log.read_text(errors="replace").splitlines():
        if line.startswith("{"):
            try:
                yield json.loads(line)
            except json.JSONDecodeError:  # the line that is being written
                continue
