"""Where the constants come from, and how predictors are judged."""

from __future__ import annotations

from dataclasses import asdict, replace

import pytest

from floodplain.sizing.odm.fit import GRID, fit
from floodplain.sizing.odm.observations import Kind, Observation, counted, load
from floodplain.sizing.odm.peak import FITTED, peak_gib
from floodplain.sizing.odm.score import Score, is_missed, score

SOME = next(one for one in load() if one.id == "o260")


def bound(images: int, kind: Kind, low: float | None = None, high: float | None = None) -> Observation:
    return replace(SOME, id=f"{images} {kind}", images=images, kind=kind, low_gib=low, high_gib=high)


def test_the_committed_constants_are_what_the_observations_give() -> None:
    assert fit(counted()) == FITTED


def test_no_constant_is_held_by_the_end_of_its_grid_but_that_of_fast_orthophoto() -> None:
    """A job without dense cloud may not cost more than one with it."""
    at_ends = [name for name, value in asdict(FITTED).items() if value in (GRID[name][0], GRID[name][-1])]
    assert [name for name, value in asdict(FITTED).items() if value not in GRID[name]] == []
    assert at_ends == ["fast_orthophoto"]


def test_safety_weighs_more_than_cost() -> None:
    """One job was killed with 30 GiB and one like it ran with 20: what is fitted is nearer to the first."""
    both = [bound(300, Kind.LOWER, low=30), bound(300, Kind.UPPER, high=20)]
    careful, lean = fit(both), fit(both, safety=0.3)
    assert peak_gib(both[0].workload, careful) > 30
    assert peak_gib(both[0].workload, lean) < 22


def test_one_killed_job_lifts_the_curve_and_one_that_ran_lowers_it() -> None:
    before = peak_gib(SOME.workload, fit(counted()))
    killed = peak_gib(SOME.workload, fit([*counted(), *[bound(87, Kind.LOWER, low=before + 2)] * 5]))
    ran = peak_gib(SOME.workload, fit([*counted(), *[bound(87, Kind.UPPER, high=before - 2)] * 5]))
    assert ran < before < killed


@pytest.mark.parametrize(
    ("kind", "low", "high", "missed"),
    [
        (Kind.LOWER, 10.0, None, True),
        (Kind.LOWER, 9.9, None, False),
        (Kind.UPPER, None, 1.0, False),
        (Kind.POINT, 10.0, 10.0, False),
        (Kind.INTERVAL, 10.1, 12.0, True),
    ],
)
def test_a_peak_of_10_gib_misses(kind: Kind, low: float | None, high: float | None, missed: bool) -> None:
    assert is_missed(bound(1, kind, low, high), 10.0) is missed


def test_a_score_has_both_axes() -> None:
    observations = [
        bound(1, Kind.LOWER, low=16),
        bound(2, Kind.UPPER, high=8),
        bound(3, Kind.UPPER, high=9),
        bound(4, Kind.UPPER, high=20),
    ]
    found = score(lambda one: 10.0, observations)
    assert (found.missed, round(found.over, 6), found.far_over) == (("1 lower",), round(2 / 8 + 1 / 9, 6), 0)
    assert score(lambda one: 16.0, observations) == Score(("1 lower",), 1 + 7 / 9, 2)
    assert score(lambda one: 1.0, observations[1:]) + Score(("x",), 1.0, 1) == Score(("x",), 1.0, 1)


def test_what_the_model_misses_is_known() -> None:
    """Each is told in docs/how-we-size.md; a change here is a change there."""
    found = score(lambda one: peak_gib(one.workload), counted())
    assert found.missed == ("o003", "o021", "o023", "o029", "o072", "o235")
    assert (round(found.over, 2), found.far_over) == (6.09, 7)
