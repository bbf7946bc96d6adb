"""Which pool an estimate goes to, told in figures."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from floodplain.quantity import GIB, MIB
from floodplain.raster.route import OnFailure, Place, Routing, failed, route, skipped
from floodplain.raster.terms import Estimate, Term
from floodplain.raster.two_pools import TwoPools

POOLS = TwoPools(
    slots=4, small_limit_bytes=1024 * MIB, big_limit_bytes=2 * GIB, baseline_bytes=60 * MIB, cache_bytes=64 * MIB
)
"""A slot has (1024 - 124) / 4 = 225 MiB, the threshold is 112.5 MiB, the big worker has 2048 - 124 = 1924 MiB."""


def estimate(working: int, cache: int = 0, factor: float = 1.0) -> Estimate:
    """In MiB."""
    return Estimate((Term("warp chunk", working * MIB, ""), Term("block cache", cache * MIB, "")), factor)


@pytest.mark.parametrize(
    ("given_estimate", "wanted"),
    [
        (
            100 * MIB,
            Routing(
                Place.SMALL,
                "100 MiB is within the threshold of 112.5 MiB (half the slot budget of 225 MiB)",
                100 * MIB,
            ),
        ),
        (
            200 * MIB,
            Routing(
                Place.BIG,
                "200 MiB is above the threshold of 112.5 MiB (half the slot budget of 225 MiB); would fit a slot were"
                " the estimate exact, the big worker 1,924 MiB",
                200 * MIB,
            ),
        ),
        (
            1500 * MIB,
            Routing(
                Place.BIG,
                "1,500 MiB is above the threshold of 112.5 MiB (half the slot budget of 225 MiB); a small slot has"
                " 225 MiB, the big worker 1,924 MiB",
                1500 * MIB,
            ),
        ),
        (
            2000 * MIB,
            Routing(
                Place.REFUSED,
                "2,000 MiB is above the 1,924 MiB that the big worker has for its one task (2,048 MiB less 124 MiB of"
                " baseline, cache and agent); cut it into smaller windows, or give the big pool 76 MiB more",
                2000 * MIB,
            ),
        ),
    ],
)
def test_a_task_goes_where_its_estimate_fits_and_the_figures_are_told(given_estimate: int, wanted: Routing) -> None:
    assert route(given_estimate, POOLS) == wanted


@pytest.mark.parametrize(
    ("of", "place", "need"),
    [
        (estimate(100, cache=64), Place.SMALL, 100),
        (estimate(113, cache=64), Place.BIG, 113),
        (estimate(1924, cache=64), Place.BIG, 1924),
        (estimate(1925, cache=64), Place.REFUSED, 1925),
        # A cache beyond what the pools keep free is the task's own.
        (estimate(50, cache=128), Place.BIG, 114),
        # What is calibrated is calibrated whole, and a cache never grows beyond its setting.
        (estimate(100, cache=32, factor=1.25), Place.BIG, 125),
        (estimate(80, cache=64, factor=1.25), Place.BIG, 116),
    ],
)
def test_the_block_cache_is_counted_once_a_process_and_not_in_every_slot(of: Estimate, place: Place, need: int) -> None:
    found = route(of, POOLS)
    assert (found.place, found.need_bytes) == (place, need * MIB)


def test_the_cache_that_is_left_out_is_told() -> None:
    assert route(estimate(100, cache=32), POOLS).reason == (
        "100 MiB beside 32 MiB of block cache is within the threshold of 112.5 MiB (half the slot budget of 225 MiB)"
    )


def test_the_articles_threshold_sends_a_tile_of_1499_mb_into_a_slot_of_546() -> None:
    """facts/sizing.md 3.7: by its own rule 273 MiB is the threshold, and then the tile goes to the big pool."""
    slot = 546 * MIB
    pools = TwoPools(slots=8, small_limit_bytes=8 * slot + 168 * MIB)
    assert pools.slot_budget_bytes == slot
    assert route(1499 * MIB, pools).place is Place.BIG


@pytest.mark.parametrize("count", [0, -1])
def test_nothing_is_no_estimate(count: int) -> None:
    with pytest.raises(ValueError, match="a task whose estimate failed is not small"):
        route(count, POOLS)


def test_no_overlap_is_skipped_and_has_no_size() -> None:
    assert skipped("the target lies outside") == Routing(Place.SKIPPED, "the target lies outside", None)


def test_a_task_without_an_estimate_fails_or_goes_to_the_big_pool_and_has_no_size() -> None:
    assert failed("gone") == Routing(Place.FAILED, "gone", None)
    assert failed("gone", OnFailure.BIG) == Routing(
        Place.BIG, "no estimate, and so to the pool with the most memory: gone", None
    )


@given(
    need=st.integers(1, 1 << 50),
    slots=st.integers(1, 64),
    slot=st.integers(2, 1 << 34),
    big=st.integers(1, 1 << 40),
)
def test_no_task_ever_goes_to_a_pool_that_has_less_for_it(need: int, slots: int, slot: int, big: int) -> None:
    small = slots * slot + 168 * MIB
    pools = TwoPools(slots=slots, small_limit_bytes=small, big_limit_bytes=168 * MIB + slot + big)
    found = route(need, pools)
    room = {Place.SMALL: pools.slot_budget_bytes // 2, Place.BIG: pools.big_budget_bytes}
    assert need <= room.get(found.place, need)
    if found.place is not Place.SMALL:
        assert need > pools.threshold_bytes
    if found.place is Place.REFUSED:
        assert need > pools.big_budget_bytes


@given(first=st.integers(1, 1 << 36), second=st.integers(1, 1 << 36))
def test_a_larger_task_never_goes_to_a_smaller_pool(first: int, second: int) -> None:
    order = [Place.SMALL, Place.BIG, Place.REFUSED]
    places = [order.index(route(need, POOLS).place) for need in sorted((first, second))]
    assert places == sorted(places)
