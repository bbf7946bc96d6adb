"""How one pool takes a job: figures, types, and what is in the way."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given as hypothesis_given
from hypothesis import strategies as st

from floodplain.pools import PoolDocument, PoolLimits
from floodplain.quantity import GIB, MIB
from floodplain.sizing.default_pool import default_pool
from floodplain.sizing.fit import Fit, Job, fit, room_bytes
from floodplain.sizing.given import Given
from floodplain.sizing.pod_rest import PodRest
from floodplain.sizing.settings import SizingSettings
from floodplain.sizing.workload import CapacityType, Workload
from tests.floodplain.sizing.example_pools import LARGE, MIDDLE, NOTHING_BESIDE, SMALL, kind, pool


def job(peak_gib: float, *, rest: PodRest | None = None, given: Given | None = None, **asked: Any) -> Job:
    workload = Workload(**{"images": 100, **asked})
    return Job(workload, int(peak_gib * GIB), rest or PodRest(), given or Given())


def fitted(one: Job, document: PoolDocument | None = None, settings: SizingSettings = NOTHING_BESIDE) -> Fit:
    return fit(one, document or pool(), settings)


def test_half_of_the_peak_is_the_limit_and_the_request_lies_one_mib_below() -> None:
    found = fitted(job(32))
    assert found == Fit(
        pool=pool(),
        capacity_type=CapacityType.SPOT,
        limit_bytes=16 * GIB,
        request_bytes=16 * GIB - MIB,
        pod_request_bytes=16 * GIB,
        hot_bytes=16 * GIB,
        grant_bytes=32 * GIB - 2 * MIB,
        # a.large has the least CPU a GiB of room: 32 of 128.
        cpu_millicores=4000,
        ephemeral_bytes=10 * GIB,
        types=(SMALL, MIDDLE, LARGE),
        containment_margin_bytes=0,
        problems=(),
        notes=(),
    )


def test_one_mib_more_takes_the_next_type() -> None:
    found = fitted(job(32 + 2 / 1024))
    assert found.types == (MIDDLE, LARGE)
    assert found.containment_margin_bytes == 32 * GIB - (16 * GIB + MIB)


def test_without_swap_the_whole_peak_with_its_margin_is_memory() -> None:
    found = fitted(job(20), pool(swap_ratio=0.0))
    assert (found.limit_bytes, found.grant_bytes, found.types) == (24 * GIB, 0, (MIDDLE, LARGE))


def test_headroom_overhead_and_daemonsets_are_taken_from_the_room() -> None:
    document = pool(headroom_bytes=256 * MIB, overhead_bytes=16 * MIB)
    settings = SizingSettings(daemonset_memory="128Mi")
    assert room_bytes(SMALL, document, settings) == 16 * GIB - 384 * MIB
    found = fit(job(31.218), document, settings)
    assert found.limit_bytes == 15984 * MIB
    assert found.pod_request_bytes == 15984 * MIB - MIB + 16 * MIB
    assert found.containment_margin_bytes == 16 * GIB - 384 * MIB - found.pod_request_bytes == 1 * MIB


def test_other_containers_count_and_init_containers_count_where_they_ask_for_more() -> None:
    beside = PodRest(request_bytes=2 * GIB, limit_bytes=2 * GIB, cpu_millicores=500)
    found = fitted(job(30, rest=beside))
    assert found.pod_request_bytes == 17 * GIB
    assert found.types == (MIDDLE, LARGE)
    assert found.cpu_millicores == 17 * 250 - 500
    starter = PodRest(init_request_bytes=40 * GIB)
    assert fitted(job(30, rest=starter)).pod_request_bytes == 40 * GIB + MIB


@pytest.mark.parametrize(
    ("one", "document", "problems"),
    [
        (
            job(300),
            pool(),
            ("the pod requests 150.0 GiB and the largest node of pool swap has room for 128.0 GiB",),
        ),
        (
            job(100),
            pool(limits=PoolLimits(cpu_millicores=16_000, memory_bytes=40 * GIB)),
            (
                "the pod requests 50.0 GiB and the largest node of pool swap has room for 32.0 GiB;"
                " its limits, which count whole nodes, keep out a.large",
            ),
        ),
        (
            job(10),
            pool(limits=PoolLimits(cpu_millicores=2_000, memory_bytes=4096 * GIB)),
            ("no node of pool swap stays within its limits (cpu 2, memory 4096.0 GiB), which count whole nodes",),
        ),
        (
            job(10, given=Given(cpu_millicores=64_000)),
            pool(),
            ("the pod's CPU or ephemeral storage fits no node of pool swap that has the memory",),
        ),
        (
            job(10, rest=PodRest(request_bytes=GIB, limit_bytes=GIB, unlimited=("log",))),
            pool(),
            ("nothing contains the memory of log: without a memory limit they may use the whole node",),
        ),
        (
            job(10, rest=PodRest(request_bytes=GIB, limit_bytes=3 * GIB)),
            pool(),
            (
                "the limits of the pod's containers are 8192 MiB and 6144 MiB is reserved for them:"
                " with others on the node they pass what it has",
            ),
        ),
        (
            job(10, given=Given(limit_bytes=4 * GIB)),
            pool(),
            ("limit and swap hold 12286 MiB, and the peak with its margin is 12288 MiB (swap ratio 2)",),
        ),
        (
            job(10, given=Given(limit_bytes=4 * GIB + 4 * MIB)),
            pool(),
            ("the limit of 4100 MiB is below the hot set of 5120 MiB, which cannot be swapped",),
        ),
        (
            job(10, capacity_type="reserved"),
            pool(),
            ("pool swap has no reserved nodes, only on-demand, spot",),
        ),
        (
            job(10, deadline_seconds=90_000),
            pool(),
            ("the job may run for 90000 s and nodes of pool swap are replaced around jobs of up to 86400 s",),
        ),
    ],
)
def test_what_is_in_the_way_is_said(one: Job, document: PoolDocument, problems: tuple[str, ...]) -> None:
    assert fitted(one, document).problems == problems


def test_a_pool_at_its_own_limits_launches_no_type_that_is_larger() -> None:
    found = fitted(job(10), pool(limits=PoolLimits(cpu_millicores=1_000_000, memory_bytes=33 * GIB)))
    assert found.types == (SMALL, MIDDLE)


@pytest.mark.parametrize(
    ("asked", "offered", "expected", "note"),
    [
        ({"images": 4999}, ("on-demand", "spot"), "spot", ()),
        ({"images": 5000}, ("on-demand", "spot"), "on-demand", ("on-demand, since 5000 images are 5000 or more",)),
        (
            {"images": 6000, "capacity_type": "spot"},
            ("on-demand", "spot"),
            "on-demand",
            ("on-demand, since 6000 images are 5000 or more",),
        ),
        ({"images": 6000}, ("spot",), "spot", ()),
        ({"images": 10, "capacity_type": "on-demand"}, ("on-demand", "spot"), "on-demand", ()),
        ({"images": 10}, ("on-demand",), "on-demand", ()),
        ({"images": 10}, ("reserved", "on-demand"), "reserved", ()),
    ],
)
def test_the_capacity_type(
    asked: dict[str, Any], offered: tuple[str, ...], expected: str, note: tuple[str, ...]
) -> None:
    found = fitted(job(10, **asked), pool(capacity_types=offered))
    assert (found.capacity_type.value, found.notes) == (expected, note)


def test_a_threshold_of_zero_never_moves_a_job_to_on_demand() -> None:
    settings = SizingSettings(on_demand_from_images=0)
    assert fit(job(10, images=900_000), pool(), settings).capacity_type is CapacityType.SPOT


def test_ephemeral_storage_is_cut_to_the_pools_cap_and_that_is_said() -> None:
    found = fitted(job(30), pool(ephemeral_bytes_per_memory_byte=0.5))
    assert found.ephemeral_bytes == 7679 * MIB
    assert found.notes == (
        "ephemeral storage 7679 MiB instead of 10.0 GiB: pool swap gives 0.5 bytes a byte of memory request;"
        " raise its ephemeralPerMemory, or keep work on a volume",
    )


def test_a_users_own_figures_stand() -> None:
    given = Given(limit_bytes=9 * GIB, cpu_millicores=1500, ephemeral_bytes=3 * GIB)
    found = fitted(job(10, given=given))
    assert (found.limit_bytes, found.request_bytes) == (9 * GIB, 9 * GIB - MIB)
    assert (found.cpu_millicores, found.ephemeral_bytes, found.problems) == (1500, 3 * GIB, ())


peaks = st.integers(min_value=1 * MIB, max_value=1200 * GIB)


@hypothesis_given(peak=peaks, beside=st.integers(0, 8 * GIB), cpu=st.integers(0, 200))
def test_cpu_never_asks_for_a_larger_node(peak: int, beside: int, cpu: int) -> None:
    settings = SizingSettings()
    rest = PodRest(request_bytes=beside, limit_bytes=beside, cpu_millicores=cpu)
    found = fit(Job(Workload(images=1), peak, rest), default_pool(), settings)
    rooms = {one.name: room_bytes(one, default_pool(), settings) for one in default_pool().types}
    by_memory = [one for one in default_pool().types if rooms[one.name] >= found.pod_request_bytes]
    # A pod with next to no memory beside sidecars that take CPU is the only one that CPU can place.
    if found.cpu_millicores > 1:
        assert {one.name for one in by_memory} == {one.name for one in found.types}
        for one in by_memory:
            pods = rooms[one.name] // found.pod_request_bytes
            left = one.allocatable_cpu_millicores - settings.daemonset_cpu_millicores
            assert pods * (found.cpu_millicores + cpu) <= left


@hypothesis_given(peak=peaks)
def test_a_feasible_job_holds_its_peak_with_its_margin(peak: int) -> None:
    found = fit(Job(Workload(images=1), peak), default_pool(), SizingSettings())
    assert found.limit_bytes + found.grant_bytes >= 1.2 * peak
    assert found.limit_bytes >= found.hot_bytes
    if found.feasible:
        least = found.types[0]
        room = room_bytes(least, default_pool(), SizingSettings())
        assert found.containment_margin_bytes == room - found.pod_request_bytes >= 0


@hypothesis_given(peak=st.integers(MIB, 50 * GIB), more=st.integers(0, 50 * GIB))
def test_a_larger_peak_never_gets_less(peak: int, more: int) -> None:
    smaller, larger = (fit(Job(Workload(images=1), one), pool(), NOTHING_BESIDE) for one in (peak, peak + more))
    assert smaller.limit_bytes <= larger.limit_bytes
    assert smaller.grant_bytes <= larger.grant_bytes
    assert smaller.ephemeral_bytes <= larger.ephemeral_bytes


def test_a_type_with_too_little_disk_is_left_out() -> None:
    bare = kind("a.bare", 17, 4, ephemeral_bytes_for_pods=5 * GIB)
    assert fitted(job(20), pool("swap", bare, MIDDLE)).types == (MIDDLE,)
