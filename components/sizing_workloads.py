"""The pods of the sizing service, as plain manifests: two Deployments, and what keeps one of admission's pods up.

Not what surrounds them (namespace, rights, network), which is in `sizing_surroundings`, and not doctor's CronJob, which
takes `pod_spec` and `container` from here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .sizing_installation import SizingInstallation
from .sizing_names import (
    ADMISSION,
    FOLDER,
    HEALTH_PORT,
    HTTP_PORT,
    POOLS,
    POOLS_KEY,
    POOLS_VARIABLE,
    SETTINGS_KEY,
    SIZING,
    WEBHOOK_PORT,
)

ADMISSION_REPLICAS = 2
"""One may go with its node while the other answers. It plans from memory, so that a third would only cost."""

USER = 65532


def labels(name: str) -> dict[str, str]:
    """Labels of an object of a Deployment or of the CronJob."""
    return {"app.kubernetes.io/name": name, "app.kubernetes.io/part-of": "floodplain"}


def selector(name: str) -> dict[str, str]:
    """Labels by which pods are told from others. Those of a Deployment can never be changed."""
    return {"app.kubernetes.io/name": name}


def sizing_deployment(plan: SizingInstallation) -> dict[str, Any]:
    """The service that plans over HTTP. It asks nothing of the cluster."""
    pod = _service_pod(plan, SIZING, "sizing", ports={"http": HTTP_PORT}, health="http")
    pod["topologySpreadConstraints"] = [_spread(SIZING, "kubernetes.io/hostname", "ScheduleAnyway")]
    return _deployment(plan, SIZING, plan.sizing.replicas, pod)


def admission_deployment(plan: SizingInstallation) -> dict[str, Any]:
    """The webhook. Only the API server calls it, and it keeps its certificate in a Secret."""
    ports = {"webhook": WEBHOOK_PORT, "health": HEALTH_PORT}
    pod = _service_pod(plan, ADMISSION, "admission", ports=ports, health="health", token=True)
    # Annotated pods of enforced namespaces wait for it, so that it must find a place in a cluster that is full of jobs.
    # The class is open to every namespace unless the cluster's administrator has set a quota for it.
    pod["priorityClassName"] = "system-cluster-critical"
    pod["topologySpreadConstraints"] = [
        # With its priority the second one makes room on another node rather than share one.
        _spread(ADMISSION, "kubernetes.io/hostname", "DoNotSchedule"),
        _spread(ADMISSION, "topology.kubernetes.io/zone", "ScheduleAnyway"),
    ]
    return _deployment(plan, ADMISSION, ADMISSION_REPLICAS, pod)


def disruption_budget(plan: SizingInstallation) -> dict[str, Any]:
    """Drains take admission's pods one by one. Not of the planning service, which nothing waits for."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": ADMISSION, "namespace": plan.sizing.namespace, "labels": labels(ADMISSION)},
        "spec": {
            "minAvailable": 1,
            "selector": {"matchLabels": selector(ADMISSION)},
            # A pod that cannot start must not hold up a drain for good.
            "unhealthyPodEvictionPolicy": "AlwaysAllow",
        },
    }


def service(plan: SizingInstallation, name: str, ports: dict[str, tuple[int, str]]) -> dict[str, Any]:
    """A Service; `ports` by name: its port, and the name of the container's."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": plan.sizing.namespace, "labels": labels(name)},
        "spec": {
            "type": "ClusterIP",
            "selector": selector(name),
            "ports": [
                {"name": key, "protocol": "TCP", "port": port, "targetPort": target}
                for key, (port, target) in ports.items()
            ],
        },
    }


def _deployment(plan: SizingInstallation, name: str, replicas: int, pod: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": plan.sizing.namespace, "labels": labels(name)},
        "spec": {
            "replicas": replicas,
            "revisionHistoryLimit": 3,
            "selector": {"matchLabels": selector(name)},
            # The new one answers before an old one ends.
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}},
            "template": {"metadata": {"labels": labels(name)}, "spec": pod},
        },
    }


def pod_spec(plan: SizingInstallation, account: str, only: dict[str, Any], *, token: bool = False) -> dict[str, Any]:
    """A pod of one container with the pools in it and without any privilege."""
    return {
        "serviceAccountName": account,
        "automountServiceAccountToken": token,
        # Kubernetes' variables of the Services here would begin with FLOODPLAIN_, as the service's settings do.
        "enableServiceLinks": False,
        "nodeSelector": {"kubernetes.io/os": "linux", **dict(sorted(plan.sizing.node_selector.items()))},
        # Nodes for the system, where Karpenter runs too. Pools are tainted otherwise, so that no job is a neighbour.
        "tolerations": [{"key": "CriticalAddonsOnly", "operator": "Exists"}],
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": USER,
            "runAsGroup": USER,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [only],
        "volumes": [{"name": "pools", "configMap": {"name": POOLS}}],
    }


def container(plan: SizingInstallation, name: str, arguments: Sequence[str], files: dict[str, str]) -> dict[str, Any]:
    """A container that runs `floodplain` with arguments; `files` by variable: what it reads of the ConfigMap."""
    resources = plan.sizing.resources
    return {
        "name": name,
        "image": plan.image,
        "command": ["floodplain", *arguments],
        # Named, so that a missing file is an error and not the service's example pool.
        "env": [{"name": variable, "value": f"{FOLDER}/{key}"} for variable, key in files.items()],
        "resources": {
            "requests": {"cpu": resources.cpu, "memory": resources.memory},
            "limits": {"memory": resources.memory},
        },
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        # The whole folder: a file mounted by subPath never changes, and the service reads anew what changed.
        "volumeMounts": [{"name": "pools", "mountPath": FOLDER, "readOnly": True}],
    }


def _service_pod(
    plan: SizingInstallation, name: str, command: str, *, ports: dict[str, int], health: str, token: bool = False
) -> dict[str, Any]:
    files = {POOLS_VARIABLE: POOLS_KEY, "FLOODPLAIN_SETTINGS": SETTINGS_KEY}
    serving = container(plan, command, ["serve", command], files) | {
        "ports": [{"name": key, "containerPort": port, "protocol": "TCP"} for key, port in ports.items()],
        "startupProbe": _probe("/healthz", health, periodSeconds=1, failureThreshold=60),
        "livenessProbe": _probe("/healthz", health, periodSeconds=10, failureThreshold=3),
        "readinessProbe": _probe("/readyz", health, periodSeconds=5, failureThreshold=2),
    }
    # The service waits 5 s for the endpoints to forget it and 20 s for its last answers.
    return pod_spec(plan, name, serving, token=token) | {"terminationGracePeriodSeconds": 30}


def _probe(path: str, port: str, **timing: int) -> dict[str, Any]:
    return {"httpGet": {"path": path, "port": port}, "timeoutSeconds": 2, **timing}


def _spread(name: str, key: str, otherwise: str) -> dict[str, Any]:
    return {
        "maxSkew": 1,
        "topologyKey": key,
        "whenUnsatisfiable": otherwise,
        "labelSelector": {"matchLabels": selector(name)},
        # Each revision for itself, or an update could not surge.
        "matchLabelKeys": ["pod-template-hash"],
        # Nodes of the pools are no places for it and must not count as empty ones.
        "nodeTaintsPolicy": "Honor",
    }
