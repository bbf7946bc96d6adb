"""Budgets of both pools and the threshold between them; settings that cannot be are refused, all faults at once."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from floodplain.problem import ProblemsError
from floodplain.quantity import GIB, MIB
from floodplain.raster.two_pools import TwoPools

NOTHING = {"baseline_bytes": MIB, "cache_bytes": MIB}

RASTERIO_ALONE = {"baseline_bytes": 67 * MIB}
"""The baseline of the reference vector (facts/sizing.md 3.2)."""


def refused(**settings: Any) -> list[str]:
    with pytest.raises(ProblemsError) as raised:
        TwoPools(**{**RASTERIO_ALONE, **settings})
    return [str(problem) for problem in raised.value.problems]


@pytest.mark.parametrize(
    ("settings", "budgets"),
    [
        # The worker of the reference vector: 8 x 420 MiB x 1.3 beside 67 and 64 MiB.
        ({"small_limit_bytes": 4499 * MIB, "big_limit_bytes": 4 * GIB}, (546, 273, 3965)),
        ({"small_limit_bytes": 8 * GIB, "processes": 8, "cache_bytes": 256 * MIB}, (701, 350.5, 16061)),
        ({"small_limit_bytes": 8 * GIB, "agent_bytes": 61 * MIB, "slots": 4}, (2000, 1000, 16192)),
        ({"small_limit_bytes": 8 * GIB, "slots": 1, "given_threshold_bytes": 7 * GIB}, (8061, 7168, 16253)),
    ],
)
def test_budgets_and_threshold_in_mib(settings: dict[str, Any], budgets: tuple[float, float, float]) -> None:
    pools = TwoPools(**{**RASTERIO_ALONE, **settings})
    found = (pools.slot_budget_bytes, pools.threshold_bytes, pools.big_budget_bytes)
    assert tuple(count / MIB for count in found) == budgets


@given(
    st.integers(1, 64),
    st.integers(1, 64),
    st.integers(1, 1 << 45),
    st.integers(1, 1 << 45),
    st.integers(MIB, 1 << 34),
    st.integers(MIB, 1 << 34),
)
def test_what_is_accepted_holds_every_slot_and_leaves_the_threshold_below_it(
    slots: int, processes: int, small: int, big: int, baseline: int, cache: int
) -> None:
    try:
        pools = TwoPools(slots, small, big, baseline, cache, processes)
    except ProblemsError:
        return
    assert processes * (baseline + cache) + slots * pools.slot_budget_bytes <= small
    assert 0 < pools.threshold_bytes <= pools.slot_budget_bytes / 2
    assert pools.threshold_bytes < pools.big_budget_bytes == big - baseline - cache


def test_a_threshold_above_the_slot_budget_is_refused() -> None:
    """The raster article's 1500 MB beside slots of 546 MB."""
    assert refused(small_limit_bytes=4499 * MIB, given_threshold_bytes=1500 * MIB) == [
        "given_threshold_bytes: 1572864000 is above the slot budget of 546 MiB: a task just below it would not fit its "
        "slot; write at most 572522496, better half of it, 286261248"
    ]


@pytest.mark.parametrize("count", [1, 64, 512, 99_999])
def test_a_cache_in_megabytes_where_bytes_are_meant_is_refused(count: int) -> None:
    assert refused(cache_bytes=count) == [
        f"cache_bytes: {count} is less than 1 MiB; it counts bytes: if {count} MiB are meant, write {count * MIB}"
    ]


def test_every_wrong_setting_is_told_at_once() -> None:
    assert refused(
        slots=0, small_limit_bytes=8, big_limit_bytes="16Gi", baseline_bytes=True, cache_bytes=0, agent_bytes=-1
    ) == [
        "slots: 0 is less than one; a worker has at least one",
        "small_limit_bytes: 8 is less than 1 MiB; it counts bytes: if 8 MiB are meant, write 8388608",
        "big_limit_bytes: '16Gi' should be a whole number; write bytes without quotes",
        "baseline_bytes: True should be a whole number; write bytes without quotes",
        "cache_bytes: 0 is less than 1 MiB; without a cache GDAL decodes a block for every window that touches it; "
        "write "
        "64 MiB or more, as bytes",
        "agent_bytes: -1 is negative; write zero or more bytes",
    ]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (
            {"small_limit_bytes": 1000 * MIB, "processes": 8},
            [
                "small_limit_bytes: 1048576000 leaves nothing for 8 tasks at once: "
                "1,048 MiB = 8 x (baseline 67 MiB + cache "
                "64 MiB) "
                "are taken before the first; raise it, or have fewer slots or processes, or a smaller cache"
            ],
        ),
        (
            {"small_limit_bytes": 131 * MIB, "big_limit_bytes": 131 * MIB},
            [
                "small_limit_bytes: 137363456 leaves nothing for 8 tasks at once: "
                "131 MiB = 1 x (baseline 67 MiB + cache 64 MiB) "
                "are taken before the first; raise it, or have fewer slots or processes, or a smaller cache",
                "big_limit_bytes: 137363456 leaves nothing for a task after baseline, cache and agent; raise it above "
                "131 MiB",
            ],
        ),
        (
            {"big_limit_bytes": 500 * MIB},
            [
                "big_limit_bytes: 524288000 gives a task 369 MiB, not more than the threshold of 503.8 MiB; raise "
                "it above "
                "the largest estimate that shall be run"
            ],
        ),
        ({"processes": 9}, ["processes: 9 are more than the 8 slots; a process without a slot only costs"]),
        (
            {"given_threshold_bytes": 0},
            ["given_threshold_bytes: 0 sends every task to the big pool; leave it out for 528285696"],
        ),
        (
            {**NOTHING, "small_limit_bytes": 2 * MIB + 8},
            ["small_limit_bytes: 2097160 sends every task to the big pool; raise it"],
        ),
    ],
)
def test_budgets_that_hold_no_task_are_refused(settings: dict[str, Any], said: list[str]) -> None:
    assert refused(**settings) == said


def test_by_default_a_process_holds_what_one_with_floodplain_was_measured_to_hold() -> None:
    assert TwoPools().baseline_bytes == 104 * MIB
    assert TwoPools().fixed_bytes == (104 + 64) * MIB
