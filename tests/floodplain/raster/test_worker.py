"""The worker formula term by term, its reference values, and a worker sized from a history."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from floodplain.problem import ProblemsError, RuleError
from floodplain.quantity import GIB, MIB
from floodplain.raster import worker_memory
from floodplain.raster.record import Record
from floodplain.raster.sized_worker import Wishes, size_worker
from floodplain.raster.terms import Term
from floodplain.raster.worker import slots_within


def record(mib: float, **others: Any) -> Record:
    marginal, baseline = round(mib * MIB), others.pop("baseline_bytes", 67 * MIB)
    given = {"layer": "ortho", "seconds": 10, **others}
    return Record(peak_bytes=marginal + baseline, marginal_bytes=marginal, baseline_bytes=baseline, **given)


@pytest.mark.parametrize(("slots", "gib"), [(8, 4.265625), (16, 8.53125)])
def test_the_reference_values_of_the_plain_formula(slots: int, gib: float) -> None:
    """420 x slots x 1.3 / 1024: facts/sizing.md 3.6."""
    assert worker_memory(420 * MIB, slots=slots, baseline_bytes=0, cache_bytes=0).bytes / GIB == gib


def test_every_term_is_said_and_they_add_up() -> None:
    worker = worker_memory(
        *(420 * MIB,),
        slots=8,
        processes=4,
        baseline_bytes=100 * MIB,
        cache_bytes=256 * MIB,
        cache_in_marginal_bytes=20 * MIB,
        agent_bytes=50 * MIB,
    )
    assert worker.terms == (
        Term("baseline", 400 * MIB, "4 processes x 100 MiB before any task"),
        Term("block cache", 1024 * MIB, "4 processes x 256 MiB, one cache a process"),
        Term("tasks", 4160 * MIB, "8 slots x (420 MiB - 20 MiB of cache in it) x 1.3 headroom"),
        Term("agent", 50 * MIB, "the engine's agent and what else runs in the pod"),
    )
    assert worker.bytes == sum(term.bytes for term in worker.terms) == 5634 * MIB


@pytest.mark.parametrize(("processes", "mib"), [(1, 168 + 4368), (8, 8 * 168 + 4368)])
def test_baseline_and_cache_come_once_a_process_and_without_headroom(processes: int, mib: int) -> None:
    assert worker_memory(420 * MIB, slots=8, processes=processes).bytes == mib * MIB


def test_independent_tasks_need_less_which_is_only_told() -> None:
    worker = worker_memory(420 * MIB, slots=16, mean_bytes=160 * MIB, deviation_bytes=70 * MIB)
    assert worker.independent_bytes == math.ceil((168 + 16 * 160 + 2.3263 * 70 * 4) * MIB)
    assert worker.bytes == (168 + 16 * 546) * MIB
    assert worker_memory(420 * MIB).independent_bytes is None


@given(
    st.integers(64 << 10, 1 << 36),
    st.integers(1, 64),
    st.integers(1, 64),
    st.integers(100, 400).map(lambda hundredths: hundredths / 100),
    st.integers(MIB, GIB),
)
def test_a_worker_holds_its_slots_and_its_pools_give_each_the_peak_with_headroom(
    marginal: int, slots: int, processes: int, headroom: float, cache: int
) -> None:
    processes = min(slots, processes)
    worker = worker_memory(marginal, slots=slots, processes=processes, headroom=headroom, cache_bytes=cache)
    assert worker.limit_bytes % MIB == 0 <= worker.limit_bytes - worker.bytes < MIB
    pools = worker.pools(1 << 40)
    assert marginal * headroom <= pools.slot_budget_bytes + 1
    assert pools.slot_budget_bytes <= worker.slot_bytes + MIB
    each = {"baseline_bytes": worker.baseline_bytes, "cache_bytes": cache}
    assert slots_within(worker.bytes, worker.slot_bytes, processes=processes, **each) == slots
    assert slots_within(worker.bytes - 1, worker.slot_bytes, processes=processes, **each) < slots


def test_one_process_a_slot_is_counted_with_its_own_baseline_and_cache() -> None:
    each = {"baseline_bytes": 104 * MIB, "cache_bytes": 64 * MIB}
    assert slots_within(8 * GIB, 546 * MIB, processes=None, **each) == 11
    assert worker_memory(420 * MIB, slots=11, processes=11).bytes <= 8 * GIB
    assert worker_memory(420 * MIB, slots=12, processes=12).bytes > 8 * GIB
    assert slots_within(100 * MIB, 546 * MIB, processes=None, **each) == 0


def test_wrong_figures_are_told_at_once() -> None:
    with pytest.raises(ProblemsError) as raised:
        worker_memory(420, slots=2, processes=3, baseline_bytes=-1, cache_bytes=512, headroom=0.9, agent_bytes=1.5)  # type: ignore[arg-type]
    assert [str(problem) for problem in raised.value.problems] == [
        "marginal_bytes: 420 is less than 1 MiB; it counts bytes: if 420 MiB are meant, write 440401920",
        "baseline_bytes: -1 is negative; write zero or more bytes",
        "cache_bytes: 512 is less than 1 MiB; it counts bytes: if 512 MiB are meant, write 536870912",
        "headroom: 0.9 is not from 1 to 10; write a factor such as 1.3",
        "agent_bytes: 1.5 should be a whole number; write bytes without quotes",
        "processes: 3 are more than the 2 slots; a process without a slot only costs",
    ]
    with pytest.raises(ProblemsError, match=r"cache_in_marginal_bytes: 67108864 is more than the peak .* \(50 MiB\)"):
        worker_memory(50 * MIB, cache_in_marginal_bytes=64 * MIB)


def history() -> list[Record]:
    """Most of 100 MiB, some up to 199."""
    return [record(199 - number if number < 40 else 100) for number in range(400)]


def test_a_worker_follows_from_a_history() -> None:
    sized = size_worker(history(), Wishes(slots=4))
    assert (sized.layer, sized.gdal_cachemax, sized.warnings, sized.remarks) == ("ortho", "64MB", (), ())
    assert 0.99 <= sized.peak.bytes / (195 * MIB) <= 1.01
    worker = worker_memory(
        *(sized.peak.bytes,),
        slots=4,
        baseline_bytes=67 * MIB,
        mean_bytes=sized.worker.mean_bytes,
        deviation_bytes=sized.worker.deviation_bytes,
    )
    assert sized.worker == worker
    assert sized.worker.mean_bytes == sum(one.marginal_bytes for one in history()) / 400
    big = math.ceil(131 + 199 * 1.3)
    assert sized.pools == worker.pools(big * MIB)
    assert sized.above_threshold == sum(one.marginal_bytes > sized.pools.threshold_bytes for one in history()) / 400


def test_slots_follow_from_memory() -> None:
    sized = size_worker(history(), Wishes(limit_bytes=2 * GIB, processes=2))
    each = sized.worker.slot_bytes
    assert sized.pools.slots == (2 * GIB - 2 * 131 * MIB) // each == 7
    assert sized.pools.small_limit_bytes == 2 * GIB
    assert sized.pools.slot_budget_bytes == (2 * GIB - 2 * 131 * MIB) // 7
    with pytest.raises(RuleError, match=r"holds no slot: a process and a task of p99 .* MiB need .* MiB; give more"):
        size_worker(history(), Wishes(limit_bytes=GIB // 4))


def test_the_layer_with_the_largest_peaks_is_sized_for() -> None:
    mixed = [*history(), *(record(30, layer="dem") for _ in range(5))]
    sized = size_worker(mixed)
    assert (sized.layer, list(sized.quantiles)) == ("ortho", ["ortho", "dem"])
    assert size_worker(mixed, layer="dem").layer == "dem"


def test_a_baseline_that_nobody_measured_is_said() -> None:
    at_most = Wishes(threshold_share=0.8)
    assert size_worker([record(100, baseline_bytes=0)], at_most).warnings == (
        "no record has a baseline: 104 MiB a process are assumed; give yours with --baseline",
    )
    assert size_worker([record(100, baseline_bytes=90 * MIB), record(100)]).worker.baseline_bytes == 90 * MIB


def test_many_caches_in_a_small_worker_are_warned_of() -> None:
    warnings = size_worker(history(), Wishes(slots=8, processes=8, cache_bytes=512 * MIB)).warnings
    assert warnings == (
        "GDAL_CACHEMAX: '512MB' makes 8 caches of 512 MiB, one a process, in a worker of 6,650 MiB: above half of it; "
        "write 207MB or less, or have fewer processes",
    )


def levels(*given: tuple[int, float, float], count: int = 5) -> list[Record]:
    return [
        record(mib, concurrent=concurrent, seconds=seconds) for concurrent, mib, seconds in given for _ in range(count)
    ]


@pytest.mark.parametrize(
    ("given", "warned"),
    [
        (
            levels((1, 100, 10), (4, 300, 11), (8, 600, 22)),
            [
                "8 tasks at once in a process hold +100 % memory (300 MiB to 600 MiB) and do +0 % tasks a second "
                "(0.364 to 0.364) compared with 4: stay at 4"
            ],
        ),
        (
            levels((1, 100, 10), (2, 190, 25)),
            [
                "2 tasks at once in a process hold +90 % memory (100 MiB to 190 MiB) and do -20 % tasks a second "
                "(0.1 to 0.08) compared with 1: stay at 1"
            ],
        ),
        (levels((1, 100, 10), (2, 200, 10)), []),
        (levels((1, 100, 10), (2, 105, 20)), []),
        (levels((1, 100, 10), (8, 800, 80), count=4), []),
    ],
    ids=["more memory for nothing", "slower", "twice as fast", "no more memory", "too few to tell"],
)
def test_concurrency_that_raises_memory_and_not_throughput_is_warned_of(
    given: Sequence[Record], warned: list[str]
) -> None:
    assert list(size_worker(given, Wishes(threshold_share=0.8)).warnings) == warned


def test_a_history_of_sets_of_tasks_alone_is_used_and_said() -> None:
    sized = size_worker(levels((4, 400, 10)))
    assert sized.remarks == (
        "ortho: every record is of several tasks at once, and counts as one task: measure with one task a "
        "process "
        "for a true figure",
    )
    assert sized.peak.bytes == round(440 * MIB)


def test_order_of_records_does_not_matter() -> None:
    records = [*history(), record(900, outcome="killed", censored=True, method="none"), record(20, layer="dem")]
    shuffled = random.Random(1).sample(records, len(records))
    one, other = size_worker(records), size_worker(shuffled)
    assert (one.worker, one.pools, dict(one.quantiles)) == (other.worker, other.pools, dict(other.quantiles))


def test_a_history_of_differences_of_ru_maxrss_is_told() -> None:
    """Defect 4 of the raster article: they are 0 for every task that is no new record of its process."""
    with pytest.raises(RuleError, match="has no task that held anything beyond its baseline; measure anew"):
        size_worker([record(0)] * 10)


def test_a_history_in_another_unit_is_told() -> None:
    with pytest.raises(ProblemsError, match=r"marginal_bytes: \d+ is less than 1 MiB; it counts bytes"):
        size_worker([record(420 / MIB)] * 300)
