"""Does a stand-in's node look as kubelet would register it? Pure: user data and instance in, Node out."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from testbed.cluster.registration import node_config, node_labels, node_object

OURS = """apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
spec:
  kubelet:
    config:
      failSwapOn: false
      maxPods: 10
    flags: ["--v=2"]
"""
KARPENTERS = """apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
spec:
  cluster: {name: demo}
  kubelet:
    config:
      maxPods: 58
      registerWithTaints:
      - {effect: NoSchedule, key: floodplain.dev/pool, value: swap}
      - {effect: NoExecute, key: karpenter.sh/unregistered}
    flags: ['--node-labels="floodplain.dev/pool=swap,karpenter.sh/nodepool=swap"']
"""


def archive(*node_configs: str) -> bytes:
    parts = [f"--//\nContent-Type: application/node.eks.aws\n\n{text}" for text in node_configs]
    head = 'MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="//"\n\n'
    script = "--//\nContent-Type: text/x-shellscript\n\n#!/bin/sh\necho\n"
    return (head + script + "".join(parts) + "--//--\n").encode()


INSTANCE = {
    "InstanceId": "i-1",
    "InstanceType": "r6id.2xlarge",
    "PrivateDnsName": "ip-10-50-0-4.ec2.internal",
    "Architecture": "x86_64",
    "Placement": {"AvailabilityZone": "us-west-2b"},
}
CLAIM: dict[str, Any] = {
    "status": {
        "providerID": "aws:///us-west-2b/i-1",
        "capacity": {"cpu": "8", "memory": "60620Mi", "pods": "58", "vpc.amazonaws.com/pod-eni": "18"},
        "allocatable": {"cpu": "7910m", "memory": "59627Mi", "pods": "58"},
    }
}
NOW = datetime(2026, 11, 30, 12, 0, 0, tzinfo=UTC)


def test_later_parts_win_and_flags_add_up() -> None:
    assert node_config(archive(OURS, KARPENTERS))["spec"] == {
        "cluster": {"name": "demo"},
        "kubelet": {
            "config": {
                "failSwapOn": False,
                "maxPods": 58,
                "registerWithTaints": [
                    {"effect": "NoSchedule", "key": "floodplain.dev/pool", "value": "swap"},
                    {"effect": "NoExecute", "key": "karpenter.sh/unregistered"},
                ],
            },
            "flags": ["--v=2", '--node-labels="floodplain.dev/pool=swap,karpenter.sh/nodepool=swap"'],
        },
    }


def test_labels_are_those_of_the_flag() -> None:
    assert node_labels(node_config(archive(KARPENTERS))) == {
        "floodplain.dev/pool": "swap",
        "karpenter.sh/nodepool": "swap",
    }
    assert node_labels(node_config(archive(OURS))) == {}


def test_a_node_has_its_capacity_labels_and_taints_from_the_start() -> None:
    node = node_object(INSTANCE, CLAIM, archive(OURS, KARPENTERS), now=NOW)
    status = node.pop("status")
    assert node == {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": "ip-10-50-0-4.ec2.internal",
            "labels": {
                "kubernetes.io/arch": "amd64",
                "kubernetes.io/hostname": "ip-10-50-0-4.ec2.internal",
                "kubernetes.io/os": "linux",
                "node.kubernetes.io/instance-type": "r6id.2xlarge",
                "topology.kubernetes.io/region": "us-west-2",
                "topology.kubernetes.io/zone": "us-west-2b",
                "floodplain.dev/pool": "swap",
                "karpenter.sh/nodepool": "swap",
            },
        },
        "spec": {
            "providerID": "aws:///us-west-2b/i-1",
            "taints": [
                {"effect": "NoSchedule", "key": "floodplain.dev/pool", "value": "swap"},
                {"effect": "NoExecute", "key": "karpenter.sh/unregistered"},
            ],
        },
    }
    assert (status["capacity"], status["allocatable"]) == (
        {"cpu": "8", "memory": "60620Mi", "pods": "58"},
        {"cpu": "7910m", "memory": "59627Mi", "pods": "58"},
    )
    assert [(one["type"], one["status"]) for one in status["conditions"]] == [("Ready", "False")]


def test_a_node_may_report_other_memory_than_karpenter_expects() -> None:
    node = node_object(INSTANCE, CLAIM, archive(KARPENTERS), now=NOW, memory="63000Mi")
    assert node["status"]["capacity"]["memory"] == "63000Mi"
    assert CLAIM["status"]["capacity"]["memory"] == "60620Mi"
