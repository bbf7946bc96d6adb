"""A layer's factor covers what its tasks held."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from floodplain.quantity import MIB
from floodplain.raster.calibration import COVERED, ENOUGH, FLOOR, LayerFactor, calibrate
from floodplain.raster.record import Outcome, Record


def record(ratio: float, layer: str = "ortho", **others: object) -> Record:
    given = {"layer": layer, "marginal_bytes": round(ratio * 1000 * MIB), "estimate_bytes": 1000 * MIB, **others}
    return Record.model_validate({"peak_bytes": given["marginal_bytes"], **given})


def test_a_layer_without_records_is_left_as_it_is() -> None:
    assert calibrate([]).of("ortho") == LayerFactor(1.0, 0, 0, "layer ortho has no records with an estimate")


def test_few_records_give_their_largest_ratio() -> None:
    assert calibrate([record(0.7), record(1.25), record(0.9)]).of("ortho") == LayerFactor(
        1.25, 3, 0, "layer ortho: 3 records, fewer than 299: the largest measured / estimated is 1.25"
    )


def test_few_records_never_make_estimates_smaller() -> None:
    assert calibrate([record(0.5)] * 298).factor("ortho") == 1.0


def test_many_records_make_estimates_smaller_down_to_the_floor() -> None:
    assert calibrate([record(0.9)] * ENOUGH).factor("ortho") == 0.9
    assert calibrate([record(0.3)] * ENOUGH).factor("ortho") == FLOOR


def test_one_task_in_a_hundred_is_not_covered_when_there_are_many() -> None:
    assert calibrate([record(1.0)] * 297 + [record(5.0)] * 2).factor("ortho") == 1.0


def test_a_killed_task_among_the_covered_takes_the_largest_ratio() -> None:
    killed = record(0.9, censored=True, outcome=Outcome.KILLED)
    found = calibrate([record(1.0)] * 400 + [killed, record(1.7)]).of("ortho")
    assert (found.factor, found.records, found.censored) == (1.7, 402, 1)
    assert found.reason == (
        "layer ortho: 402 records, 1 of them lower bounds: a lower bound lies at or below the 99th percentile, so the "
        "largest ratio, 1.7, is taken"
    )


@pytest.mark.parametrize(
    ("others", "bounds"), [({}, 0), ({"swap_peak_bytes": MIB}, 0), ({"censored": True}, 1), ({"outcome": "killed"}, 1)]
)
def test_which_records_are_lower_bounds(others: dict[str, Any], bounds: int) -> None:
    assert calibrate([record(1.1, **others)]).of("ortho").censored == bounds


def test_layers_are_apart() -> None:
    found = calibrate([record(1.5, "ortho"), record(2.0, "dem")])
    assert (found.factor("ortho"), found.factor("dem"), found.factor("other")) == (1.5, 2.0, 1.0)


@pytest.mark.parametrize(
    "left_out",
    [
        record(9, estimate_bytes=None),
        record(9, concurrent=4),
        record(9, outcome=Outcome.FAILED),
        record(9, estimate_bytes=0),
    ],
    ids=["without an estimate", "several at once", "failed", "estimate of 0"],
)
def test_what_says_nothing_of_one_task_is_left_out(left_out: Record) -> None:
    assert calibrate([left_out, record(1.1)]).of("ortho").records == 1


@given(st.lists(st.floats(0.01, 20), min_size=1, max_size=700), st.lists(st.floats(0.01, 20), max_size=3))
def test_the_factor_covers_the_layer(ratios: list[float], bounds: list[float]) -> None:
    records = [record(ratio) for ratio in ratios]
    records += [record(bound, censored=True, outcome=Outcome.KILLED) for bound in bounds]
    factor = calibrate(records).factor("ortho")
    covered = sum(one.marginal_bytes <= factor * 1000 * MIB * (1 + 1e-12) for one in records)
    assert covered >= (len(records) if len(records) < ENOUGH else math.ceil(COVERED * len(records)))
    assert factor >= (1.0 if len(records) < ENOUGH else FLOOR)


@given(st.lists(st.floats(0.01, 20), min_size=1, max_size=50), st.floats(0.01, 20))
def test_one_more_record_never_lowers_a_factor_from_few(ratios: list[float], more: float) -> None:
    records = [record(ratio) for ratio in ratios]
    assert calibrate([*records, record(more)]).factor("ortho") >= calibrate(records).factor("ortho")
