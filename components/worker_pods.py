"""The pod of a small or big worker, as a plain manifest. What makes such pods is in `worker_objects`."""

from __future__ import annotations

from typing import Any

from floodplain import quantity
from floodplain.quantity import GIB, MIB
from floodplain.raster.two_pools import TwoPools

from .worker_choices import Drains
from .worker_members import BigWorkers, Members
from .worker_names import BIG, FIGURES, PREFIX, RASTER_POOL_LABEL, SCRATCH, SMALL, WORKERS_LABEL, pool_name
from .worker_settings import Workers

END_SECONDS = 60
"""For a worker to end after its last task."""
BESIDES_SCRATCH_BYTES = GIB
"""Disk for logs, and for what is written elsewhere in the container."""


def members(workers: Workers, pool: str) -> Members:
    """The settings of one of the two pools."""
    return workers.small if pool == SMALL else workers.big


def labels(workers: Workers, pool: str | None = None) -> dict[str, str]:
    """Labels of an object: of one of the pools, or of what both share."""
    name = pool_name(workers.name, pool) if pool else workers.name
    of_pool = {RASTER_POOL_LABEL: pool} if pool else {}
    return {
        "app.kubernetes.io/name": name,
        "app.kubernetes.io/part-of": "floodplain",
        WORKERS_LABEL: workers.name,
        **of_pool,
    }


def selector(workers: Workers, pool: str) -> dict[str, str]:
    """Labels by which a pool's pods are told from others. They can never be changed."""
    return {"app.kubernetes.io/name": pool_name(workers.name, pool)}


def template(workers: Workers, pool: str) -> dict[str, Any]:
    """A pool's pod template."""
    annotations = _undisturbed(workers) if pool == BIG else {}
    metadata: dict[str, Any] = {"labels": {**dict(sorted(workers.labels.items())), **labels(workers, pool)}}
    if annotations:
        metadata["annotations"] = annotations
    return {"metadata": metadata, "spec": _pod(workers, pool)}


def grace_seconds(workers: Workers, pool: str) -> int:
    """What a worker that is told to end has to finish its tasks."""
    return members(workers, pool).longest_task_seconds + END_SECONDS


def memory(workers: Workers, pool: str) -> tuple[int, int]:
    """Request and limit in bytes. They are equal, but on a swap pool: kubelet grants swap only where they differ."""
    pools = workers.pools
    limit = pools.small_limit_bytes if pool == SMALL else pools.big_limit_bytes
    swaps = pool == BIG and workers.big.swap_pool is not None
    return (limit - MIB if swaps else limit), limit


def ephemeral_bytes(workers: Workers) -> int:
    """Node disk that a worker may use: its scratch volume, and a little elsewhere."""
    return quantity.to_bytes(workers.scratch) + BESIDES_SCRATCH_BYTES


def _undisturbed(workers: Workers) -> dict[str, str]:
    """Karpenter and the cluster autoscaler leave the node of such a pod alone."""
    if workers.big.drains is Drains.FINISH:
        return {}
    return {"cluster-autoscaler.kubernetes.io/safe-to-evict": "false", "karpenter.sh/do-not-disrupt": "true"}


def _pod(workers: Workers, pool: str) -> dict[str, Any]:
    own = members(workers, pool)
    pod: dict[str, Any] = {
        "serviceAccountName": workers.account.name or workers.name,
        "automountServiceAccountToken": workers.account.token,
        # Kubernetes' variables of the namespace's Services are no settings of a worker.
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": grace_seconds(workers, pool),
        "nodeSelector": {**dict(sorted(own.node_selector.items())), "kubernetes.io/os": "linux"},
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": workers.run_as_user,
            "runAsGroup": workers.run_as_user,
            "fsGroup": workers.run_as_user,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [_container(workers, pool, own)],
        "volumes": [{"name": "scratch", "emptyDir": {"sizeLimit": workers.scratch}}],
    }
    if own.tolerations:
        pod["tolerations"] = [one.manifest() for one in own.tolerations]
    if workers.image_pull_secrets:
        pod["imagePullSecrets"] = [{"name": name} for name in workers.image_pull_secrets]
    swap_pool = own.swap_pool if isinstance(own, BigWorkers) else None
    if swap_pool:
        pod["runtimeClassName"] = f"floodplain-{swap_pool}"
    priority = own.priority_class or (f"floodplain-{swap_pool}" if swap_pool else None)
    if priority:
        pod["priorityClassName"] = priority
    return pod


def _container(workers: Workers, pool: str, own: Members) -> dict[str, Any]:
    request, limit = (quantity.from_bytes(count) for count in memory(workers, pool))
    disk = quantity.from_bytes(ephemeral_bytes(workers))
    container: dict[str, Any] = {
        "name": "worker",
        "image": workers.image,
        "env": [{"name": name, "value": value} for name, value in environment(workers, pool).items()],
        "resources": {
            "requests": {"cpu": own.cpu, "memory": request, "ephemeral-storage": disk},
            # CPU has no limit: a task that could use an idle core only ends later with one.
            "limits": {"memory": limit, "ephemeral-storage": disk},
        },
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": workers.read_only_root,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": [{"name": "scratch", "mountPath": SCRATCH}],
    }
    given = {
        "command": list(own.command or workers.command),
        "args": list(own.args or workers.args),
        "envFrom": [
            *({"configMapRef": {"name": name}} for name in workers.env_from_config_maps),
            *({"secretRef": {"name": name}} for name in workers.env_from_secrets),
        ],
        # A worker that hangs has no tasks to finish: without this it would have the pod's grace, hours for a big one.
        "livenessProbe": {**workers.liveness.manifest(), "terminationGracePeriodSeconds": END_SECONDS}
        if workers.liveness
        else None,
        "readinessProbe": workers.readiness.manifest() if workers.readiness else None,
    }
    return container | {key: value for key, value in given.items() if value}


def slot_limit_bytes(pools: TwoPools, pool: str) -> int:
    """What the process of a task comes to when the task has all of its budget: `measured(slot_limit_bytes=...)`."""
    budget = pools.slot_budget_bytes if pool == SMALL else pools.big_budget_bytes
    return pools.baseline_bytes + pools.cache_bytes + budget


def environment(workers: Workers, pool: str) -> dict[str, str]:
    """What a worker's processes read: GDAL's and glibc's settings, its pool and budgets, then what the user gives.

    Kubernetes puts a variable into a command that names it: `$(FLOODPLAIN_RASTER_SLOTS)`.
    """
    pools, own = workers.pools, members(workers, pool)
    figures = {
        "POOL": pool,
        "SLOTS": pools.slots if pool == SMALL else 1,
        "PROCESSES": pools.processes if pool == SMALL else 1,
        "SLOT_LIMIT_BYTES": slot_limit_bytes(pools, pool),
        "BIG_BUDGET_BYTES": pools.big_budget_bytes,
        "SLOT_BUDGET_BYTES": pools.slot_budget_bytes,
        "THRESHOLD_BYTES": pools.threshold_bytes,
    }
    return {
        **{f"{PREFIX}{key}": str(figures[key]) for key in FIGURES[pool]},
        **workers.gdal.environment(workers.cache_bytes, SCRATCH),
        **workers.malloc.environment(),
        # The root is read-only, and many libraries write there.
        "HOME": SCRATCH,
        "TMPDIR": SCRATCH,
        **dict(sorted({**workers.env, **own.env}.items())),
    }
