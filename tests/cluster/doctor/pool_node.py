"""A NodePool of ours and a node of it, without a kubelet; and pods that are placed on that node."""

from __future__ import annotations

from typing import Any

NAMESPACE = "doctor-jobs"
NODE = "doctor-1"
GIB = 1 << 30
Manifest = dict[str, Any]

NODE_POOL: Manifest = {
    "apiVersion": "karpenter.sh/v1",
    "kind": "NodePool",
    "metadata": {
        "name": "doctor",
        "labels": {"floodplain.dev/pool": "doctor"},
        "annotations": {"floodplain.dev/swap-ratio": "2"},
    },
    "spec": {
        "template": {
            "spec": {
                "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "doctor"},
                "requirements": [{"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]}],
            }
        }
    },
}
_OTHER_INFO = """architecture bootID containerRuntimeVersion kernelVersion kubeProxyVersion machineID operatingSystem
osImage systemUUID"""
STATUS: Manifest = {
    "capacity": {"memory": "16Gi", "cpu": "4", "pods": "50"},
    "allocatable": {"memory": "15Gi", "cpu": "4", "pods": "50"},
    "nodeInfo": {
        **dict.fromkeys(_OTHER_INFO.split(), ""),
        "kubeletVersion": "v1.36.3",
        "swap": {"capacity": 32 * GIB},
    },
}


def pod(name: str, *, request: str, limit: str | None, **metadata: Any) -> Manifest:
    resources: Manifest = {"requests": {"memory": request}}
    resources |= {"limits": {"memory": limit}} if limit else {}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": NAMESPACE, **metadata},
        "spec": {
            "nodeName": NODE,
            "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "job", "image": "example.invalid/job:1", "resources": resources}],
        },
    }
