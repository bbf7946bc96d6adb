"""The objects of two pools of raster workers, as plain manifests. Their pods are in `worker_pods`.

The big pool runs at most one pod at a time, whatever happens to it. That is why it is a StatefulSet of one replica: its
pod has a name, and the API server holds one object of a name. The controller makes the next one only when the last is
gone. A Deployment, rolling, starts the new pod beside the old one; with Recreate it still makes a second one where a
node no longer answers and its pod is given up. The price: while a node does not answer the big pool stands still, until
the node is back or removed. Who deletes the pod by force gives the promise up.
"""

from __future__ import annotations

from typing import Any

from . import worker_pods
from .worker_choices import Drains
from .worker_figures import document
from .worker_names import BIG, RASTER_KEY, SMALL, config_map_name, pool_name
from .worker_settings import Workers

READY_SECONDS = 900
"""For a new pod to be scheduled, perhaps on a node that is launched for it, and to pull its image."""


def namespace(workers: Workers) -> dict[str, Any]:
    """The workers' own namespace, in which only pods without any privilege may run."""
    level = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("audit", "enforce", "warn")}
    metadata = {"name": workers.place, "labels": {**worker_pods.labels(workers), **level}}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


def service_account(workers: Workers) -> dict[str, Any]:
    """An account without rights; a token only where it is asked for."""
    metadata = _metadata(workers, workers.name)
    if workers.account.annotations:
        metadata["annotations"] = dict(sorted(workers.account.annotations.items()))
    return {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": metadata,
        "automountServiceAccountToken": False,
    }


def config_map(workers: Workers) -> dict[str, Any]:
    """The figures of the pools for those who route. Workers have them as environment."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": _metadata(workers, config_map_name(workers.name)),
        "data": {RASTER_KEY: document(workers.pools)},
    }


def small(workers: Workers) -> dict[str, Any]:
    """The Deployment of the small pool. Where it is scaled, the number of replicas is the autoscaler's alone."""
    scaled = workers.small.autoscaling is not None
    fixed = 1 if workers.small.replicas is None else workers.small.replicas
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": _metadata(workers, pool_name(workers.name, SMALL), SMALL),
        "spec": {
            **({} if scaled else {"replicas": fixed}),
            "revisionHistoryLimit": 3,
            "selector": {"matchLabels": worker_pods.selector(workers, SMALL)},
            "progressDeadlineSeconds": READY_SECONDS,
            # A quarter anew at a time. Those that end finish their tasks beside the new ones.
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": 0}},
            "template": worker_pods.template(workers, SMALL),
        },
    }


def autoscaler(workers: Workers) -> dict[str, Any] | None:
    """The HorizontalPodAutoscaler of the small pool, where it is scaled."""
    scaling = workers.small.autoscaling
    if scaling is None:
        return None
    name = pool_name(workers.name, SMALL)
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": _metadata(workers, name, SMALL),
        "spec": scaling.spec(name, workers.small.longest_task_seconds),
    }


def big(workers: Workers) -> dict[str, Any]:
    """The StatefulSet of the big pool: one replica, deleted before it is made anew."""
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": _metadata(workers, pool_name(workers.name, BIG), BIG),
        "spec": {
            "replicas": 1,
            "revisionHistoryLimit": 3,
            # With one replica there is nothing to start in parallel. But OrderedReady waits for a pod that never
            # becomes ready even when the template was mended, until somebody deletes it (kubernetes.io, "Forced
            # rollback"); this replaces it.
            "podManagementPolicy": "Parallel",
            "updateStrategy": {"type": "RollingUpdate"},
            "selector": {"matchLabels": worker_pods.selector(workers, BIG)},
            "template": worker_pods.template(workers, BIG),
        },
    }


def disruption_budget(workers: Workers) -> dict[str, Any] | None:
    """No drain takes the big worker, unless it may."""
    if workers.big.drains is Drains.FINISH:
        return None
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": _metadata(workers, pool_name(workers.name, BIG), BIG),
        "spec": {
            "maxUnavailable": 0,
            "selector": {"matchLabels": worker_pods.selector(workers, BIG)},
            # A pod that cannot start runs no task and must not hold up a drain for good. But where a probe decides, a
            # worker deep in native code may fail it, and with this a drain would take it and its task.
            "unhealthyPodEvictionPolicy": "IfHealthyBudget" if workers.readiness else "AlwaysAllow",
        },
    }


def _metadata(workers: Workers, name: str, pool: str | None = None) -> dict[str, Any]:
    return {"name": name, "namespace": workers.place, "labels": worker_pods.labels(workers, pool)}
