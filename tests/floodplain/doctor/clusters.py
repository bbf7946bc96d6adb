"""A cluster in which all is well, and ways to spoil one thing of it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from floodplain.doctor.seen import (
    Cluster,
    ContainerSeen,
    KarpenterSeen,
    KubeletSeen,
    Measured,
    NodeSeen,
    PodSeen,
    PoolSeen,
)
from floodplain.quantity import GIB, MIB
from floodplain.sizing.default_pool import default_pool
from floodplain.swap import Qos, grant_bytes

NOW = datetime(2026, 8, 1, 12, tzinfo=UTC)
DOCUMENT = default_pool()
POOL = PoolSeen("example", ("floodplain.dev/pool", "example"), 2.0, "floodplain-example", DOCUMENT)
MEMORY, SWAP, ALLOCATABLE = 64 * GIB, 128 * GIB, 60 * GIB
LIMIT = 20 * GIB
REQUEST = LIMIT - MIB
GRANT = grant_bytes(REQUEST, MEMORY, SWAP)


def container(name: str = "job", **changes: Any) -> ContainerSeen:
    return replace(ContainerSeen(name, REQUEST, LIMIT, running=True), **changes)


def pod(name: str = "job-1", **changes: Any) -> PodSeen:
    made = PodSeen("jobs", name, "n1", "Running", Qos.BURSTABLE, (container(),), runtime_class="floodplain-example")
    return replace(made, **changes)


def daemon(name: str, request: int | None, **changes: Any) -> PodSeen:
    return pod(
        name,
        namespace="kube-system",
        daemon_set=name,
        runtime_class="",
        containers=(container("main", request_bytes=request, limit_bytes=None),),
        **changes,
    )


HEADROOM = replace(daemon("headroom", 256 * MIB), headroom=True)
NETWORK = daemon("aws-node", None)


def measured(**containers: Measured) -> KubeletSeen:
    """A kubelet that says LimitedSwap and measures the job and the network DaemonSet."""
    found = {
        ("jobs", "job-1", "job"): containers.pop("job", Measured(10 * GIB, GRANT, GRANT, GRANT, 0)),
        ("kube-system", "aws-node", "main"): containers.pop("network", Measured(60 * MIB, 0, 0, 0, 0)),
    }
    return KubeletSeen("LimitedSwap", False, "100Mi", found, 40 * GIB)


NODE = NodeSeen("n1", POOL, True, "v1.36.3", MEMORY, ALLOCATABLE, SWAP, measured())
WELL = Cluster(
    now=NOW,
    server_version="v1.36.3",
    pools=(POOL,),
    nodes=(NODE,),
    pods=(pod(), HEADROOM, NETWORK),
    sized_namespaces={"jobs": "enforce"},
    karpenters=(KarpenterSeen("kube-system", "karpenter", "1.14.1", "Karpenter-prod"),),
)


def with_node(**changes: Any) -> Cluster:
    return replace(WELL, nodes=(replace(NODE, **changes),))


def with_pods(*pods: PodSeen) -> Cluster:
    return replace(WELL, pods=(*pods, HEADROOM, NETWORK))
