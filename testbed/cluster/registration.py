"""The Node object with which a launched instance's kubelet would register, from its merged user data. Pure.

A test double of nodeadm and kubelet as far as Karpenter and the scheduler see them. What they do on the machine is
shown by a real node (testbed/node).
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import yaml

from nodeconfig.archive import read_archive

Object = dict[str, Any]
KUBELET_VERSION = "v1.36.3"
_LABELS_FLAG = "--node-labels="
_NOT_KUBELETS = ("vpc.amazonaws.com/pod-eni",)
"""Resources in a NodeClaim's capacity that other programs report."""


def node_config(user_data: bytes) -> Object:
    """All NodeConfig parts as one, in document order: later values win, lists are replaced, kubelet's flags added up.

    As nodeadm merges them (awslabs/amazon-eks-ami, nodeadm/internal/api/merge.go).
    """
    merged: Object = {}
    for _, part in read_archive(user_data.decode()).node_configs():
        merged = _merged(merged, yaml.safe_load(part.body) or {})
    return merged


def _merged(below: Any, above: Any, key: str = "") -> Any:
    if isinstance(below, dict) and isinstance(above, dict):
        both = {name: _merged(below[name], above[name], name) for name in below if name in above}
        return {**below, **above, **both}
    if key == "flags" and isinstance(below, list) and isinstance(above, list):
        return [*below, *above]
    return above


def node_labels(config: Mapping[str, Any]) -> dict[str, str]:
    """The labels in kubelet's flags."""
    found: dict[str, str] = {}
    for flag in _kubelet(config).get("flags") or []:
        if flag.startswith(_LABELS_FLAG):
            pairs = flag.removeprefix(_LABELS_FLAG).strip('"').split(",")
            found.update(pair.split("=", 1) for pair in pairs if pair)
    return found


def node_object(
    instance: Mapping[str, Any],
    claim: Mapping[str, Any],
    user_data: bytes,
    *,
    now: datetime,
    memory: str | None = None,
) -> Object:
    """A Node that is not ready yet, with its capacity in the first POST as kubelet does: Karpenter keeps what it sees
    first.

    Capacity is what Karpenter expects of the type; `memory` sets another one, as a real machine reports it.
    """
    config = node_config(user_data)
    kubelet = _kubelet(config).get("config") or {}
    name, zone = instance["PrivateDnsName"], instance["Placement"]["AvailabilityZone"]
    architecture = {"x86_64": "amd64"}.get(instance["Architecture"], instance["Architecture"])
    labels = {
        "kubernetes.io/arch": architecture,
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "node.kubernetes.io/instance-type": instance["InstanceType"],
        "topology.kubernetes.io/region": zone[:-1],
        "topology.kubernetes.io/zone": zone,
        **node_labels(config),
    }
    max_pods = str(kubelet.get("maxPods", 110))
    capacity, allocatable = (_resources(claim["status"][key], max_pods) for key in ("capacity", "allocatable"))
    if memory is not None:
        capacity["memory"] = memory
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": {
            "providerID": claim["status"]["providerID"],
            "taints": kubelet.get("registerWithTaints") or [],
        },
        "status": {
            "capacity": capacity,
            "allocatable": allocatable,
            "conditions": [starting(now)],
            "nodeInfo": _node_info(instance, architecture),
        },
    }


def starting(now: datetime) -> Object:
    """The Ready condition with which a kubelet registers."""
    return _condition("False", "KubeletNotReady", now)


def ready(now: datetime) -> Object:
    """The Ready condition of a node that takes pods."""
    return _condition("True", "KubeletReady", now)


def unheard(now: datetime) -> Object:
    """What the node lifecycle controller writes of a machine that it cannot hear."""
    return _condition("Unknown", "NodeStatusUnknown", now)


def _condition(status: str, reason: str, now: datetime) -> Object:
    moment = timestamp(now)
    return {
        "type": "Ready",
        "status": status,
        "reason": reason,
        "message": "stand-in for a kubelet",
        "lastHeartbeatTime": moment,
        "lastTransitionTime": moment,
    }


def timestamp(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _resources(found: Mapping[str, str], max_pods: str) -> dict[str, str]:
    return {key: value for key, value in found.items() if key not in _NOT_KUBELETS} | {"pods": max_pods}


def _node_info(instance: Mapping[str, Any], architecture: str) -> Object:
    identity = instance["InstanceId"]
    return {
        "architecture": architecture,
        "bootID": identity,
        "containerRuntimeVersion": "containerd://2.1.0",
        "kernelVersion": "6.12.0",
        "kubeProxyVersion": "",
        "kubeletVersion": KUBELET_VERSION,
        "machineID": identity,
        "operatingSystem": "linux",
        "osImage": "stand-in for Amazon Linux 2023",
        "systemUUID": identity,
    }


def _kubelet(config: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Mapping[str, Any] = (config.get("spec") or {}).get("kubelet") or {}
    return found
