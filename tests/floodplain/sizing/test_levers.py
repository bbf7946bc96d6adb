"""What to change where no pool takes a job: each lever is told where it helps, and only there."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given as hypothesis_given
from hypothesis import strategies as st

from floodplain.pools import PoolDocument, PoolLimits
from floodplain.quantity import GIB
from floodplain.sizing.default_pool import default_pool
from floodplain.sizing.fit import Job, fit
from floodplain.sizing.given import Given
from floodplain.sizing.levers import advice
from floodplain.sizing.pod_rest import PodRest
from floodplain.sizing.settings import SizingSettings
from floodplain.sizing.workload import Workload
from tests.floodplain.sizing.example_pools import MIDDLE, NOTHING_BESIDE, SMALL, pool


def peak_of(images: int) -> int:
    """A GiB an image."""
    return images * GIB


def told(job: Job, *pools: PoolDocument) -> tuple[str, ...]:
    chosen = pools or (pool(),)
    best = min((fit(job, one, NOTHING_BESIDE) for one in chosen), key=lambda one: len(one.problems))
    return advice(job, chosen, NOTHING_BESIDE, best, peak_of)


def job(images: int, **changes: Any) -> Job:
    rest, given = changes.pop("rest", PodRest()), changes.pop("given", Given())
    return Job(Workload(images=images, **changes), peak_of(images), rest, given)


def test_a_job_that_fits_needs_no_advice() -> None:
    assert told(job(32)) == ()


def test_limits_of_the_pool_come_before_other_nodes_and_fewer_images() -> None:
    small = pool(limits=PoolLimits(cpu_millicores=4_000, memory_bytes=17 * GIB))
    assert told(job(60), small) == (
        "raise the limits of pool swap to at least cpu 8 and memory 33Gi:"
        " they count whole nodes, and a.middle is the smallest that fits",
        "give the job at most 32 images, or split it",
    )


@pytest.mark.parametrize("peak", [100 * GIB, 100 * GIB + 1])
def test_a_raster_task_is_told_the_largest_peak_instead_of_fewer_images(peak: int) -> None:
    task = Job(Workload(engine="raster", peak=str(peak)), peak)
    largest = pool("swap", SMALL, families=("a",))
    (last,) = told(task, largest)[-1:]
    assert last == "make the task smaller, such as by smaller windows: a peak of up to 32.0 GiB fits"
    assert fit(replace(task, peak_bytes=32 * GIB), largest, NOTHING_BESIDE).feasible
    assert not fit(replace(task, peak_bytes=33 * GIB), largest, NOTHING_BESIDE).feasible


def test_a_larger_type_is_the_smallest_of_the_catalogue_that_takes_it() -> None:
    assert told(job(100), pool("swap", SMALL, MIDDLE, families=("m6id",))) == (
        "add m6id.4xlarge (64.0 GiB) to the families and vcpus of pool swap",
        "give the job at most 64 images, or split it",
    )


def test_other_families_are_told_where_the_pools_own_have_no_such_node() -> None:
    assert told(job(100), pool("swap", SMALL, MIDDLE))[0].startswith("add m8id.4xlarge (64.0 GiB)")


def test_a_higher_swap_ratio_is_told_where_the_hot_set_allows_it() -> None:
    cold = pool("swap", SMALL, MIDDLE, hot_share=0.1, families=("m6id",))
    assert told(job(100), cold) == (
        "add m6id.4xlarge (64.0 GiB) to the families and vcpus of pool swap",
        "raise the swap ratio of pool swap from 2 to 3",
        "give the job at most 79 images, or split it",
    )


@pytest.mark.parametrize(
    ("one", "first"),
    [
        (job(10, capacity_type="reserved"), "leave out the capacity type: pool swap then takes the job"),
        (job(10, deadline_seconds=100_000), "leave out the deadline: pool swap then takes the job"),
        (job(10, given=Given(limit_bytes=GIB)), "raise the memory limit to 5Gi, or leave it out"),
        (
            job(10, given=Given(cpu_millicores=90_000)),
            "leave out CPU request and ephemeral storage: the plan then sets what fits",
        ),
        (
            job(10, rest=PodRest(request_bytes=GIB, limit_bytes=4 * GIB)),
            "give the other containers memory limits equal to their memory requests",
        ),
        (
            job(10, rest=PodRest(request_bytes=GIB, limit_bytes=GIB, unlimited=("log",))),
            "give the other containers memory limits equal to their memory requests",
        ),
    ],
)
def test_what_the_user_asked_for_comes_first(one: Job, first: str) -> None:
    assert told(one)[0] == first


def test_where_no_single_change_helps_that_is_said() -> None:
    hopeless = job(1, rest=PodRest(request_bytes=9000 * GIB, limit_bytes=9000 * GIB))
    assert told(hopeless) == (
        "no single change makes it fit: split the job, or give it a pool with larger nodes and look again",
    )


@hypothesis_given(images=st.integers(1, 5_000))
def test_whatever_does_not_fit_gets_advice_and_the_count_that_is_told_fits(images: int) -> None:
    settings, document = SizingSettings(), default_pool()
    one = job(images)
    found = advice(one, [document], settings, fit(one, document, settings), peak_of)
    assert bool(found) != fit(one, document, settings).feasible
    for sentence in found:
        if sentence.startswith("give the job at most "):
            most = int(sentence.split()[5])
            assert fit(job(most), document, settings).feasible
            assert not fit(job(most + 1), document, settings).feasible
