"""The same mosaic as plain Jobs in two queues of Kueue: manifests, rendered from the routes. Pure.

A Job waits, suspended, until its queue has room. Room is counted in what pods request, and in the big queue also in
pods: one. So big tiles run one at a time wherever the cluster has nodes, and no controller of ours is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from floodplain.quantity import MIB
from floodplain.raster.pod_annotations import annotations_of
from mosaic.routes import Place, Route
from mosaic.settings import BIG, POOLS, SLOT_LIMIT_BYTES, SMALL, TIMEOUT_SECONDS, TRIES, worker_settings

NAMESPACE = "mosaic"
QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
IMAGE = "registry.example/mosaic:1"
FOLDER = "/mosaic"
"""Where the volume is mounted that holds the tiles and the history."""
CPU = "500m"
HEADROOM = 1.3
OUT_OF_MEMORY = 137
Manifest = dict[str, Any]
_LABELS = {"app.kubernetes.io/name": "mosaic"}


def queues(namespace: str = NAMESPACE) -> list[Manifest]:
    """A flavor, a ClusterQueue and a LocalQueue for each pool, and the namespace of the last."""
    made: list[Manifest] = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}]
    small = {"cpu": "2", "memory": _mi(POOLS.small_limit_bytes)}
    # One pod: with that the queue is serial, whatever memory it has. It must not be in a cohort, from which it could
    # borrow a second one.
    big = {"cpu": "2", "memory": _mi(POOLS.big_limit_bytes), "pods": "1"}
    # Small tiles are alike, so one that fits may pass one that does not. In the big queue the largest would be passed
    # for ever.
    for pool, quota, strategy in ((SMALL, small, "BestEffortFIFO"), (BIG, big, "StrictFIFO")):
        made += [_flavor(pool), _cluster_queue(pool, quota, strategy, namespace), _local_queue(pool, namespace)]
    return made


def _flavor(pool: str) -> Manifest:
    """Any node. Labels of a pool's nodes, if it has nodes of its own, belong into spec.nodeLabels."""
    return {**_kueue("ResourceFlavor", f"mosaic-{pool}"), "spec": {}}


def _cluster_queue(pool: str, quota: dict[str, str], strategy: str, namespace: str) -> Manifest:
    resources = [{"name": name, "nominalQuota": amount} for name, amount in quota.items()]
    group = {"coveredResources": list(quota), "flavors": [{"name": f"mosaic-{pool}", "resources": resources}]}
    spec = {
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
        "queueingStrategy": strategy,
        "resourceGroups": [group],
    }
    return {**_kueue("ClusterQueue", f"mosaic-{pool}"), "spec": spec}


def _local_queue(pool: str, namespace: str) -> Manifest:
    made = _kueue("LocalQueue", pool)
    made["metadata"]["namespace"] = namespace
    return {**made, "spec": {"clusterQueue": f"mosaic-{pool}"}}


def _kueue(kind: str, name: str) -> Manifest:
    return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": kind, "metadata": {"name": name}}


def jobs(routes: Sequence[Route], namespace: str = NAMESPACE, image: str = IMAGE) -> list[Manifest]:
    """A Job for every tile that is to be built. Raises ValueError for refused ones, each with its number."""
    refused = [f"{route.tile.name}: {route.why}" for route in routes if route.place is Place.REFUSED]
    if refused:
        raise ValueError("\n".join(refused))
    return [_job(route, namespace, image) for route in routes if route.place in (Place.SMALL, Place.BIG)]


def memory_bytes(route: Route) -> int:
    """Request and limit of one tile's pod: the idle process, the estimate and some headroom, at most a whole slot."""
    return min(POOLS.baseline_bytes + round(HEADROOM * route.estimate_bytes), SLOT_LIMIT_BYTES[route.place])


def _job(route: Route, namespace: str, image: str) -> Manifest:
    pool, memory = str(route.place), _mi(memory_bytes(route))
    annotations = annotations_of(route.estimate_bytes, POOLS.baseline_bytes, route.terms, of=route.tile.name)
    command = ["python", "-m", "mosaic.build_tile", "--tile", route.tile.model_dump_json(), "--folder", FOLDER]
    command += ["--history", f"{FOLDER}/peaks.jsonl", "--estimate-bytes", str(route.estimate_bytes)]
    command += ["--slot-limit-bytes", str(memory_bytes(route) // MIB * MIB)]
    container = {
        "name": "tile",
        "image": image,
        # It ends native code too, and then its status is 124, where a kill for memory is 137.
        "command": ["timeout", f"{TIMEOUT_SECONDS:g}", *command],
        "env": [{"name": name, "value": value} for name, value in worker_settings(pool).items()],
        "resources": {"requests": {"cpu": CPU, "memory": memory}, "limits": {"memory": memory}},
        "volumeMounts": [{"name": "mosaic", "mountPath": FOLDER}],
    }
    pod = {
        "restartPolicy": "Never",
        "containers": [container],
        "volumes": [{"name": "mosaic", "persistentVolumeClaim": {"claimName": "mosaic"}}],
    }
    too_big = {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [OUT_OF_MEMORY]}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": route.tile.name, "namespace": namespace, "labels": {**_LABELS, QUEUE_LABEL: pool}},
        "spec": {
            # Kueue sets it too; said here, no pod can start before Kueue has seen the Job.
            "suspend": True,
            "backoffLimit": TRIES - 1,
            # Killed for memory it would be killed again: another try needs a larger estimate.
            "podFailurePolicy": {"rules": [too_big]},
            "template": {"metadata": {"annotations": annotations}, "spec": pod},
        },
    }


def _mi(count: int) -> str:
    return f"{-(-count // MIB)}Mi"
