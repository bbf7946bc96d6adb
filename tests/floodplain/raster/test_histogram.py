"""p99 of distributions of which the truth is known, by sketch, buckets of ten percent and powers of two."""

from __future__ import annotations

import math
import pickle
import random
from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.utils import floatToGoString

from floodplain.quantity import GIB, MIB
from floodplain.raster.histogram import PeakMetrics, PeakSketches, bucket_bounds, is_value
from floodplain.raster.quantile import Rule
from floodplain.raster.record import Outcome, Record


def record(peak: float, **more: object) -> Record:
    return Record.model_validate({"layer": "ortho", "peak_bytes": round(peak), "marginal_bytes": 0, **more})


def lognormal(count: int, middle: float, sigma: float, seed: int) -> list[float]:
    chosen = random.Random(seed)
    return [middle * MIB * math.exp(sigma * chosen.gauss(0, 1)) for _ in range(count)]


def tailed(count: int, share: float, seed: int) -> list[float]:
    """Small tasks, and a share of ones that are ten times as large."""
    chosen = random.Random(seed)
    return [chosen.gauss(3000, 150) * MIB if chosen.random() < share else chosen.gauss(300, 40) * MIB
            for _ in range(count)]  # fmt: skip


DISTRIBUTIONS = {
    "lognormal": lognormal(20_000, 220, 0.75, 1),
    "lognormal of 500": lognormal(500, 220, 0.75, 2),
    "tight around 420": lognormal(20_000, 420, 0.05, 3),
    "tail of 1.5 %": tailed(20_000, 0.015, 4),
    "tail of 0.8 %": tailed(20_000, 0.008, 5),
    "large": lognormal(20_000, 3000, 0.6, 6),
}


def exact(values: Sequence[float], quantile: float = 0.99) -> float:
    return sorted(values)[math.floor(quantile * (len(values) - 1))]


def interpolated(values: Sequence[float], bounds: Sequence[float], quantile: float = 0.99) -> float:
    """As histogram_quantile of Prometheus: linear within the bucket, the last bound where it lies above that."""
    counts = [0] * (len(bounds) + 1)
    for value in values:
        counts[bisect_left(bounds, value)] += 1
    rank, below = quantile * len(values), 0
    for number, count in enumerate(counts[:-1]):
        if below + count >= rank:
            low = bounds[number - 1] if number else 0
            return low + (bounds[number] - low) * (rank - below) / count
        below += count
    return bounds[-1]


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_a_sketch_is_within_one_percent(name: str) -> None:
    sketches = PeakSketches()
    for peak in DISTRIBUTIONS[name]:
        sketches.observe(record(peak))
    found = sketches.quantile("ortho")
    assert found.rule is Rule.SKETCH
    assert abs(found.bytes / exact(DISTRIBUTIONS[name]) - 1) <= 0.0101


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_our_buckets_are_within_ten_percent(name: str) -> None:
    found = interpolated(DISTRIBUTIONS[name], bucket_bounds(64 * GIB))
    assert abs(found / exact(DISTRIBUTIONS[name]) - 1) < 0.1


def test_powers_of_two_are_off_by_a_quarter_and_end_at_8_gib() -> None:
    powers = [2**power * MIB for power in range(6, 14)]
    errors = {
        name: round(interpolated(values, powers) / exact(values) - 1, 2) for name, values in DISTRIBUTIONS.items()
    }
    assert {name: error for name, error in errors.items() if abs(error) > 0.1} == {
        "lognormal": 0.23,
        "lognormal of 500": 0.22,
        "tail of 0.8 %": 0.24,
        "large": -0.32,
    }
    assert interpolated(DISTRIBUTIONS["large"], powers) == 8192 * MIB


@settings(max_examples=50)
@given(st.lists(st.integers(16 * MIB, 64 * GIB), min_size=1, max_size=200), st.sampled_from([0.5, 0.9, 0.99]))
def test_no_distribution_puts_our_buckets_off_by_more_than_one_of_them(peaks: list[int], quantile: float) -> None:
    # Of few values the rank itself may fall between two of them, which is no error of the buckets.
    ordered = sorted(peaks)
    near = ordered[max(0, math.ceil(quantile * len(peaks)) - 1)]
    found = interpolated(peaks, bucket_bounds(64 * GIB), quantile)
    assert near / 1.11 <= found <= near * 1.11 or near == 16 * MIB


@pytest.mark.parametrize(("largest", "count"), [(16 * MIB, 2), (GIB, 45), (8 * GIB, 67), (64 * GIB, 89)])
def test_the_last_bucket_lies_above_the_big_pools_limit(largest: int, count: int) -> None:
    bounds = bucket_bounds(largest)
    assert (len(bounds), bounds[0]) == (count, 16 * MIB)
    assert bounds[-2] <= largest < bounds[-1]
    assert all(1.099 < high / low < 1.101 for low, high in pairwise(bounds))


def test_a_limit_in_mib_is_refused() -> None:
    with pytest.raises(ValueError, match=r"largest_bytes: 8192 is below 16777216 \(16 MiB\)"):
        bucket_bounds(8192)


def test_sketches_of_workers_merge_into_that_of_all() -> None:
    peaks = DISTRIBUTIONS["lognormal"][:900]
    together, workers = PeakSketches(), [PeakSketches() for _ in range(3)]
    for number, peak in enumerate(peaks):
        one = record(peak, layer="dem" if number % 5 == 0 else "ortho", censored=number % 7 == 0)
        together.observe(one)
        workers[number % 3].observe(one)
    merged = PeakSketches()
    for worker in workers:
        merged.merge(pickle.loads(pickle.dumps(worker)))
    for layer in ("ortho", "dem"):
        assert merged.quantile(layer) == together.quantile(layer)


@pytest.mark.parametrize(
    ("more", "value"),
    [
        ({}, True),
        ({"swap_peak_bytes": 5}, True),
        ({"censored": True, "swap_peak_bytes": 5}, False),
        ({"outcome": "killed", "censored": True}, False),
        ({"outcome": "failed"}, False),
        ({"concurrent": 2}, False),
    ],
)
def test_only_the_true_peak_of_one_task_is_a_value(more: dict[str, object], value: bool) -> None:
    assert is_value(record(GIB, **more)) == value


def test_killed_tasks_are_counted_and_never_observed() -> None:
    registry = CollectorRegistry()
    metrics = PeakMetrics(8 * GIB, registry)
    for one in (
        record(100 * MIB),
        record(100 * MIB, layer="dem"),
        record(GIB, outcome=Outcome.KILLED, censored=True),
        record(GIB, censored=True),
        record(GIB, outcome=Outcome.FAILED),
        record(GIB, concurrent=3),
        record(9 * GIB),
    ):
        metrics.observe(one)
    samples = [line for line in generate_latest(registry).decode().splitlines() if "_created" not in line]
    told = [
        line for line in samples if line.startswith(("floodplain_raster_task_killed", "floodplain_raster_task_uno"))
    ]
    assert told == [
        'floodplain_raster_task_killed_total{layer="ortho"} 1.0',
        'floodplain_raster_task_unobserved_total{layer="ortho",reason="bound"} 2.0',
        'floodplain_raster_task_unobserved_total{layer="ortho",reason="set"} 1.0',
    ]
    name = "floodplain_raster_task_peak_bytes"
    assert registry.get_sample_value(f"{name}_count", {"layer": "ortho"}) == 2
    assert registry.get_sample_value(f"{name}_sum", {"layer": "ortho"}) == 100 * MIB + 9 * GIB
    # What no pool takes lies in +Inf alone.
    last = floatToGoString(bucket_bounds(8 * GIB)[-1])  # type: ignore[no-untyped-call]
    buckets = [registry.get_sample_value(f"{name}_bucket", {"layer": "ortho", "le": le}) for le in (last, "+Inf")]
    assert buckets == [1, 2]
