"""Every pool of every stack, against every instance type that it would let Karpenter launch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from components import crd
from components.cluster import ClusterVersions
from components.pool_document import pool_document
from components.pool_objects import node_class, node_pool
from components.pool_types import admitted, reserves
from components.swap_pool import SwapPool
from floodplain import catalogue, quantity, swap
from floodplain.catalogue import Requirement
from floodplain.kubelet_keys import KARPENTERS_KEYS
from nodeconfig import problems_of_user_data
from stacks.config import StackConfig, parse

ROOT = Path(__file__).parents[2]
DISK_SHARE_PERCENT = 85


def config(stack: str) -> StackConfig:
    keys = yaml.safe_load((ROOT / "stacks" / f"Pulumi.{stack}.yaml").read_text())["config"]
    values = {key.removeprefix("floodplain:"): value for key, value in keys.items() if key.startswith("floodplain:")}
    return parse(stack, values)


STACKS = {stack: config(stack) for stack in ("dev", "staging", "prod", "hotosm", "testbed")}
POOLS = [
    pytest.param(pool, stack.cluster_versions, id=f"{name}-{pool.name}")
    for name, stack in STACKS.items()
    for pool in stack.pools
]


def launchable(pool: SwapPool) -> tuple[catalogue.InstanceType, ...]:
    """What the rendered requirements admit, by Karpenter's label semantics."""
    wanted = node_pool(pool)["spec"]["template"]["spec"]["requirements"]
    return catalogue.select(
        catalogue.load(), [Requirement(one["key"], one["operator"], tuple(one["values"])) for one in wanted]
    )


@pytest.mark.parametrize(("pool", "cluster"), POOLS)
def test_the_rendered_requirements_admit_exactly_the_types_that_were_checked(
    pool: SwapPool, cluster: ClusterVersions
) -> None:
    assert {kind.name for kind in launchable(pool)} == {
        kind.name for kind in admitted(pool.families, pool.architecture, pool.vcpus)
    }


@pytest.mark.parametrize(("pool", "cluster"), POOLS)
def test_swap_file_ephemeral_storage_and_images_fit_the_disk_of_every_type(
    pool: SwapPool, cluster: ClusterVersions
) -> None:
    for kind in launchable(pool):
        offered = catalogue.allocatable(kind, reserves(pool.kubelet, cluster.vm_memory_overhead_percent))
        used = (
            swap.swap_file_bytes(kind.memory_bytes, pool.swap.ratio)
            + pool.disk.per_memory * offered.memory_bytes
            + quantity.to_bytes(pool.disk.images)
        )
        assert used * 100 <= DISK_SHARE_PERCENT * kind.nvme_bytes, kind.name


@pytest.mark.parametrize(("pool", "cluster"), POOLS)
def test_the_objects_pass_every_rule_of_karpenters_definitions(pool: SwapPool, cluster: ClusterVersions) -> None:
    assert [*crd.violations(node_pool(pool)), *crd.violations(node_class(pool, cluster, "nodes"))] == []


@pytest.mark.parametrize(("pool", "cluster"), POOLS)
def test_the_boot_text_has_no_fault_and_at_most_12_kib(pool: SwapPool, cluster: ClusterVersions) -> None:
    text: str = node_class(pool, cluster, "nodes")["spec"]["userData"]
    assert problems_of_user_data(text) == []
    assert len(text.encode()) <= 12 * 1024


@pytest.mark.parametrize(("pool", "cluster"), POOLS)
def test_spec_kubelet_has_only_the_keys_that_karpenter_keeps(pool: SwapPool, cluster: ClusterVersions) -> None:
    kubelet: dict[str, Any] = node_class(pool, cluster, "nodes")["spec"]["kubelet"]
    assert kubelet.keys() <= set(KARPENTERS_KEYS)


@pytest.mark.parametrize(("pool", "cluster"), POOLS)
def test_the_largest_job_of_each_type_fits_it_and_completes(pool: SwapPool, cluster: ClusterVersions) -> None:
    """Request below limit, limit within what is left, and limit and swap together hold the peak with its margin."""
    document = pool_document(pool, cluster)
    for kind in document.types:
        room = kind.allocatable_memory_bytes - document.headroom_bytes - document.overhead_bytes
        # The peak whose limit just fits, by the limit formula without its rounding.
        by_swap, by_hot_set = (1 + document.swap_ratio) / (1 + document.margin), 1 / document.hot_share
        peak = int(room * min(by_swap, by_hot_set)) - 16 * quantity.MIB
        limit = swap.limit_bytes(peak, ratio=document.swap_ratio, margin=document.margin, hot_share=document.hot_share)
        request = swap.request_bytes(limit)
        memory = kind.memory_bytes * 97 // 100
        node = swap.SwapNode(memory, swap.swap_total_bytes(swap.swap_file_bytes(memory, document.swap_ratio)))
        grant = swap.container_grant_bytes(swap.SwapContainer(request, limit), node)
        assert room - 32 * quantity.MIB <= request < limit
        assert limit - request <= document.overhead_bytes
        assert limit <= kind.allocatable_memory_bytes - document.headroom_bytes
        assert limit + grant >= (1 + document.margin) * peak
