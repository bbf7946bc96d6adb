"""What surrounds the pods of the sizing service, as plain manifests: namespace, files, accounts, rights, network."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .sizing_installation import SizingInstallation
from .sizing_names import (
    ADMISSION,
    CERTIFICATE_SECRET,
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
    """An account without a token; admission's pods ask for theirs."""
    return {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": _metadata(plan, name),
        "automountServiceAccountToken": False,
    }


def rights(plan: SizingInstallation) -> dict[str, dict[str, Any]]:
    """All that admission may do, by a word for each: keep its certificate, and tell the API server whom to trust.

    The planning service has no rights.
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
    within, across = _metadata(plan, ADMISSION), {"name": ADMISSION, "labels": labels(ADMISSION)}
    return {
        "role": {"apiVersion": f"{RBAC}/v1", "kind": "Role", "metadata": within, "rules": rules},
        "role-binding": _binding(plan, "Role", within),
        "cluster-role": {
            "apiVersion": f"{RBAC}/v1",
            "kind": "ClusterRole",
            "metadata": across,
            "rules": [configurations],
        },
        "cluster-role-binding": _binding(plan, "ClusterRole", across),
    }


def network_policies(plan: SizingInstallation) -> dict[str, dict[str, Any]]:
    """Who may talk to whom, by a word for each. They bind where the cluster's network enforces them, and kubelet's
    probes always pass."""
    metrics = {"namespaceSelector": {"matchLabels": {_NAMESPACE_NAME: plan.sizing.metrics_namespace}}}
    sized = {"namespaceSelector": {"matchExpressions": [{"key": SIZING_LABEL, "operator": "Exists"}]}}
    system = {"namespaceSelector": {"matchLabels": {_NAMESPACE_NAME: "kube-system"}}}
    dns = [{"protocol": protocol, "port": 53} for protocol in ("UDP", "TCP")]
    return {
        "deny": _network_policy(plan, "floodplain-deny", {}, ingress=[], egress=[]),
        "admission-network": _network_policy(
            plan,
            ADMISSION,
            {"matchLabels": selector(ADMISSION)},
            ingress=[
                # From anywhere: the API server stands outside the cluster's network, at addresses that change.
                {"ports": _tcp([WEBHOOK_PORT])},
                {"from": [metrics], "ports": _tcp([HEALTH_PORT])},
            ],
            egress=[
                {"to": [system], "ports": dns},
                # To anywhere, for the same reason; only the API server is ever called.
                {"ports": _tcp(_API_SERVER_PORTS)},
            ],
        ),
        "sizing-network": _network_policy(
            plan,
            SIZING,
            {"matchLabels": selector(SIZING)},
            ingress=[{"from": [sized, metrics], "ports": _tcp([HTTP_PORT])}],
            egress=[],
        ),
    }


def _network_policy(
    plan: SizingInstallation, name: str, pods: dict[str, Any], *, ingress: list[Any], egress: list[Any]
) -> dict[str, Any]:
    spec = {"podSelector": pods, "policyTypes": ["Ingress", "Egress"], "ingress": ingress, "egress": egress}
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": _metadata(plan, name),
        # An empty list and none mean the same, and the API server keeps none.
        "spec": {key: value for key, value in spec.items() if value != []},
    }


def _tcp(ports: Iterable[int]) -> list[dict[str, Any]]:
    return [{"protocol": "TCP", "port": port} for port in ports]


def _binding(plan: SizingInstallation, kind: str, metadata: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": f"{kind}Binding",
        "metadata": metadata,
        "roleRef": {"apiGroup": RBAC, "kind": kind, "name": ADMISSION},
        "subjects": [{"kind": "ServiceAccount", "name": ADMISSION, "namespace": plan.sizing.namespace}],
    }


def _metadata(plan: SizingInstallation, name: str) -> dict[str, Any]:
    owner = {ADMISSION: labels(ADMISSION), SIZING: labels(SIZING)}
    return {
        "name": name,
        "namespace": plan.sizing.namespace,
        "labels": owner.get(name, {"app.kubernetes.io/part-of": "floodplain"}),
    }
