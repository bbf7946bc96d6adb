"""A node as a whole: pods packed by request and overhead beside the headroom DaemonSet.

Whatever mix the scheduler puts on whatever type, the limits stay within what DaemonSets leave, every
container gets its swap, and every container holds its peak.
"""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from floodplain.catalogue import InstanceType, KubeletReserves, allocatable, load
from floodplain.quantity import MIB
from floodplain.swap import (
    SwapContainer,
    SwapNode,
    completion,
    container_grant_bytes,
    containment_shortfall_bytes,
    limit_bytes,
    request_bytes,
    swap_file_bytes,
    swap_total_bytes,
)

GIB = 1 << 30


@dataclass(frozen=True)
class Plan:
    """A planned pod of one container, as the scheduler counts it."""

    peak_bytes: int
    limit_bytes: int
    overhead_bytes: int

    @property
    def counted_bytes(self) -> int:
        return request_bytes(self.limit_bytes) + self.overhead_bytes


def packed(plans: list[Plan], allocatable_bytes: int, daemonset_requests_bytes: int) -> list[Plan]:
    """First fit, as the scheduler does it: by request and overhead, beside what DaemonSets request."""
    free = allocatable_bytes - daemonset_requests_bytes
    placed = []
    for plan in plans:
        if plan.counted_bytes <= free:
            placed.append(plan)
            free -= plan.counted_bytes
    return placed


mixes = st.lists(
    st.tuples(st.integers(min_value=1, max_value=1000), st.sampled_from([0.0, 0.3, 0.5, 0.9])), min_size=1, max_size=20
)
overheads = st.integers(min_value=1, max_value=64).map(lambda count: count * MIB)


@given(
    kind=st.sampled_from(load()),
    mix=mixes,
    ratio=st.sampled_from([0, 0.5, 1, 1.5, 2, 3.25]),
    overhead=overheads,
    headroom=st.integers(min_value=0, max_value=1024).map(lambda count: count * MIB),
    daemonset_requests=st.integers(min_value=0, max_value=2 * GIB),
    unrequested=st.fractions(min_value=0, max_value=1),
)
def test_limits_of_any_mix_stay_within_allocatable_less_what_daemonsets_use(
    kind: InstanceType,
    mix: list[tuple[int, float]],
    ratio: float,
    overhead: int,
    headroom: int,
    daemonset_requests: int,
    unrequested: object,
) -> None:
    offered = allocatable(kind, KubeletReserves()).memory_bytes
    plans = []
    for thousandths, hot_share in mix:
        peak = offered * thousandths // 500
        limit = limit_bytes(peak, ratio=ratio, margin=0.2, hot_share=hot_share)
        plans.append(Plan(peak, limit, overhead))
    placed = packed(plans, offered, daemonset_requests + headroom)

    # DaemonSets use what they request and, beyond it, up to what the headroom DaemonSet holds for them.
    used = daemonset_requests + int(unrequested * headroom)  # type: ignore[operator]
    shortfall = containment_shortfall_bytes(
        [plan.limit_bytes for plan in placed], allocatable_bytes=offered, daemonset_bytes=used
    )
    assert shortfall == 0 or not placed

    swap_total = swap_total_bytes(swap_file_bytes(kind.memory_bytes, ratio))
    node = SwapNode(kind.memory_bytes, swap_total)
    containers = [SwapContainer(request_bytes(plan.limit_bytes), plan.limit_bytes) for plan in placed]
    assert sum(container_grant_bytes(container, node) for container in containers) <= swap_total
    for plan, container in zip(placed, containers, strict=True):
        assert not completion(container, node, peak_bytes=plan.peak_bytes, margin=0.2, hot_share=0).shortfall_bytes


def test_overhead_pays_for_the_mib_between_request_and_limit() -> None:
    offered, overhead = 100 * 64 * MIB, MIB
    plans = [Plan(0, 64 * MIB, overhead)] * 200
    placed = packed(plans, offered, 0)
    assert sum(plan.limit_bytes for plan in placed) == offered


def test_the_old_rule_breaks_containment_on_a_node_that_fits_by_request() -> None:
    """HOTOSM's 1,233-image run: request peak / 3, limit above the node, evicted with swap nearly empty."""
    kind = next(kind for kind in load() if kind.name == "m6id.2xlarge")
    offered = allocatable(kind).memory_bytes
    peak = 678 * GIB // 10
    old_request, old_limit = peak // 3, peak * 12 // 10
    assert old_request <= offered
    assert containment_shortfall_bytes([old_limit], allocatable_bytes=offered, daemonset_bytes=256 * MIB) > 0
    ours = limit_bytes(peak, ratio=2, margin=0.2, hot_share=0.4)
    assert request_bytes(ours) + 16 * MIB + 256 * MIB <= offered
    assert containment_shortfall_bytes([ours], allocatable_bytes=offered, daemonset_bytes=256 * MIB) == 0
