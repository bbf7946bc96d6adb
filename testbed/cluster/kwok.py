"""Nodes without a machine, played by the real KWOK: pods bound to them are Running at once and end when deleted.

They stand for the node group of a user's cluster on which Karpenter's own Deployment and other controllers run. Nodes
that Karpenter launches are not KWOK's: fake_kubelets.py or a real machine plays those.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from testbed import engines
from testbed.cluster.api import is_true
from testbed.cluster.control_plane import ControlPlane
from testbed.ports import free_port
from testbed.processes import Process, Processes, wait_until

ANNOTATION = "kwok.x-k8s.io/node"
# KWOK's own descriptions of what a node and a pod do, read from its Go module.
STAGES = (
    "node/fast/node-initialize",
    "node/heartbeat-with-lease/node-heartbeat-with-lease",
    "pod/fast/pod-ready",
    "pod/fast/pod-complete",
    "pod/fast/pod-delete",
)


def start_kwok(processes: Processes, control_plane: ControlPlane, *, node_name: str = "system-1") -> Process:
    """KWOK and one node of it, Ready when this returns."""
    folder = engines.module_folder("sigs.k8s.io/kwok") / "kustomize" / "stage"
    process = processes.start("kwok", kwok_command(engines.path("kwok"), control_plane.kubeconfig, folder))
    control_plane.api.must_apply(kwok_node(node_name))
    path = f"/api/v1/nodes/{node_name}"
    wait_until(
        f"KWOK's node {node_name} is Ready", lambda: is_true(control_plane.api.get(path), "Ready"), process=process
    )
    return process


def kwok_command(program: Path, kubeconfig: Path, stages: Path) -> list[str]:
    return [
        str(program),
        f"--kubeconfig={kubeconfig}",
        f"--manage-nodes-with-annotation-selector={ANNOTATION}=fake",
        "--node-lease-duration-seconds=40",
        f"--server-address=127.0.0.1:{free_port()}",
        *(f"--config={stages / stage}.yaml" for stage in STAGES),
    ]


def kwok_node(
    name: str, *, cpu: str = "32", memory: str = "256Gi", labels: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """A node of a plain node group, large enough for every controller."""
    resources = {"cpu": cpu, "memory": memory, "pods": "110", "ephemeral-storage": "100Gi"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "annotations": {ANNOTATION: "fake"},
            "labels": {
                "kubernetes.io/arch": "amd64",
                "kubernetes.io/os": "linux",
                "kubernetes.io/hostname": name,
                # Karpenter's Deployment spreads over zones and is scheduled nowhere else.
                "topology.kubernetes.io/zone": "us-west-2a",
                **(labels or {}),
            },
        },
        "status": {"capacity": resources, "allocatable": resources},
    }
