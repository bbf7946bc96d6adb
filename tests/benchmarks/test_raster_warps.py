"""Which warps are drawn, and how their spread is told."""

from __future__ import annotations

import pytest

pytest.importorskip("rasterio")

from benchmarks.raster_warps import Spread, spread
from benchmarks.warp_cases import LARGEST_SOURCE, MOST_BEYOND, draw
from floodplain.raster.task import Way


def test_a_seed_draws_the_same_cases_every_time_and_another_seed_others() -> None:
    assert draw(1, 30) == draw(1, 30)
    assert draw(1, 30) != draw(2, 30)


def test_a_full_run_draws_of_every_kind() -> None:
    cases = draw(22, 240)
    assert len(cases) == 240
    assert {case.settings.way for case in cases} == set(Way)
    assert {case.source.kind for case in cases} == {"plain", "nodata", "alpha", "mask"}
    assert {case.settings.cache_bytes >> 20 for case in cases} == {16, 32, 64, 128, 256}
    assert {case.settings.warp_memory_bytes >> 20 for case in cases} == {16, 64, 128, 256, 512}
    assert {bool(case.source.tile) for case in cases} == {True, False}
    assert {case.settings.remote for case in cases} == {True, False}
    assert len({case.source.dtype for case in cases}) >= 8
    assert len({case.settings.resampling for case in cases}) == 7


def test_windows_lie_in_their_sources_or_around_them_and_both_are_bounded() -> None:
    cases = draw(3, 240)
    beyond = [case for case in cases if case.window[2] > case.source.width]
    assert 20 <= len(beyond) <= 60
    for case in cases:
        column, row, width, height = case.window
        if case in beyond:
            assert case.settings.way in {Way.VRT, Way.BAND} and not case.by_shape
            assert column <= 0 <= case.source.width <= column + width
            assert max(width, height) * case.scale <= MOST_BEYOND * 1.001
        else:
            assert column >= 0 and row >= 0
            assert column + width <= case.source.width and row + height <= case.source.height
        assert case.source.bytes <= LARGEST_SOURCE * 1.05


def test_a_spread_counts_what_is_below_and_takes_quantiles() -> None:
    assert spread([0.5, *[1.0] * 17, 1.6, 3.0, 0.79]) == Spread(2, 0.5, 1.0, 1.6, 3.0)
