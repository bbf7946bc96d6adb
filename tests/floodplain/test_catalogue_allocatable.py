"""Karpenter's capacity and allocatable, against what Karpenter publishes for every type of the catalogue."""

from __future__ import annotations

from pathlib import Path

import pytest

from floodplain.catalogue import Allocatable, InstanceType, KubeletReserves, allocatable, eviction_percent, load
from floodplain.catalogue.table import COLUMNS
from floodplain.problem import RuleError
from floodplain.quantity import MIB, from_millicores

ORACLE = Path(__file__).parent / "data" / "karpenter-allocatable.tsv"
TYPES = {kind.name: kind for kind in load()}


def published() -> dict[str, tuple[int, int, str]]:
    rows = [line.split("\t") for line in ORACLE.read_text().splitlines() if not line.startswith("#")]
    assert rows[0] == ["name", "allocatable_memory_mib", "capacity_memory_mib", "allocatable_cpu"]
    return {name: (int(memory), int(capacity), cpu) for name, memory, capacity, cpu in rows[1:]}


def test_memory_capacity_and_cpu_equal_karpenters_for_every_type() -> None:
    computed = {}
    for name, kind in TYPES.items():
        node = allocatable(kind)
        assert node.memory_bytes % MIB == node.capacity_memory_bytes % MIB == 0
        cpu = from_millicores(node.cpu_millicores)
        computed[name] = (node.memory_bytes // MIB, node.capacity_memory_bytes // MIB, cpu)
    assert computed == published()
    assert len(computed) == 526


def test_the_package_data_holds_no_allocatable_and_no_capacity_figure() -> None:
    assert not [column for column in COLUMNS if column.startswith(("allocatable", "capacity", "nvme_to_ram"))]


def test_defaults_of_one_type_in_full() -> None:
    nvme = 5_700_000_000_000
    assert allocatable(TYPES["r6id.24xlarge"]) == Allocatable(
        memory_bytes=718987 * MIB,
        capacity_memory_bytes=727449 * MIB,
        cpu_millicores=95690,
        pods=737,
        ephemeral_bytes=nvme - (1 << 30) - nvme // 10,
        ephemeral_capacity_bytes=nvme,
    )


@pytest.mark.parametrize(
    ("reserves", "memory_mib", "cpu_millicores", "pods"),
    [
        (KubeletReserves(), 59627, 7910, 58),
        (KubeletReserves(kube_reserved={"memory": "1Gi"}), 60620 - 1024 - 100, 7910, 58),
        (KubeletReserves(kube_reserved={"cpu": "200m"}), 59627, 7800, 58),
        (KubeletReserves(system_reserved={"memory": "512Mi", "cpu": "0.5"}), 59627 - 512, 7410, 58),
        (KubeletReserves(eviction_hard={"memory.available": "500Mi"}), 59627 - 400, 7910, 58),
        (KubeletReserves(eviction_hard={"memory.available": "5%"}), 59627 + 100 - 3031, 7910, 58),
        (KubeletReserves(eviction_hard={"memory.available": "100%"}), 59627 + 100, 7910, 58),
        # The memory reserve follows the ENI limit, whatever maxPods says.
        (KubeletReserves(max_pods=20), 59627, 7910, 20),
        (KubeletReserves(max_pods=110), 59627, 7910, 110),
        (KubeletReserves(pods_per_core=2), 59627, 7910, 16),
        (KubeletReserves(pods_per_core=20), 59627, 7910, 58),
        (KubeletReserves(max_pods=10, pods_per_core=2), 59627, 7910, 10),
        (KubeletReserves(vm_memory_overhead_percent=0.05), 65536 - 3277 - 993, 7910, 58),
        (KubeletReserves(vm_memory_overhead_percent=0), 65536 - 993, 7910, 58),
        (KubeletReserves(kube_reserved={"memory": "100Gi"}), 0, 7910, 58),
    ],
)
def test_reserves_take_from_an_r6id_2xlarge(
    reserves: KubeletReserves, memory_mib: int, cpu_millicores: int, pods: int
) -> None:
    node = allocatable(TYPES["r6id.2xlarge"], reserves)
    assert (node.memory_bytes // MIB, node.cpu_millicores, node.pods) == (memory_mib, cpu_millicores, pods)


@pytest.mark.parametrize(
    ("reserves", "capacity", "left"),
    [
        (KubeletReserves(), 474 * 10**9, 474 * 9 * 10**8 - 2**30),
        (KubeletReserves(eviction_hard={"nodefs.available": "15%"}), 474 * 10**9, 474 * 85 * 10**7 - 2**30),
        (KubeletReserves(eviction_hard={"nodefs.available": "10G"}), 474 * 10**9, 464 * 10**9 - 2**30),
        (KubeletReserves(system_reserved={"ephemeral-storage": "100G"}), 474 * 10**9, 3266 * 10**8 - 2**30),
        (KubeletReserves(kube_reserved={"ephemeral-storage": "4G"}), 474 * 10**9, 4226 * 10**8),
        (KubeletReserves(instance_store_raid0=False), 20 << 30, (18 << 30) - 2**30),
        (KubeletReserves(instance_store_raid0=False, root_volume="80Gi"), 80 << 30, (72 << 30) - 2**30),
    ],
)
def test_ephemeral_storage_of_an_r6id_2xlarge(reserves: KubeletReserves, capacity: int, left: int) -> None:
    node = allocatable(TYPES["r6id.2xlarge"], reserves)
    assert (node.ephemeral_capacity_bytes, node.ephemeral_bytes) == (capacity, left)


def test_arm64_loses_64_mib_before_the_overhead() -> None:
    assert allocatable(TYPES["c7gd.medium"]).capacity_memory_bytes == (2048 - 64 - 149) * MIB


@pytest.mark.parametrize(
    ("reserves", "path", "rule"),
    [
        (KubeletReserves(kube_reserved={"memory": "1GB"}), ("kube_reserved", "memory"), "is not a quantity"),
        (KubeletReserves(system_reserved={"cpu": "x"}), ("system_reserved", "cpu"), "is not a quantity"),
        (
            KubeletReserves(eviction_hard={"memory.available": "x%"}),
            ("eviction_hard", "memory.available"),
            "is not a percentage",
        ),
        (
            KubeletReserves(eviction_hard={"nodefs.available": "-1Gi"}),
            ("eviction_hard", "nodefs.available"),
            "is negative",
        ),
        (KubeletReserves(instance_store_raid0=False, root_volume="80GB"), ("root_volume",), "is not a quantity"),
    ],
)
def test_a_reserve_that_is_no_quantity_is_named_by_its_key(
    reserves: KubeletReserves, path: tuple[str, ...], rule: str
) -> None:
    with pytest.raises(RuleError) as caught:
        allocatable(TYPES["r6id.2xlarge"], reserves)
    assert (caught.value.path, caught.value.rule) == (path, rule)


@pytest.mark.parametrize("text", ["5", "x%", "%", "-1%", "101%", "nan%", "inf%", ""])
def test_what_is_no_percentage_is_refused(text: str) -> None:
    with pytest.raises(RuleError, match="is not a percentage"):
        eviction_percent(text)


def test_percentages_may_have_a_fraction() -> None:
    assert eviction_percent("7.5%") == 7.5


def test_a_type_without_instance_store_gets_the_root_volume() -> None:
    kind = TYPES["r6id.2xlarge"]
    bare = InstanceType(**{**kind.__dict__, "nvme_gb": 0})
    assert allocatable(bare).ephemeral_capacity_bytes == 20 << 30
