"""Jobs on nodes: which node is launched for requests, and whether the limits then stay within it. Pure figures.

Not how a planner sizes: it is given requests and limits, whoever chose them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from floodplain.pools import PoolType


@dataclass(frozen=True)
class Pod:
    """Sums over the containers of a job, in bytes."""

    request_bytes: int
    limit_bytes: int


@dataclass(frozen=True)
class Packing:
    """What a set of jobs does to the nodes that are launched for them."""

    jobs: int
    above_alone: int
    """Jobs with a limit above the room on the node launched for their request."""
    pairs: int
    """Pairs of jobs, a job with one like itself included, that some node holds by request."""
    pairs_above: int
    """Those of them whose limits together are above the room on the node launched for both."""

    @property
    def pairs_above_percent(self) -> float:
        return 100 * self.pairs_above / self.pairs if self.pairs else 0.0


def least_memory(kind: PoolType) -> tuple[int, ...]:
    """The smallest node first."""
    return (kind.memory_bytes, kind.vcpu)


def fewest_vcpus(kind: PoolType) -> tuple[int, ...]:
    """Karpenter's order, the cheapest node first, without prices: in EC2's list a vCPU costs as much as 9 GiB.

    So of c, m and r types that hold a request the one with the fewest vCPUs is cheapest, then that with least memory.
    """
    return (kind.vcpu, kind.memory_bytes)


def pack(
    pods: Sequence[Pod], kinds: Sequence[PoolType], taken_bytes: int, order: Callable[[PoolType], tuple[int, ...]]
) -> Packing:
    """Every job alone, and every pair, on the first node in `order` whose room holds the requests.

    Room is what is allocatable less `taken_bytes`, which DaemonSets request or use on each node.
    """
    rooms = _rooms(kinds, taken_bytes, order)
    ordered = sorted(pods, key=lambda pod: pod.request_bytes)
    alone = sum(_above(rooms, pod.request_bytes, pod.limit_bytes) is True for pod in ordered)
    verdicts = [
        _above(rooms, one.request_bytes + other.request_bytes, one.limit_bytes + other.limit_bytes)
        for place, one in enumerate(ordered)
        for other in ordered[place:]
    ]
    fitting = [verdict for verdict in verdicts if verdict is not None]
    return Packing(len(pods), alone, len(fitting), sum(fitting))


def _rooms(kinds: Sequence[PoolType], taken_bytes: int, order: Callable[[PoolType], tuple[int, ...]]) -> list[int]:
    """Rooms of the nodes that are ever launched, ascending: one that comes later and has no more room never is."""
    rooms: list[int] = []
    for kind in sorted(kinds, key=order):
        room = kind.allocatable_memory_bytes - taken_bytes
        if not rooms or room > rooms[-1]:
            rooms.append(room)
    return rooms


def _above(rooms: Sequence[int], request: int, limit: int) -> bool | None:
    """Whether the limit is above the room on the node for the request; None if no node has room."""
    place = bisect_left(rooms, request)
    return limit > rooms[place] if place < len(rooms) else None
