"""Whatever pool passes its checks keeps its promises on every type that it may launch."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from components import crd
from components.cluster import ClusterVersions
from components.pool_document import pool_document
from components.pool_objects import node_class, node_pool
from components.pool_types import Architecture, by_family
from components.swap_pool import SwapPool, room_problems
from floodplain import quantity, swap
from nodeconfig import problems_of_user_data

CLUSTER = ClusterVersions(name="prod", kubernetes_version="1.34")

POOLS = st.fixed_dictionaries(
    {
        "name": st.just("any"),
        "families": st.lists(st.sampled_from(sorted(by_family())), min_size=1, max_size=3, unique=True),
        "limits": st.just({"cpu": "100k", "memory": "100Ti"}),
        "ami": st.just({"alias": "al2023@v20260714"}),
        "architecture": st.sampled_from([one.value for one in Architecture]),
        "vcpus": st.lists(st.sampled_from([2, 4, 8, 16, 32, 48, 64, 96]), max_size=4, unique=True),
        "swap": st.fixed_dictionaries({"ratio": st.floats(0.1, 8).map(lambda ratio: round(ratio, 2))}),
        "disk": st.fixed_dictionaries(
            {"perMemory": st.floats(0.1, 4), "images": st.integers(1, 100).map("{}Gi".format)}
        ),
        "headroom": st.integers(0, 2048).map("{}Mi".format),
        "overhead": st.integers(1, 64).map("{}Mi".format),
        "kubelet": st.fixed_dictionaries(
            {
                "systemReserved": st.fixed_dictionaries({"memory": st.integers(0, 1024).map("{}Mi".format)}),
                "imageGcHighThresholdPercent": st.integers(85, 100),
            }
        ),
    }
)


def accepted(values: dict[str, Any]) -> SwapPool:
    try:
        pool = SwapPool.model_validate(values)
    except ValidationError:
        assume(False)
        raise
    assume(not list(room_problems(pool, CLUSTER.vm_memory_overhead_percent)))
    return pool


@settings(max_examples=60, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
@given(POOLS)
def test_a_pool_that_is_accepted_fits_the_disk_and_leaves_room_on_every_type(values: dict[str, Any]) -> None:
    pool = accepted(values)
    document = pool_document(pool, CLUSTER)
    for kind in document.types:
        most_of_pods = pool.disk.per_memory * kind.allocatable_memory_bytes
        used = swap.swap_file_bytes(kind.memory_bytes, pool.swap.ratio) + most_of_pods
        used += quantity.to_bytes(pool.disk.images)
        assert used * 100 <= 85 * kind.nvme_bytes
        assert kind.allocatable_memory_bytes > document.headroom_bytes + document.overhead_bytes


@settings(max_examples=25, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
@given(POOLS)
def test_a_pool_that_is_accepted_becomes_objects_without_a_fault(values: dict[str, Any]) -> None:
    pool = accepted(values)
    made = node_class(pool, CLUSTER, "nodes")
    assert [*crd.violations(node_pool(pool)), *crd.violations(made)] == []
    assert problems_of_user_data(made["spec"]["userData"]) == []
    assert len(made["spec"]["userData"]) <= 12 * 1024
