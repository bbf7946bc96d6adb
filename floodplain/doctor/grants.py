"""Does each running container on a pool have the very swap that kubelet's rule gives it, and if none, why? Pure."""

from __future__ import annotations

from collections.abc import Iterator

from floodplain.byte_amount import amount, counted
from floodplain.doctor.finding import Finding, Severity, names
from floodplain.doctor.seen import Cluster, ContainerSeen, NodeSeen, PodSeen
from floodplain.doctor.versions import minor
from floodplain.swap import NoSwap, SwapNode, container_grant_bytes, no_swap_reason

GRANT, NO_SWAP = "grant", "no-swap"
_RULE = "memory.swap.max = request / MemTotal x SwapTotal, in whole pages (kubelet, LimitedSwap)"
_OLD_KUBELET = (1, 34)

_LEVERS: dict[NoSwap, tuple[str, ...]] = {
    NoSwap.BEHAVIOUR: ("set memorySwap.swapBehavior LimitedSwap in the pool's user data and replace the node",),
    NoSwap.CGROUP_V1: ("use an image with cgroup v2, such as AL2023",),
    NoSwap.NO_CONTROLLER: ("use an image whose kernel has swap accounting, such as AL2023",),
    NoSwap.CRITICAL: ("leave priorityClassName out, or name the pool's class",),
    NoSwap.QOS: ("set a memory request 1 MiB below the memory limit",),
    NoSwap.NO_REQUEST: ("set memory request and limit, the request 1 MiB below the limit",),
    NoSwap.REQUEST_IS_LIMIT: (
        "set the memory request 1 MiB below the limit; a LimitRange or a webhook may have made them equal",
    ),
    NoSwap.NODE_HAS_NO_SWAP: ("replace the node: delete its NodeClaim",),
    NoSwap.REQUEST_ABOVE_NODE: ("request less than the node's memory",),
}


def swap_node(node: NodeSeen) -> SwapNode:
    """What decides over swap on a node. Where kubelet's settings are not to be seen, those of a pool are assumed."""
    behavior = None if node.kubelet is None else node.kubelet.swap_behavior
    return SwapNode(node.memory_bytes or 0, node.swap_bytes or 0, limited_swap=behavior in (None, "LimitedSwap"))


def check(cluster: Cluster) -> Iterator[Finding]:
    """Every running container of a job on a pool's nodes."""
    exact: list[str] = []
    hidden: list[str] = []
    young: list[str] = []
    old: set[str] = set()
    for node in cluster.pool_nodes:
        if node.pool is None or node.pool.swap_ratio == 0:
            continue
        for pod in cluster.pods_on(node):
            if pod.phase != "Running" or pod.of_the_node:
                continue
            yield from _without_swap(pod, node)
            for container in pod.steady:
                if not container.running:
                    continue
                found = _seen(node, pod, container)
                wanted = container_grant_bytes(pod.swap_container(container), swap_node(node))
                title = f"{pod.title}, container {container.name}"
                if found is None and _not_yet(node, pod, container):
                    young.append(title)
                elif found is None:
                    hidden.append(title)
                    old |= {node.kubelet_version} if minor(node.kubelet_version) < _OLD_KUBELET else set()
                elif found == wanted:
                    exact.append(title)
                else:
                    yield _wrong(title, container, node, found, wanted)
    if exact:
        yield Finding(
            GRANT, Severity.OK, counted(len(exact), "container"), "exactly the swap that kubelet's rule gives"
        )
    if young:
        seen = f"kubelet has not measured {counted(len(young), 'container')} yet: look again in a minute"
        yield Finding(GRANT, Severity.INFO, names(young), seen)
    if hidden and cluster.kubelets_asked:
        because = (
            f"kubelets of {names(sorted(old))} do not serve container_swap_limit_bytes, which came with 1.34,"
            " and neither /stats/summary nor /metrics/cadvisor had it"
            if old
            else "their kubelets' measurements were not to be read, or hold no swap limit"
        )
        yield Finding(
            GRANT,
            Severity.WARNING,
            names(hidden),
            f"cannot see memory.swap.max of {counted(len(hidden), 'container')}: {because}",
            _RULE,
            ("grant get on nodes/proxy", "run Kubernetes 1.36 or newer, whose kubelet reports every grant"),
        )


def _seen(node: NodeSeen, pod: PodSeen, container: ContainerSeen) -> int | None:
    measured = node.kubelet.containers.get((pod.namespace, pod.name, container.name)) if node.kubelet else None
    return measured.swap_limit_bytes if measured else None


def _not_yet(node: NodeSeen, pod: PodSeen, container: ContainerSeen) -> bool:
    """Its kubelet measures others, and does not know this one: cAdvisor looks for new ones now and then."""
    measured = node.kubelet.containers if node.kubelet else {}
    one = measured.get((pod.namespace, pod.name, container.name))
    return bool(measured) and (one is None or one.filled_in)


def _wrong(title: str, container: ContainerSeen, node: NodeSeen, found: int, wanted: int) -> Finding:
    request = amount(container.request_bytes or container.limit_bytes or 0)
    expected = f"{amount(wanted)} ({wanted} bytes) for a request of {request} on node {node.name}"
    again = "make the pod anew: it keeps the grant it was started with"
    if found < wanted:
        levers = (again, f"if it stays so, replace node {node.name}: kubelet read its swap before it was whole")
        seen = f"memory.swap.max is {amount(found)} ({found} bytes): the job may be killed before its planned peak"
        return Finding(GRANT, Severity.ERROR, title, seen, expected, levers, _RULE)
    seen = f"memory.swap.max is {amount(found)} ({found} bytes), more than the rule gives"
    return Finding(GRANT, Severity.WARNING, title, seen, expected, (again,), _RULE)


def _without_swap(pod: PodSeen, node: NodeSeen) -> Iterator[Finding]:
    reasons = [(one, no_swap_reason(pod.swap_container(one), swap_node(node))) for one in pod.steady]
    swapless = [(one, reason) for one, reason in reasons if reason is not None]
    some_swap = len(swapless) < len(reasons)
    for container, reason in swapless:
        if reason is NoSwap.NODE_HAS_NO_SWAP:
            continue  # said of the node
        yield Finding(
            NO_SWAP,
            Severity.INFO if some_swap else Severity.WARNING,
            f"{pod.title}, container {container.name}",
            f"gets no swap: {reason.value}",
            "swap for the container that has the peak",
            _LEVERS[reason],
            "kubelet's rules for LimitedSwap (docs/how-to/debug-a-node.md)",
        )
