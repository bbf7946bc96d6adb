"""Limit, request, completion and containment."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from floodplain.problem import RuleError
from floodplain.swap import (
    Completion,
    Number,
    SwapContainer,
    SwapNode,
    completion,
    containment_shortfall_bytes,
    hot_bytes,
    limit_bytes,
    needed_bytes,
    request_bytes,
    swap_file_bytes,
    swap_total_bytes,
)

MIB, GIB = 1 << 20, 1 << 30


def node_of(mem_total: int, ratio: Number) -> SwapNode:
    return SwapNode(mem_total, swap_total_bytes(swap_file_bytes(mem_total, ratio)))


@pytest.mark.parametrize(
    ("peak", "ratio", "margin", "hot_share", "limit_mib"),
    [
        # Half of the peak is hot, so half of it is the limit: ScaleODM's request in production.
        (100 * GIB, 2, 0.2, 0.5, 50 * 1024),
        # The rest may be swapped: (120 GiB + 2 MiB) / 3, rounded up.
        (100 * GIB, 2, 0.2, 0, 40961),
        (100 * GIB, 1, 0.2, 0, 61441),
        (100 * GIB, 1, 0.2, 0.7, 71680),
        # Without swap the whole peak with its margin is memory.
        (100 * GIB, 0, 0.2, 0.5, 120 * 1024),
        (100 * GIB, 0, 0, 0.5, 100 * 1024),
        (100 * GIB, 1.5, 0.2, 0.1, 49153),
        (MIB, 2, 0.2, 0.5, 2),
        (0, 2, 0.2, 0.5, 2),
        (3 * MIB + 1, 0, 0, 0, 4),
        # The formula alone says 3 MiB exactly; a page may be lost to rounding, so it is 4.
        (7 * MIB, 2, 0, 0, 4),
        (7 * MIB - 4096, 2, 0, 0, 3),
    ],
)
def test_the_limit_of_a_peak(peak: int, ratio: float, margin: float, hot_share: float, limit_mib: int) -> None:
    assert limit_bytes(peak, ratio=ratio, margin=margin, hot_share=hot_share) == limit_mib * MIB


@pytest.mark.parametrize("margin", [0.2, Decimal("0.2"), Fraction(1, 5)])
def test_numbers_are_the_decimals_they_are_written_as(margin: Number) -> None:
    assert needed_bytes(10, margin) == 12
    assert needed_bytes(5 * 10**15, margin) == 6 * 10**15
    assert hot_bytes(10, 0.3) == 3


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"ratio": -1}, "is below zero, which no swap ratio may be"),
        ({"margin": -0.1}, "is below zero, which no margin may be"),
        ({"hot_share": -0.1}, "is below zero, which no hot share may be"),
        ({"ratio": float("nan")}, "is no number for a swap ratio"),
        ({"ratio": float("inf")}, "is no number for a swap ratio"),
    ],
)
def test_numbers_that_make_no_sense_are_refused(settings: dict[str, float], message: str) -> None:
    with pytest.raises(RuleError, match=message):
        limit_bytes(GIB, **{"ratio": 2, "margin": 0.2, "hot_share": 0.5, **settings})


def test_a_negative_peak_is_refused() -> None:
    with pytest.raises(RuleError, match="is below zero"):
        limit_bytes(-1, ratio=2, margin=0.2, hot_share=0.5)


def test_the_request_is_one_mib_below_the_limit() -> None:
    assert request_bytes(640 * MIB) == 639 * MIB


def test_completion_counts_the_real_memory_and_swap_of_a_node() -> None:
    container = SwapContainer(300 * GIB, 360 * GIB)
    node = SwapNode(372 * GIB, 743 * GIB)
    held = completion(container, node, peak_bytes=800 * GIB, margin=0.2, hot_share=0.5)
    assert held == Completion(
        needed_bytes=960 * GIB, limit_bytes=360 * GIB, grant_bytes=643379171328, hot_bytes=400 * GIB
    )
    # The field report of this job: killed once it needed more than 932 GiB.
    assert (360 * GIB + 643379171328) // GIB == 959
    assert held.shortfall_bytes == 960 * GIB - 360 * GIB - 643379171328
    assert held.hot_shortfall_bytes == 40 * GIB
    assert not held.holds


def test_completion_fails_where_kubelet_grants_nothing() -> None:
    container = SwapContainer(50 * GIB, 50 * GIB)
    held = completion(container, node_of(64 * GIB, 2), peak_bytes=100 * GIB, margin=0.2, hot_share=0.5)
    assert (held.grant_bytes, held.shortfall_bytes, held.holds) == (0, 70 * GIB, False)


def test_completion_needs_a_limit() -> None:
    with pytest.raises(RuleError, match="set a memory limit"):
        completion(SwapContainer(GIB, None), node_of(GIB, 2), peak_bytes=GIB, margin=0, hot_share=0)


ratios = st.decimals(min_value=0, max_value=8, places=2)
shares = st.decimals(min_value=0, max_value=1, places=2)


@given(
    peak=st.integers(min_value=0, max_value=4 << 40),
    ratio=ratios,
    margin=shares,
    hot_share=shares,
    spare_pages=st.integers(min_value=0, max_value=1 << 30),
)
def test_a_planned_container_holds_its_peak_on_every_node_it_fits(
    peak: int, ratio: Decimal, margin: Decimal, hot_share: Decimal, spare_pages: int
) -> None:
    limit = limit_bytes(peak, ratio=ratio, margin=margin, hot_share=hot_share)
    request = request_bytes(limit)
    node = node_of(limit + spare_pages * 4096, ratio)
    held = completion(SwapContainer(request, limit), node, peak_bytes=peak, margin=margin, hot_share=hot_share)
    assert held.holds
    assert limit % MIB == 0
    assert request > 0


@given(peak=st.integers(min_value=0, max_value=4 << 40), ratio=ratios, margin=shares, hot_share=shares)
def test_a_limit_is_no_more_than_a_mib_and_a_page_above_the_formula(
    peak: int, ratio: Decimal, margin: Decimal, hot_share: Decimal
) -> None:
    k, m, h = Fraction(ratio), Fraction(margin), Fraction(hot_share)
    formula: Fraction = max(((1 + m) * peak + k * MIB) / (1 + k), h * peak)
    limit = limit_bytes(peak, ratio=ratio, margin=margin, hot_share=hot_share)
    assert formula <= limit
    assert limit < formula + 4096 + MIB or limit == 2 * MIB


@pytest.mark.parametrize(
    ("limits", "allocatable", "daemonsets", "shortfall"),
    [
        ([], 10, 0, 0),
        ([4, 6], 10, 0, 0),
        ([4, 6], 10, 1, 1),
        ([4, 7], 10, 2, 3),
        ([4], 1, 5, 4),
    ],
)
def test_containment_counts_limits_against_what_daemonsets_leave(
    limits: list[int], allocatable: int, daemonsets: int, shortfall: int
) -> None:
    assert containment_shortfall_bytes(limits, allocatable_bytes=allocatable, daemonset_bytes=daemonsets) == shortfall


@pytest.mark.parametrize(
    ("limits_mib", "contained"),
    [
        # Pairs on a node that offers 1,423 MiB, as a real kubelet answered: ours completed, the others were evicted.
        ([640, 640], True),
        ([696, 696], True),
        ([711, 711], True),
        ([768, 768], False),
        ([1500], False),
    ],
)
def test_containment_agrees_with_what_a_real_kubelet_evicted(limits_mib: list[int], contained: bool) -> None:
    shortfall = containment_shortfall_bytes(
        [limit * MIB for limit in limits_mib], allocatable_bytes=1423 * MIB, daemonset_bytes=0
    )
    assert (shortfall == 0) is contained
