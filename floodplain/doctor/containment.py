"""Does what may be used on a node fit it: the sum of limits, what DaemonSets use, and what kubelet has left? Pure.

Kubelet's eviction does not see swap: it strikes when the pods of a node together come within its threshold of the
pods' cgroup, however empty swap is (docs/decisions/0001).
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from floodplain.byte_amount import amount, counted
from floodplain.doctor.finding import Finding, Severity, names
from floodplain.doctor.seen import Cluster, KubeletSeen, NodeSeen, PodSeen
from floodplain.quantity import MIB, QuantityError, to_bytes
from floodplain.swap import containment_shortfall_bytes

CONTAINMENT, HEADROOM, ROOM = "containment", "headroom", "eviction-room"
_DEFAULT_EVICTION = "100Mi"
_RULE = "sum of memory limits and DaemonSets' use <= allocatable (docs/decisions/0001-containment-by-the-scheduler.md)"


def check(cluster: Cluster) -> Iterator[Finding]:
    """Every node of a pool."""
    if cluster.pods is None:
        return
    contained: list[int] = []
    measured = kept = 0
    for node in cluster.pool_nodes:
        pods = tuple(pod for pod in cluster.pods_on(node) if pod.active)
        broken = [*_containment(node, pods)]
        yield from broken
        if not broken and node.allocatable_bytes is not None:
            contained.append(node.allocatable_bytes - _limits(pods) - _daemons(node, pods))
        lacking = [*_headroom(node, pods)]
        yield from lacking
        kept += not lacking
        room = _room(node)
        measured += node.kubelet is not None and node.kubelet.pods_available_bytes is not None and room is None
        yield from [room] if room else []
    if contained:
        seen = f"limits and DaemonSets fit allocatable memory; the least that is left is {amount(min(contained))}"
        yield Finding(CONTAINMENT, Severity.OK, counted(len(contained), "node"), seen)
    if kept:
        yield Finding(HEADROOM, Severity.OK, counted(kept, "node"), "DaemonSets use no more than requests and headroom")
    if measured:
        yield Finding(
            ROOM, Severity.OK, counted(measured, "node"), "pods' memory is above kubelet's eviction threshold"
        )


def _limits(pods: tuple[PodSeen, ...]) -> int:
    return sum(pod.limit_bytes for pod in pods if not pod.of_the_node)


def _daemons(node: NodeSeen, pods: tuple[PodSeen, ...]) -> int:
    """What pods of the node itself use, or request where nothing is measured; headroom is kept for them."""
    return sum(_used(node, pod) for pod in pods if pod.of_the_node and not pod.headroom)


def _used(node: NodeSeen, pod: PodSeen) -> int:
    kubelet = node.kubelet or KubeletSeen()
    total = 0
    for container in pod.steady:
        measured = kubelet.containers.get((pod.namespace, pod.name, container.name))
        use = measured.working_set_bytes if measured else None
        total += container.request_bytes or 0 if use is None else use
    return total


def _containment(node: NodeSeen, pods: tuple[PodSeen, ...]) -> Iterator[Finding]:
    title = f"node {node.name}"
    jobs = [pod for pod in pods if not pod.of_the_node]
    for pod in jobs:
        if pod.unlimited:
            yield Finding(
                CONTAINMENT,
                Severity.ERROR,
                pod.title,
                f"nothing contains {names(pod.unlimited)} on {title}: no memory limit",
                "a memory limit on every container",
                ("set resources.limits.memory, the request 1 MiB below it",),
                _RULE,
            )
    if node.allocatable_bytes is None:
        return
    limits, daemons = _limits(pods), _daemons(node, pods)
    short = containment_shortfall_bytes([limits], allocatable_bytes=node.allocatable_bytes, daemonset_bytes=daemons)
    if not short or not jobs:
        return
    gaps = sorted(jobs, key=lambda pod: (pod.request_bytes - pod.limit_bytes, pod.title))
    guilty = [
        f"{pod.namespace}/{pod.name} (limit {amount(pod.limit_bytes)}, request {amount(pod.request_bytes)})"
        for pod in gaps
        if pod.limit_bytes - pod.request_bytes > MIB
    ]
    whose = f"limits far above requests: {names(guilty)}" if guilty else "DaemonSets use more than was kept for them"
    yield Finding(
        CONTAINMENT,
        Severity.ERROR,
        title,
        f"limits of {amount(limits)} and DaemonSets' {amount(daemons)} pass what pods may have by {amount(short)}, so"
        f" that kubelet may evict while swap is empty; {whose}",
        f"at most {amount(node.allocatable_bytes)}",
        (
            "set each memory request 1 MiB below its limit, so that the scheduler packs by limits",
            "guardrails in enforce mode refuse such pods",
        )
        if guilty
        else ("raise the pool's headroom",),
        _RULE,
    )


def _headroom(node: NodeSeen, pods: tuple[PodSeen, ...]) -> Iterator[Finding]:
    title = f"node {node.name}"
    kept = sum(pod.request_bytes for pod in pods if pod.headroom)
    others = [pod for pod in pods if pod.of_the_node and not pod.headroom]
    beyond = {pod.title: max(0, _used(node, pod) - pod.request_bytes) for pod in others}
    total = sum(beyond.values())
    if not any(pod.headroom for pod in pods):
        yield Finding(
            HEADROOM,
            Severity.WARNING,
            title,
            "has no headroom pod: nothing keeps memory for DaemonSets that request less than they use",
            "a pod of the pool's headroom DaemonSet",
            ("deploy the pool by SwapNodePool, which brings it; look why its pod is not here",),
        )
    elif total > kept:
        most = sorted((title for title, bytes_ in beyond.items() if bytes_), key=lambda one: -beyond[one])
        least = -(-total // (64 * MIB)) * 64
        yield Finding(
            HEADROOM,
            Severity.WARNING,
            title,
            f"DaemonSets use {amount(total)} beyond their requests ({names(most, 3)})",
            f"at most the headroom of {amount(kept)}",
            (f"raise the pool's headroom to {least}Mi or more", "or give those DaemonSets memory requests"),
            "container_memory_working_set_bytes of kubelet's /metrics/resource",
        )


def threshold_bytes(kubelet: KubeletSeen, capacity_bytes: int | None) -> int | None:
    """The hard eviction threshold in bytes; None where it cannot be told."""
    text = kubelet.memory_eviction or _DEFAULT_EVICTION
    try:
        if text.endswith("%"):
            return None if capacity_bytes is None else int(Fraction(text[:-1]) / 100 * capacity_bytes)
        return to_bytes(text)
    except (QuantityError, ValueError, ZeroDivisionError):
        return None


def _room(node: NodeSeen) -> Finding | None:
    kubelet = node.kubelet
    if kubelet is None or kubelet.pods_available_bytes is None:
        return None
    threshold = threshold_bytes(kubelet, node.memory_bytes)
    if threshold is None or kubelet.pods_available_bytes >= threshold:
        return None
    return Finding(
        ROOM,
        Severity.ERROR,
        f"node {node.name}",
        f"kubelet has {amount(kubelet.pods_available_bytes)} left for pods, and evicts below {amount(threshold)}",
        f"more than {amount(threshold)}",
        ("bring the limits on the node within its allocatable memory (check `containment`)",),
        "systemContainers pods of kubelet's /stats/summary",
    )
