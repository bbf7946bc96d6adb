"""How jobs are packed in the benchmark `sizing`, on nodes small enough to check by hand."""

from __future__ import annotations

import pytest

from benchmarks import sizing
from benchmarks.packing import Packing, Pod, fewest_vcpus, least_memory, pack
from floodplain.pools import PoolType


def node(name: str, vcpu: int, memory: int, room: int) -> PoolType:
    return PoolType(
        name=name,
        vcpu=vcpu,
        memory_bytes=memory,
        nvme_bytes=0,
        allocatable_memory_bytes=room,
        allocatable_cpu_millicores=vcpu * 1000,
        pods=10,
        swap_bytes_at_most=0,
        ephemeral_bytes_for_pods=0,
    )


NODES = (node("wide", 48, 100, 90), node("lean", 16, 130, 120), node("small", 4, 40, 30), node("lost", 64, 110, 80))


def test_a_limit_counts_as_above_only_on_the_node_that_the_request_launches() -> None:
    pods = [Pod(20, 30), Pod(30, 31), Pod(31, 90), Pod(80, 91), Pod(200, 300)]
    assert pack(pods, NODES, 0, least_memory) == Packing(jobs=5, above_alone=2, pairs=9, pairs_above=6)


def test_the_order_decides_which_node_is_launched() -> None:
    assert pack([Pod(80, 91)], NODES, 0, least_memory).above_alone == 1
    assert pack([Pod(80, 91)], NODES, 0, fewest_vcpus).above_alone == 0


def test_what_daemonsets_take_is_no_room() -> None:
    assert pack([Pod(10, 15)], NODES[2:3], 0, least_memory) == Packing(1, 0, 1, 0)
    assert pack([Pod(10, 15)], NODES[2:3], 10, least_memory) == Packing(1, 0, 1, 1)
    assert pack([Pod(10, 15)], NODES[2:3], 11, least_memory) == Packing(1, 0, 0, 0)


@pytest.mark.parametrize(("packing", "percent"), [(Packing(1, 0, 0, 0), 0.0), (Packing(2, 0, 4, 1), 25.0)])
def test_the_share_of_pairs_is_of_those_that_fit(packing: Packing, percent: float) -> None:
    assert packing.pairs_above_percent == percent


def test_limits_that_follow_requests_are_never_above_a_node() -> None:
    pods = [Pod(size, size) for size in range(1, 100)]
    packed = pack(pods, NODES, 0, least_memory)
    assert (packed.above_alone, packed.pairs_above) == (0, 0)
    assert packed.pairs > 0


def test_the_nodes_are_those_that_scaleodms_pool_admits() -> None:
    pool = sizing.node_pool()
    families = "c6id c8id m6id m6idn m8id m8idb m8idn r6id r6idn r8id r8idb r8idn"
    assert pool.families == tuple(families.split())
    assert {kind.vcpu for kind in pool.types} == {4, 8, 16, 32, 48, 64, 96}
    assert [kind.name for kind in pool.types if "metal" in kind.name] == []
