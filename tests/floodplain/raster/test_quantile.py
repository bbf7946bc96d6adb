"""From records to the quantile a worker is sized by, and the rule behind it; lower bounds never make a p99."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from floodplain.problem import RuleError
from floodplain.quantity import MIB
from floodplain.raster.histogram import PeakSketches
from floodplain.raster.peaks import layer_peaks
from floodplain.raster.quantile import Quantile, Rule, enough, of_sketches, quantile_of
from floodplain.raster.record import Method, Outcome, Record
from floodplain.raster.sketch import RELATIVE_ERROR, buckets, maximum, sketch_of

HUNDREDS = [number * MIB for number in range(1, 1001)]


def mib(count: float) -> int:
    return round(count * MIB)


def bucket_of(count: int) -> int:
    """Number of the bucket; each is (1 + a) / (1 - a) times the one before it."""
    ((value, _),) = buckets(sketch_of([count])).items()
    return math.floor(math.log(value) / math.log((1 + RELATIVE_ERROR) / (1 - RELATIVE_ERROR)))


@given(st.lists(st.one_of(st.just(0), st.integers(1, 1 << 60))))
def test_buckets_hold_every_peak_within_one_percent_and_the_maximum_is_exact(peaks: list[int]) -> None:
    sketch = sketch_of(peaks)
    held = [value for value, count in sorted(buckets(sketch).items()) for _ in range(round(count))]
    assert held == pytest.approx(sorted(peaks), rel=RELATIVE_ERROR + 1e-9, abs=0)
    assert maximum(sketch) == max(peaks, default=-math.inf)


def exact(values: Sequence[int], bounds: Sequence[int], quantile: Fraction) -> int | None:
    """Kaplan-Meier over the figures themselves, in fractions."""
    survival, everything = Fraction(1), sorted([*values, *bounds])
    for value, count in sorted(Counter(values).items()):
        survival *= 1 - Fraction(count, len(everything) - bisect_left(everything, value))
        if survival <= 1 - quantile:
            return value
    return None


@pytest.mark.parametrize(
    ("values", "bounds", "wanted"),
    [
        (
            [mib(410)] * 120,
            [],
            Quantile(
                mib(451),
                at_least=False,
                rule=Rule.MAXIMUM,
                quantile=0.99,
                values=120,
                bounds=0,
                why="120 tasks, fewer than 299: the maximum, 410 MiB, times 1.1; by itself it lies above the p99 with "
                "a probability of 70 %",
            ),
        ),
        (
            [mib(410)] * 298,
            [mib(409)] * 50,
            Quantile(
                mib(451),
                at_least=False,
                rule=Rule.MAXIMUM,
                quantile=0.99,
                values=298,
                bounds=50,
                why="298 tasks, fewer than 299: the maximum, 410 MiB, times 1.1; by itself it lies above the p99 with "
                "a probability of 94 %",
            ),
        ),
        (
            [mib(410)],
            [mib(2048)],
            Quantile(
                mib(2048),
                at_least=True,
                rule=Rule.LOWER_BOUND,
                quantile=0.99,
                values=1,
                bounds=1,
                why="the largest of 2 tasks is a lower bound, 2,048 MiB: the p99 may be any more",
            ),
        ),
        (
            [],
            [mib(512), mib(1024)],
            Quantile(
                mib(1024),
                at_least=True,
                rule=Rule.LOWER_BOUND,
                quantile=0.99,
                values=0,
                bounds=2,
                why="the largest of 2 tasks is a lower bound, 1,024 MiB: the p99 may be any more",
            ),
        ),
        (
            [mib(410)] * 299,
            [],
            Quantile(
                mib(410),
                at_least=False,
                rule=Rule.SKETCH,
                quantile=0.99,
                values=299,
                bounds=0,
                why="299 tasks, by DDSketch with a relative error of 1 %",
            ),
        ),
        (
            HUNDREDS,
            [mib(3000)] * 11,
            Quantile(
                mib(3000),
                at_least=True,
                rule=Rule.LOWER_BOUND,
                quantile=0.99,
                values=1000,
                bounds=11,
                why="the p99 of 1,011 tasks lies among 11 lower bounds, up to 3,000 MiB",
            ),
        ),
    ],
    ids=["few", "few and small bounds", "a large bound", "only bounds", "enough", "hidden"],
)
def test_which_rule_applies(values: list[int], bounds: list[int], wanted: Quantile) -> None:
    found = quantile_of(values, bounds)
    assert (found.rule, found.at_least, found.why) == (wanted.rule, wanted.at_least, wanted.why)
    assert (found.quantile, found.values, found.bounds) == (wanted.quantile, wanted.values, wanted.bounds)
    assert found.bytes == pytest.approx(wanted.bytes, rel=0.01)
    assert found.name == wanted.name


def test_bounds_below_the_quantile_push_it_up() -> None:
    """Without its lower bounds a history is biased low: the tasks that were killed at 800 MiB were no small ones."""
    plain, killed = quantile_of(HUNDREDS), quantile_of(HUNDREDS, [mib(800)] * 200)
    assert (plain.rule, killed.rule) == (Rule.SKETCH, Rule.KAPLAN_MEIER)
    assert plain.bytes == pytest.approx(mib(990), rel=0.01)
    assert killed.bytes == pytest.approx(exact(HUNDREDS, [mib(800)] * 200, Fraction(99, 100)), rel=0.01)
    assert killed.bytes > plain.bytes
    assert killed.why == "1,000 tasks and 200 lower bounds, by Kaplan-Meier over buckets of 1 %"


@settings(max_examples=20)
@given(
    st.lists(st.integers(MIB, 1 << 40), min_size=299, max_size=330),
    st.lists(st.integers(MIB, 1 << 40), max_size=30),
    st.sampled_from([Fraction(1, 2), Fraction(9, 10), Fraction(99, 100)]),
)
def test_the_quantile_is_that_of_kaplan_and_meier_within_a_bucket(
    values: list[int], bounds: list[int], quantile: Fraction
) -> None:
    """Values and bounds of one bucket count as one figure there, so that ours lies within a bucket of theirs."""
    bucket = {count: bucket_of(count) for count in [*values, *bounds]}
    wanted = exact([bucket[count] for count in values], [bucket[count] for count in bounds], quantile)
    found = quantile_of(values, bounds, quantile=float(quantile))
    if wanted is None:
        assert (found.at_least, found.bytes) == (True, max([*values, *bounds]))
    else:
        assert not found.at_least
        assert abs(bucket_of(found.bytes) - wanted) <= 1


@given(st.lists(st.integers(0, 1 << 40), min_size=1, max_size=40), st.lists(st.integers(0, 1 << 40), max_size=5))
def test_few_peaks_give_no_less_than_their_maximum(values: list[int], bounds: list[int]) -> None:
    found = quantile_of(values, bounds)
    assert found.bytes >= max([*values, *bounds])
    assert found.at_least == (max([*bounds, 0]) > max(values))


def test_sketches_of_several_workers_merge() -> None:
    merged = sketch_of(HUNDREDS[::2])
    merged.merge(sketch_of(HUNDREDS[1::2]))
    assert of_sketches(merged, sketch_of([])) == quantile_of(HUNDREDS)


def test_sketches_that_workers_keep_of_their_tasks_give_the_same() -> None:
    sketches = PeakSketches()
    for count in HUNDREDS:
        sketches.observe(record(peak_bytes=count, outcome=Outcome.DONE))
    for _ in range(200):
        sketches.observe(killed(800))
    kept = sketches.layers["ortho"]
    assert of_sketches(kept.values, kept.lower_bounds) == quantile_of(HUNDREDS, [mib(800)] * 200)


def test_how_many_peaks_it_takes() -> None:
    """The maximum of 299 peaks lies above the p99 with 95 %: facts/sizing.md 6."""
    assert [enough(quantile) for quantile in (0.9, 0.95, 0.99, 0.999)] == [29, 59, 299, 2995]
    assert quantile_of([1] * 299).confidence == pytest.approx(0.9505, abs=1e-4)
    assert quantile_of([1] * 298).confidence < 0.95 < quantile_of([1] * 299).confidence


def test_zeros_are_peaks_too() -> None:
    assert quantile_of([0] * 300).bytes == 0


def test_nothing_gives_no_quantile() -> None:
    with pytest.raises(RuleError, match="there are no peaks; measure tasks first"):
        quantile_of([])
    with pytest.raises(RuleError, match="is no quantile; give one between 0 and 1"):
        quantile_of([1], quantile=99)


def record(**others: Any) -> Record:
    usual = {"layer": "ortho", "peak_bytes": mib(300), "marginal_bytes": mib(233), "baseline_bytes": mib(67)}
    return Record.model_validate({**usual, **others})


def killed(limit: float, baseline: float = 0) -> Record:
    """As `measured` writes it."""
    return record(
        peak_bytes=mib(limit),
        marginal_bytes=mib(limit - baseline),
        baseline_bytes=mib(baseline),
        outcome=Outcome.KILLED,
        method=Method.NONE,
        censored=True,
    )


@pytest.mark.parametrize(
    ("others", "bound"),
    [
        ({}, False),
        ({"method": Method.SAMPLES}, False),
        ({"censored": True}, True),
        ({"swap_peak_bytes": 1}, False),
        ({"swap_peak_bytes": 1, "censored": True}, True),
        ({"outcome": Outcome.FAILED}, True),
        ({"outcome": Outcome.KILLED}, True),
    ],
)
def test_which_records_are_lower_bounds(others: dict[str, Any], bound: bool) -> None:
    peaks = layer_peaks([record(**others)])["ortho"]
    assert (peaks.values, peaks.bounds) == (((), (mib(233),)) if bound else ((mib(233),), ()))


def test_the_baseline_is_taken_off_a_limit_that_a_task_was_killed_at() -> None:
    records = [record(), killed(512), killed(512, baseline=100)]
    assert layer_peaks(records)["ortho"].bounds == (mib(412), mib(412))
    records = [record(), record(baseline_bytes=mib(80)), killed(512)]
    assert layer_peaks(records)["ortho"].bounds == (mib(432),)


def test_what_a_reader_should_know_of_records_is_told() -> None:
    records = [
        *(record(), record(outcome=Outcome.FAILED), record(swap_peak_bytes=MIB, censored=True), record(censored=True)),
        *(killed(512), killed(0), record(concurrent=4), record(method=Method.SAMPLES)),
    ]
    assert layer_peaks(records)["ortho"].remarks == (
        "1 of 7 tasks failed before their end: lower bounds",
        "1 of 7 tasks lay partly in swap: lower bounds",
        "1 of 7 tasks stood at a limit: lower bounds",
        "2 of 7 tasks were killed for memory: lower bounds",
        "1 of the killed have no limit on record and say nothing of the peak, which may be higher than it seems: "
        "measure "
        "with a slot limit",
        "1 peaks were sampled: spikes between two looks are not in them",
        "1 records of several tasks at once are left out",
    )


def test_layers_are_kept_apart_and_unknown_ones_told() -> None:
    records = [record(), record(layer="dem"), record()]
    assert {name: len(peaks.tasks) for name, peaks in layer_peaks(records).items()} == {"ortho": 2, "dem": 1}
    assert list(layer_peaks(records, "dem")) == ["dem"]
    with pytest.raises(RuleError, match=r"is not a layer of the history; did you mean `ortho`\?"):
        layer_peaks(records, "orto")
    with pytest.raises(RuleError, match="is not a layer of the history; the history has dem, ortho"):
        layer_peaks(records, "x")
    with pytest.raises(RuleError, match="has no records; measure tasks first"):
        layer_peaks([])


def test_a_quantile_is_found_within_one_percent_where_a_rare_tail_starts() -> None:
    """0.8 % of the tasks are ten times the rest: t-digests err there by up to 82 % (facts/sizing.md 6)."""
    values = [mib(400 + number % 40) for number in range(9920)] + [mib(4000 + number) for number in range(80)]
    wanted = sorted(values)[math.ceil(0.99 * len(values)) - 1]
    assert quantile_of(values).bytes == pytest.approx(wanted, rel=0.01)
    assert quantile_of(values, quantile=0.995).bytes == pytest.approx(mib(4029), rel=0.01)


def test_a_lower_bound_is_never_called_a_p99_and_a_maximum_not_without_saying_so() -> None:
    names = [quantile_of(values, bounds).name for values, bounds in (([1], [2]), ([1], []), ([1] * 300, []))]
    assert names == ["at least", "p99 by maximum", "p99"]
