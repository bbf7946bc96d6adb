"""Is swap on, as large as the pool's ratio asks, and does kubelet give it to containers? Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator

from floodplain.byte_amount import amount, counted
from floodplain.doctor.finding import Finding, Severity
from floodplain.doctor.seen import Cluster, NodeSeen, PoolSeen
from floodplain.doctor.versions import OLDEST, minor
from floodplain.quantity import MIB
from floodplain.swap import swap_file_bytes, swap_total_bytes
from floodplain.swap.number import exact_number

SIZE, KUBELET = "swap-size", "kubelet-swap"
_TOLERANCE_BYTES = MIB
_NODE_INFO = "node status.nodeInfo.swap.capacity"
_CONFIGZ = "kubelet /configz"


def check(cluster: Cluster) -> Iterator[Finding]:
    """The size of swap on each node of a pool, and kubelet's own settings for it."""
    right = behaved = 0
    for node in cluster.pool_nodes:
        problems = [*_size(node, node.pool)] if node.pool else []
        settings = [*_settings(node)]
        yield from problems
        yield from settings
        right += not problems
        behaved += not settings and node.kubelet is not None and node.kubelet.swap_behavior is not None
    if right:
        yield Finding(SIZE, Severity.OK, counted(right, "node"), "swap is on and as large as the pool's ratio asks")
    if behaved:
        yield Finding(KUBELET, Severity.OK, counted(behaved, "node"), "kubelet runs with LimitedSwap")
    if cluster.nodes is not None and not cluster.pool_nodes:
        known = ", ".join(pool.name for pool in cluster.pools) or "none is known; give --pools FILE"
        yield Finding(SIZE, Severity.INFO, "the cluster", f"there is no node of a swap pool now (pools: {known})")


def _size(node: NodeSeen, pool: PoolSeen) -> Iterator[Finding]:
    ratio = pool.swap_ratio
    title = f"node {node.name}"
    if ratio is None or (node.swap_bytes is None and (0, 0) < minor(node.kubelet_version) < OLDEST):
        return  # kubelets tell their swap since 1.33; that such a one is too old is said of versions
    if node.memory_bytes is None:
        yield Finding(SIZE, Severity.WARNING, title, "says no memory capacity", "its MemTotal", source=_NODE_INFO)
        return
    wanted = swap_total_bytes(swap_file_bytes(node.memory_bytes, ratio))
    found = node.swap_bytes or 0
    expected = f"{amount(wanted)} ({ratio:g} x its memory of {amount(node.memory_bytes)})"
    if wanted and not found:
        yield Finding(
            SIZE,
            Severity.ERROR,
            title,
            "no swap is on, or kubelet started before it was",
            expected,
            (
                "replace the node: delete its NodeClaim",
                "if others come up the same way, see docs/how-to/debug-a-node.md",
            ),
            _NODE_INFO,
        )
    elif wanted - found > _TOLERANCE_BYTES:
        # What containers get shrinks in proportion.
        real = math.floor(exact_number(found, "swap") / node.memory_bytes * 100) / 100
        yield Finding(
            SIZE,
            Severity.ERROR,
            title,
            f"swap of {amount(found)}: a ratio of {real:g}, so every grant is that much smaller than planned",
            expected,
            ("replace the node: delete its NodeClaim", "if its disk cannot hold more, take its type out of the pool"),
            _NODE_INFO,
        )
    elif found - wanted > _TOLERANCE_BYTES:
        yield Finding(
            SIZE,
            Severity.WARNING,
            title,
            f"swap of {amount(found)}: other swap is on beside the pool's, zram for one",
            expected,
            ("switch the other swap off in the node's image",),
            _NODE_INFO,
        )


def _settings(node: NodeSeen) -> Iterator[Finding]:
    kubelet = node.kubelet
    if kubelet is None or kubelet.swap_behavior is None or (node.pool and node.pool.swap_ratio == 0):
        return
    title = f"node {node.name}"
    if kubelet.swap_behavior != "LimitedSwap":
        yield Finding(
            KUBELET,
            Severity.ERROR,
            title,
            f"memorySwap.swapBehavior is {kubelet.swap_behavior or 'not set'}: no container gets swap",
            "LimitedSwap",
            ("set it in the pool's user data (SwapNodePool does), and replace the node",),
            _CONFIGZ,
        )
    if kubelet.fail_swap_on:
        yield Finding(
            KUBELET,
            Severity.ERROR,
            title,
            "failSwapOn is true: kubelet will not start again once swap is on",
            "false",
            ("set it in the pool's user data (SwapNodePool does), and replace the node",),
            _CONFIGZ,
        )
