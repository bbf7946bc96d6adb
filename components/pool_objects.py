"""From a pool's settings to the Kubernetes objects that make it: pure builders of whole manifests.

Not for registering them: that is `swap_node_pool`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from floodplain.pools import POOL_LABEL, SWAP_RATIO_ANNOTATION
from floodplain.quantity import from_bytes, to_bytes

from .cluster import ClusterVersions
from .pool_boot import boot_text

if TYPE_CHECKING:
    from .swap_pool import SwapPool

NODE_POOL_API = "karpenter.sh/v1"
NODE_CLASS_API = "karpenter.k8s.aws/v1"
HEADROOM_NAMESPACE = "kube-system"

# Karpenter counts an object as ready when its own checks passed; without this Pulumi takes "created" for "done".
_WAIT_FOR_READY = {"pulumi.com/waitFor": "condition=Ready"}


def _metadata(name: str, pool: SwapPool, **annotations: str) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": name, "labels": {POOL_LABEL: pool.name}}
    if annotations:
        metadata["annotations"] = annotations
    return metadata


def _own_taint(pool: SwapPool) -> dict[str, str]:
    taint = pool.node_taint
    return {"key": taint.key, "value": taint.value, "effect": taint.effect.value}


def _toleration(pool: SwapPool) -> dict[str, str]:
    return {"operator": "Equal", **_own_taint(pool)}


def _requirement(key: str, *values: str, operator: str = "In") -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


def requirements(pool: SwapPool) -> list[dict[str, Any]]:
    """NodePool requirements: the family allow-list and what narrows it."""
    found = [
        _requirement("kubernetes.io/os", "linux"),
        _requirement("kubernetes.io/arch", pool.architecture.value),
        _requirement("karpenter.sh/capacity-type", *(kind.value for kind in pool.capacity_types)),
        _requirement("karpenter.k8s.aws/instance-family", *pool.families),
        _requirement("karpenter.k8s.aws/instance-hypervisor", "nitro"),
    ]
    if pool.vcpus:
        found.append(_requirement("karpenter.k8s.aws/instance-cpu", *(str(count) for count in sorted(pool.vcpus))))
    if pool.zones:
        found.append(_requirement("topology.kubernetes.io/zone", *pool.zones))
    return found


def node_pool(pool: SwapPool) -> dict[str, Any]:
    """The Karpenter NodePool: tainted, limited, WhenEmpty, with budgets and a grace as long as a job."""
    spec: dict[str, Any] = {
        "template": {
            "metadata": {"labels": {**dict(sorted(pool.labels.items())), POOL_LABEL: pool.name}},
            "spec": {
                "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": pool.name},
                "requirements": requirements(pool),
                "taints": [_own_taint(pool)],
                "expireAfter": pool.disruption.expire_after,
                "terminationGracePeriod": pool.disruption.grace_period(pool.longest_job),
            },
        },
        "disruption": {
            "consolidationPolicy": "WhenEmpty",
            "consolidateAfter": pool.disruption.consolidate_after,
            "budgets": [budget.manifest() for budget in pool.disruption.budgets],
        },
        "limits": pool.limits.manifest(),
    }
    if pool.weight is not None:
        spec["weight"] = pool.weight
    return {
        "apiVersion": NODE_POOL_API,
        "kind": "NodePool",
        "metadata": _metadata(pool.name, pool, **{SWAP_RATIO_ANNOTATION: f"{pool.swap.ratio:g}", **_WAIT_FOR_READY}),
        "spec": spec,
    }


def node_class(
    pool: SwapPool,
    cluster: ClusterVersions,
    role: Any,
    subnet_terms: Any = None,
    security_group_terms: Any = None,
) -> dict[str, Any]:
    """The EC2NodeClass. `role` is the node role's name; terms that are given replace the settings' own."""
    by_tag = [{"tags": {"karpenter.sh/discovery": cluster.name}}]
    return {
        "apiVersion": NODE_CLASS_API,
        "kind": "EC2NodeClass",
        "metadata": _metadata(pool.name, pool, **_WAIT_FOR_READY),
        "spec": {
            "amiFamily": "AL2023",
            "amiSelectorTerms": pool.ami.terms(),
            "role": role,
            "subnetSelectorTerms": subnet_terms or [term.manifest() for term in pool.subnets] or by_tag,
            "securityGroupSelectorTerms": security_group_terms
            or [term.manifest() for term in pool.security_groups]
            or by_tag,
            "instanceStorePolicy": "RAID0",
            "blockDeviceMappings": [pool.root_volume.mapping()],
            "metadataOptions": {
                "httpEndpoint": "enabled",
                "httpProtocolIPv6": "disabled",
                "httpPutResponseHopLimit": 1,
                "httpTokens": "required",
            },
            "kubelet": pool.kubelet.manifest(),
            "userData": boot_text(pool),
            "tags": {**dict(sorted(pool.tags.items())), POOL_LABEL: pool.name},
        },
    }


def runtime_class(pool: SwapPool) -> dict[str, Any]:
    """The RuntimeClass that planned pods name: selector, toleration and the overhead that pays for limits.

    nodeadm calls containerd's default runtime `runc` (amazon-eks-ami), hence the handler.
    """
    return {
        "apiVersion": "node.k8s.io/v1",
        "kind": "RuntimeClass",
        "metadata": _metadata(pool.runtime_class, pool),
        "handler": "runc",
        "overhead": {"podFixed": {"memory": pool.overhead}},
        "scheduling": {"nodeSelector": {POOL_LABEL: pool.name}, "tolerations": [_toleration(pool)]},
    }


def priority_class(pool: SwapPool) -> dict[str, Any]:
    """The PriorityClass of the pool's jobs. System classes would lose their swap."""
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": _metadata(pool.runtime_class, pool),
        "value": pool.priority.value,
        "globalDefault": False,
        "preemptionPolicy": "PreemptLowerPriority" if pool.priority.preempts else "Never",
        "description": f"Jobs of the swap pool {pool.name}.",
    }


def headroom_daemon_set(pool: SwapPool) -> dict[str, Any]:
    """A pause pod on each node that requests what DaemonSets use beyond their requests.

    EKS's kube-proxy and aws-node request no memory; without this the sum of limits would not fit the node.
    """
    name = f"floodplain-headroom-{pool.name}"
    labels = {"app.kubernetes.io/name": "floodplain-headroom", POOL_LABEL: pool.name}
    memory = from_bytes(to_bytes(pool.headroom))
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": name, "namespace": HEADROOM_NAMESPACE, "labels": labels},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "nodeSelector": {POOL_LABEL: pool.name},
                    "tolerations": [_toleration(pool)],
                    "priorityClassName": "system-node-critical",
                    "automountServiceAccountToken": False,
                    "terminationGracePeriodSeconds": 0,
                    "securityContext": {
                        "runAsNonRoot": True,
                        "runAsUser": 65535,
                        "seccompProfile": {"type": "RuntimeDefault"},
                    },
                    "containers": [
                        {
                            "name": "headroom",
                            "image": pool.headroom_image,
                            "resources": {
                                "requests": {"cpu": "1m", "memory": memory},
                                "limits": {"memory": memory},
                            },
                            "securityContext": {
                                "allowPrivilegeEscalation": False,
                                "readOnlyRootFilesystem": True,
                                "capabilities": {"drop": ["ALL"]},
                            },
                        }
                    ],
                },
            },
        },
    }
