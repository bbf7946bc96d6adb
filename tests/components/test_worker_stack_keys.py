"""What `raster workers` says to write under `workerPools` is what the component takes, and comes to the same worker."""

from __future__ import annotations

import pytest
import yaml

from components.worker_settings import Workers
from floodplain.quantity import MIB
from floodplain.raster.record import Record
from floodplain.raster.sized_worker import SizedWorker, Wishes, size_worker
from floodplain.raster.stack_keys import stack_entry

CURL_CACHE = 16 * MIB
NAMED = {"name": "tiles", "image": "registry.example/tiles:1.2"}
HISTORY = [
    Record(layer="ortho", peak_bytes=(100 + size) * MIB, marginal_bytes=size * MIB, baseline_bytes=100 * MIB)
    for size in (40, 90, 410)
]


def workers(sized: SizedWorker) -> Workers:
    (entry,) = yaml.safe_load("\n".join(stack_entry(sized)))["floodplain:workerPools"]
    return Workers.model_validate({**entry, **NAMED})


@pytest.mark.parametrize(
    "wishes",
    [
        Wishes(),
        Wishes(slots=4, processes=None, headroom=1.5),
        Wishes(cache_bytes=128 * MIB, cache_in_marginal_bytes=20 * MIB, agent_bytes=300 * MIB),
        Wishes(threshold_share=0.8, baseline_bytes=120 * MIB),
    ],
)
def test_the_keys_make_the_worker_that_was_sized(wishes: Wishes) -> None:
    """The limit has 16 MiB a process more, for parts that are fetched; whole MiB of a peak are at most a slot's."""
    sized = size_worker(HISTORY, wishes)
    wanted, found = sized.pools, workers(sized).pools
    more = found.small_limit_bytes - wanted.small_limit_bytes - wanted.processes * CURL_CACHE
    assert 0 <= more <= 2 * wanted.slots * MIB
    assert 0 <= found.slot_budget_bytes - wanted.slot_budget_bytes <= 2 * MIB
    # One that was given is rounded down: what it let in before, and no more.
    given = wanted.given_threshold_bytes
    assert found.given_threshold_bytes == (None if given is None else given // MIB * MIB)
    assert 0 <= found.big_budget_bytes - wanted.big_budget_bytes <= 3 * MIB
    same = ("slots", "processes", "cache_bytes", "agent_bytes")
    assert [getattr(found, name) for name in same] == [getattr(wanted, name) for name in same]


def test_a_memory_that_was_given_stays_and_the_slots_have_less() -> None:
    sized = size_worker(HISTORY, Wishes(limit_bytes=4096 * MIB))
    found = workers(sized).pools
    assert found.small_limit_bytes == 4096 * MIB
    less = sized.pools.slot_budget_bytes - found.slot_budget_bytes
    assert abs(less - CURL_CACHE / sized.pools.slots) < 1


def test_they_are_written_as_an_entry_of_a_stack_file() -> None:
    assert stack_entry(size_worker(HISTORY, Wishes())) == [
        "  floodplain:workerPools:",
        "    - name: NAME",
        "      image: IMAGE",
        "      small: {slots: 8, taskPeak: 451Mi}",
        "      big: {taskPeak: 451Mi}",
        "      baseline: 100Mi",
        "      gdal: {cache: 64Mi}",
    ]
