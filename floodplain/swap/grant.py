"""What swap kubelet grants a container under LimitedSwap, bit for bit, and who gets none.

Doubles are used here because kubelet uses them; nowhere else in this package.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, StrEnum

PAGE_BYTES = 4096
SYSTEM_CLUSTER_CRITICAL = 2_000_000_000


class Qos(StrEnum):
    """Quality of service class of a pod."""

    GUARANTEED = "Guaranteed"
    BURSTABLE = "Burstable"
    BEST_EFFORT = "BestEffort"


class NoSwap(Enum):
    """Why kubelet grants a container no swap. The value is a sentence for people."""

    BEHAVIOUR = "the node's kubelet does not run with swapBehavior LimitedSwap"
    CGROUP_V1 = "the node uses cgroup v1, where kubelet gives containers no swap"
    NO_CONTROLLER = "the node's kernel offers no memory.swap.max"
    CRITICAL = "the pod is critical (static, or of a system priority class)"
    QOS = "the pod is not Burstable"
    NO_REQUEST = "the container has neither a memory request nor a memory limit"
    REQUEST_IS_LIMIT = "the container's memory request equals its limit (a limit alone sets both)"
    NODE_HAS_NO_SWAP = "the node has no swap"
    REQUEST_ABOVE_NODE = "the container requests more memory than the node has"


def page_floor(count: int) -> int:
    """Whole pages, as the kernel rounds a limit written to a cgroup file."""
    return count - count % PAGE_BYTES


def page_ceil(count: int) -> int:
    """Whole pages, rounded up."""
    return -(-count // PAGE_BYTES) * PAGE_BYTES


def limited_swap_bytes(request_bytes: int, mem_total_bytes: int, swap_total_bytes: int) -> int:
    """The bytes that kubelet writes to memory.swap.max, bit for bit; 0 where kubelet gives none.

    kubernetes/kubernetes, pkg/kubelet/kuberuntime/kuberuntime_container_linux.go: three doubles in this
    order, then cut to a whole byte. MemTotal and SwapTotal are those of /proc/meminfo at kubelet's start.
    """
    if mem_total_bytes <= 0 or swap_total_bytes <= 0 or not 0 < request_bytes <= mem_total_bytes:
        return 0
    return int(float(request_bytes) / float(mem_total_bytes) * float(swap_total_bytes))


def grant_bytes(request_bytes: int, mem_total_bytes: int, swap_total_bytes: int) -> int:
    """The swap a container can really use: kubelet's figure as the kernel rounds it."""
    return page_floor(limited_swap_bytes(request_bytes, mem_total_bytes, swap_total_bytes))


@dataclass(frozen=True)
class SwapNode:
    """What of a node decides over swap. The defaults are those of a pool of ours."""

    mem_total_bytes: int
    swap_total_bytes: int
    limited_swap: bool = True
    cgroup_v2: bool = True
    swap_controller: bool = True


@dataclass(frozen=True)
class SwapContainer:
    """What of a container and its pod decides over swap. None is a request or limit not set."""

    request_bytes: int | None
    limit_bytes: int | None
    qos: Qos = Qos.BURSTABLE
    priority: int = 0
    static_pod: bool = False

    @property
    def effective_request_bytes(self) -> int:
        """The API server sets a missing request to the limit."""
        return (self.limit_bytes if self.request_bytes is None else self.request_bytes) or 0


def no_swap_reason(container: SwapContainer, node: SwapNode) -> NoSwap | None:
    """The first reason why kubelet gives this container no swap on this node, or None when it gives some."""
    request = container.effective_request_bytes
    critical = container.static_pod or container.priority >= SYSTEM_CLUSTER_CRITICAL
    reasons = (
        (NoSwap.BEHAVIOUR, not node.limited_swap),
        (NoSwap.CGROUP_V1, not node.cgroup_v2),
        (NoSwap.NO_CONTROLLER, not node.swap_controller),
        (NoSwap.CRITICAL, critical),
        (NoSwap.QOS, container.qos is not Qos.BURSTABLE),
        (NoSwap.NO_REQUEST, request <= 0),
        (NoSwap.REQUEST_IS_LIMIT, request == container.limit_bytes),
        (NoSwap.NODE_HAS_NO_SWAP, node.mem_total_bytes <= 0 or node.swap_total_bytes <= 0),
        (NoSwap.REQUEST_ABOVE_NODE, request > node.mem_total_bytes),
    )
    return next((reason for reason, holds in reasons if holds), None)


def container_grant_bytes(container: SwapContainer, node: SwapNode) -> int:
    """The swap that a container gets on a node, whatever decides it."""
    if no_swap_reason(container, node) is not None:
        return 0
    return grant_bytes(container.effective_request_bytes, node.mem_total_bytes, node.swap_total_bytes)
