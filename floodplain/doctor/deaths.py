"""Who died for want of memory, or lost a process to it, and what would have held the peak. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

from floodplain.byte_amount import amount, counted
from floodplain.doctor.finding import Finding, Severity
from floodplain.doctor.grants import swap_node
from floodplain.doctor.seen import Cluster, ContainerSeen, NodeSeen, PodSeen, PoolSeen
from floodplain.swap import SwapNode, container_grant_bytes, limit_bytes
from floodplain.swap.number import exact_number

KILLED, EVICTED = "oom-kill", "eviction"
_MORE = Fraction(3, 2)
"""What a job is given after a kill, times what it could hold: its real peak is not known."""
_STATUS = "pod status"
_ANY_MEMORY_BYTES = 1 << 14 << 30


def check(cluster: Cluster) -> Iterator[Finding]:
    """Containers that were killed, processes killed inside living ones, and pods that were evicted."""
    nodes = {node.name: node for node in cluster.nodes or ()}
    looked = found = 0
    for pod in cluster.pods or ():
        if pod.of_the_node:
            continue
        looked += 1
        for finding in _of_pod(pod, nodes.get(pod.node), cluster.pod_of_pool(pod)):
            found += 1
            yield finding
    if looked and not found:
        yield Finding(KILLED, Severity.OK, counted(looked, "pod"), "none was killed or evicted for memory")


def _of_pod(pod: PodSeen, node: NodeSeen | None, pool: PoolSeen | None) -> Iterator[Finding]:
    if pod.reason == "Evicted":
        memory = "memory" in pod.message
        yield Finding(
            EVICTED,
            Severity.ERROR if memory else Severity.WARNING,
            pod.title,
            f"was evicted: {_one_line(pod.message) or 'no reason given'}",
            "limits on a node that fit its allocatable memory, so that kubelet never evicts" if memory else "",
            (
                "set each memory request 1 MiB below its limit, so that the scheduler packs by limits",
                "raise the pool's headroom if DaemonSets use more than it (check `headroom`)",
            )
            if memory
            else ("ask for less disk, or keep more on a volume",),
            f"{_STATUS}; kubelet's eviction does not see swap",
        )
    for container in pod.containers:
        title = f"{pod.title}, container {container.name}"
        death = container.death
        if death and (death.out_of_memory or death.killed) and pod.reason != "Evicted":
            why = (
                "for want of memory (OOMKilled)" if death.out_of_memory else "by SIGKILL (exit 137): memory, or a stop"
            )
            at = f" at {death.finished_at}" if death.finished_at else ""
            yield Finding(
                KILLED,
                Severity.WARNING,
                title,
                f"was killed {why}{at}; {_held(pod, container, node, pool)}",
                "limit and swap that hold the peak",
                levers(pod, container, node, pool),
                f"{_STATUS}: last state of the container",
            )
        elif container.running and (events := _oom_events(pod, container, node)):
            yield Finding(
                KILLED,
                Severity.WARNING,
                title,
                f"lives on, but {events} of its processes were killed for want of memory: a success may be a partial"
                f" one; {_held(pod, container, node, pool)}",
                "no kill",
                levers(pod, container, node, pool),
                "container_oom_events_total of kubelet's /metrics/cadvisor",
            )


def levers(pod: PodSeen, container: ContainerSeen, node: NodeSeen | None, pool: PoolSeen | None) -> tuple[str, ...]:
    """A bigger request first, then more node swap; each holds half as much again as the container could."""
    limit = container.limit_bytes
    if limit is None:
        return ("set a memory limit, the request 1 MiB below it",)
    grant = _grant_bytes(pod, container, node, pool)
    wanted = math.ceil(_MORE * (limit + grant))
    ratio = pool.swap_ratio if pool and pool.swap_ratio is not None else 0
    bigger = limit_bytes(wanted, ratio=ratio, margin=0, hot_share=0)
    largest = (pool.largest_limit_bytes if pool else None) or (node.allocatable_bytes if node else None)
    if largest is None or bigger <= largest:
        first = f"bigger request: raise the memory limit from {amount(limit)} to {amount(bigger)}, request 1 MiB below"
    else:
        first = f"bigger request: the pool's largest node takes a limit of {amount(largest)}, less than the job needs"
    return (first, *_more_swap(limit, wanted, ratio, pool))


def _more_swap(limit: int, wanted: int, ratio: float, pool: PoolSeen | None) -> Iterator[str]:
    if pool is None or not limit:
        return
    exact = Fraction(wanted - limit, limit)
    quarters = max(math.ceil(exact * 4), math.floor(exact_number(ratio, "swap ratio") * 4) + 1)
    yield (
        f"more node swap: raise the swap ratio of pool {pool.name} from {ratio:g} to {quarters / 4:g},"
        " where its disks hold that (`floodplain catalogue show`)"
    )


def _held(pod: PodSeen, container: ContainerSeen, node: NodeSeen | None, pool: PoolSeen | None) -> str:
    if container.limit_bytes is None:
        return "it has no memory limit"
    grant = amount(_grant_bytes(pod, container, node, pool))
    swap = f"{grant} of swap" if node else f"perhaps {grant} of swap (its node is gone)"
    return f"it could hold {amount(container.limit_bytes)} of memory and {swap}"


def _grant_bytes(pod: PodSeen, container: ContainerSeen, node: NodeSeen | None, pool: PoolSeen | None) -> int:
    """By the rule on its node; without the node, on any node of its pool, since the grant follows the ratio."""
    ratio = pool.swap_ratio if pool else None
    anywhere = SwapNode(_ANY_MEMORY_BYTES, math.floor(exact_number(ratio or 0, "swap ratio") * _ANY_MEMORY_BYTES))
    return container_grant_bytes(pod.swap_container(container), swap_node(node) if node else anywhere)


def _oom_events(pod: PodSeen, container: ContainerSeen, node: NodeSeen | None) -> int:
    measured = node.kubelet.containers.get((pod.namespace, pod.name, container.name)) if node and node.kubelet else None
    return (measured.oom_events if measured else None) or 0


def _one_line(text: str) -> str:
    return " ".join(text.split())
