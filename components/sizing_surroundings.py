"""What surrounds the pods of the sizing service, as plain manifests: namespace, files, accounts, rights, network."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .sizing_installation import SizingInstallation
from .sizing_names import (
    ADMISSION,
    CERTIFICATE_SECRET,
    DOCTOR,
    HEALTH_PORT,
    HTTP_PORT,
    POOLS,
    SIZING,
    SIZING_LABEL,
    WEBHOOK_PORT,
)
from .sizing_workloads import labels, selector

RBAC = "rbac.authorization.k8s.io"

_NAMESPACE_NAME = "kubernetes.io/metadata.name"
_API_SERVER_PORTS = (443, 6443)
"""Network policies look at a connection after the Service's address is gone: EKS serves on 443, others on 6443."""


def namespace(plan: SizingInstallation) -> dict[str, Any]:
    """The service's own namespace, in which only pods without any privilege may run."""
    level = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("audit", "enforce", "warn")}
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": plan.sizing.namespace, "labels": {"app.kubernetes.io/part-of": "floodplain", **level}},
    }


def config_map(plan: SizingInstallation) -> dict[str, Any]:
    """The pools and the sizing settings. Pods see a change within a minute or two and read it anew: nothing restarts,
    and so no checksum of it stands on a pod template."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": _metadata(plan, POOLS), "data": plan.files()}


def service_account(plan: SizingInstallation, name: str) -> dict[str, Any]:
    """An account without a token; pods that need one ask for it."""
    return {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": _metadata(plan, name),
        "automountServiceAccountToken": False,
    }


def rights(plan: SizingInstallation) -> dict[str, dict[str, Any]]:
    """All that admission may do, by a word for each: keep its certificate, and tell the API server whom to trust.

    The planning service has no rights; doctor's are in `sizing_doctor`.
    """
    secrets = {"apiGroups": [""], "resources": ["secrets"]}
    configurations = {
        "apiGroups": ["admissionregistration.k8s.io"],
        "resources": ["mutatingwebhookconfigurations"],
        "resourceNames": [SIZING],
        "verbs": ["get", "patch"],
    }
    rules = [
        {**secrets, "resourceNames": [CERTIFICATE_SECRET], "verbs": ["get", "update"]},
        # RBAC cannot name what does not exist yet. The namespace holds no Secret of anybody else.
        {**secrets, "verbs": ["create"]},
    ]
    within = _metadata(plan, ADMISSION)
    return {
        "role": {"apiVersion": f"{RBAC}/v1", "kind": "Role", "metadata": within, "rules": rules},
        "role-binding": _binding(plan, "Role", ADMISSION, within),
        **cluster_rights(plan, ADMISSION, [configurations]),
    }


def cluster_rights(plan: SizingInstallation, name: str, rules: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """What an account may do in the whole cluster: the role and its binding, by a word for each."""
    across = {"name": name, "labels": labels(name)}
    return {
        "cluster-role": {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "metadata": across, "rules": rules},
        "cluster-role-binding": _binding(plan, "ClusterRole", name, across),
    }


def network_policies(plan: SizingInstallation) -> dict[str, dict[str, Any]]:
    """Who may talk to whom, by a word for each. They bind where the cluster's network enforces them, and kubelet's
    probes always pass."""
    metrics = of_namespace(plan.sizing.metrics_namespace)
    sized = {"namespaceSelector": {"matchExpressions": [{"key": SIZING_LABEL, "operator": "Exists"}]}}
    return {
        "deny": network_policy(plan, "floodplain-deny", {}, ingress=[], egress=[]),
        "admission-network": network_policy(
            plan,
            ADMISSION,
            {"matchLabels": selector(ADMISSION)},
            ingress=[
                # From anywhere: the API server stands outside the cluster's network, at addresses that change.
                {"ports": tcp([WEBHOOK_PORT])},
                {"from": [metrics], "ports": tcp([HEALTH_PORT])},
            ],
            egress=to_api_server(),
        ),
        "sizing-network": network_policy(
            plan,
            SIZING,
            {"matchLabels": selector(SIZING)},
            ingress=[{"from": [sized, metrics], "ports": tcp([HTTP_PORT])}],
            egress=[],
        ),
    }


def to_api_server() -> list[dict[str, Any]]:
    """Egress of a pod that calls the API server, names looked up."""
    dns = [{"protocol": protocol, "port": 53} for protocol in ("UDP", "TCP")]
    return [
        {"to": [of_namespace("kube-system")], "ports": dns},
        # To anywhere: it stands outside the cluster's network, at addresses that change.
        {"ports": tcp(_API_SERVER_PORTS)},
    ]


def of_namespace(name: str) -> dict[str, Any]:
    """A policy's peer: every pod of a namespace."""
    return {"namespaceSelector": {"matchLabels": {_NAMESPACE_NAME: name}}}


def network_policy(
    plan: SizingInstallation, name: str, pods: dict[str, Any], *, ingress: list[Any], egress: list[Any]
) -> dict[str, Any]:
    """Who may reach some pods of the namespace, and whom they may reach."""
    spec = {"podSelector": pods, "policyTypes": ["Ingress", "Egress"], "ingress": ingress, "egress": egress}
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": _metadata(plan, name),
        # An empty list and none mean the same, and the API server keeps none.
        "spec": {key: value for key, value in spec.items() if value != []},
    }


def tcp(ports: Iterable[int]) -> list[dict[str, Any]]:
    """Ports of a policy."""
    return [{"protocol": "TCP", "port": port} for port in ports]


def _binding(plan: SizingInstallation, kind: str, name: str, metadata: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": f"{kind}Binding",
        "metadata": metadata,
        "roleRef": {"apiGroup": RBAC, "kind": kind, "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": plan.sizing.namespace}],
    }


def _metadata(plan: SizingInstallation, name: str) -> dict[str, Any]:
    owned = name in (ADMISSION, DOCTOR, SIZING)
    return {
        "name": name,
        "namespace": plan.sizing.namespace,
        "labels": labels(name) if owned else {"app.kubernetes.io/part-of": "floodplain"},
    }
