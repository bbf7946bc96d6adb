"""The pool document: canonical bytes, read back the same, and every problem told with its path."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from floodplain.catalogue import InstanceType, KubeletReserves, load
from floodplain.pools import (
    PoolDocument,
    PoolDocumentError,
    PoolLimits,
    PoolTaint,
    PoolType,
    dump,
    pool_type,
    read,
)

TESTS = Path(__file__).parents[1]
GIB = 1 << 30
TYPES = {kind.name: kind for kind in load()}


def document(name: str = "batch", **changes: Any) -> PoolDocument:
    settings: dict[str, Any] = {
        "name": name,
        "taint": PoolTaint(key="floodplain.dev/pool", value=name),
        "node_selector": {"floodplain.dev/pool": name},
        "architecture": "amd64",
        "capacity_types": ("on-demand", "spot"),
        "families": ("m6id", "r6id"),
        "types": tuple(
            pool_type(TYPES[kind], ratio=changes.get("swap_ratio", 2), images_bytes=30 * GIB)
            for kind in ("m6id.4xlarge", "r6id.2xlarge")
        ),
        "swap_ratio": 2.0,
        "margin": 0.2,
        "hot_share": 0.5,
        "swappiness": 10,
        "limits": PoolLimits(cpu_millicores=288_000, memory_bytes=2304 * GIB),
        "longest_job_seconds": 172_800,
        "runtime_class": f"floodplain-{name}",
        "overhead_bytes": 16 << 20,
        "headroom_bytes": 256 << 20,
        "ephemeral_bytes_per_memory_byte": 1.0,
        **changes,
    }
    return PoolDocument(**settings)


def problems(content: bytes) -> list[str]:
    with pytest.raises(PoolDocumentError) as caught:
        read(content)
    return [str(problem) for problem in caught.value.problems]


def changed(**changes: Any) -> bytes:
    content = json.loads(dump([document()]))
    content["pools"][0].update(changes)
    return json.dumps(content).encode()


def test_a_document_is_written_as_canonical_json(golden: Any) -> None:
    text = dump([document("batch"), document("archive", swap_ratio=0.0)]).decode("ascii")
    golden.check("floodplain/golden/pools.json", text)
    assert list(json.loads(text)) == ["pools"]
    assert [pool["name"] for pool in json.loads(text)["pools"]] == ["archive", "batch"]


def test_order_of_documents_does_not_change_the_bytes() -> None:
    one, two = document("one"), document("two")
    assert dump([one, two]) == dump([two, one])


def test_documents_survive_writing_and_reading() -> None:
    documents = (document("a"), document("b", limits=PoolLimits(cpu_millicores=1, memory_bytes=1, nodes=3)))
    content = dump(documents)
    assert read(content) == documents
    assert dump(read(content)) == content
    assert read(dump([])) == ()


@given(
    ratio=st.floats(min_value=0, max_value=64),
    share=st.floats(min_value=0, max_value=1),
    name=st.text(alphabet="abc-é\u00a0", min_size=1, max_size=10),
    count=st.integers(min_value=1, max_value=2**63),
)
def test_any_document_survives_writing_and_reading(ratio: float, share: float, name: str, count: int) -> None:
    one = document(name, swap_ratio=ratio, hot_share=share, margin=share, longest_job_seconds=count)
    assert read(dump([one])) == (one,)


def test_the_largest_and_smallest_places_are_by_allocatable_memory() -> None:
    mib = 1 << 20
    pool = document()
    assert pool.largest_allocatable_memory_bytes == 59627 * mib
    assert pool.smallest_allocatable_memory_bytes == 57691 * mib
    assert pool.largest_job_memory_bytes == (59627 - 256 - 16) * mib
    assert document(headroom_bytes=100 * GIB).largest_job_memory_bytes == 0


def test_a_type_is_described_with_karpenters_estimate_and_what_the_disk_leaves() -> None:
    kind = TYPES["r6id.2xlarge"]
    reserves = KubeletReserves(max_pods=20, system_reserved={"memory": "1Gi"})
    assert pool_type(kind, ratio=2, images_bytes=30 * GIB, reserves=reserves) == PoolType(
        name="r6id.2xlarge",
        vcpu=8,
        memory_bytes=64 * GIB,
        nvme_bytes=474 * 10**9,
        allocatable_memory_bytes=(59627 - 1024) << 20,
        allocatable_cpu_millicores=7910,
        pods=20,
        swap_bytes_at_most=128 * GIB,
        ephemeral_bytes_for_pods=474 * 85 * 10**7 - 128 * GIB - 4096 - 30 * GIB,
    )


def test_a_type_whose_disk_is_too_small_leaves_pods_nothing() -> None:
    kind: InstanceType = TYPES["x2idn.16xlarge"]
    assert pool_type(kind, ratio=2, images_bytes=0).ephemeral_bytes_for_pods == 0
    assert pool_type(kind, ratio=0, images_bytes=0).swap_bytes_at_most == 0


@pytest.mark.parametrize(
    ("changes", "lines"),
    [
        ({"swapRatio": -1}, ["pools[0].swapRatio: -1 should be greater than or equal to 0"]),
        ({"swapRatio": "2"}, ["pools[0].swapRatio: '2' should be a number; write digits without quotes"]),
        ({"hotShare": 2}, ["pools[0].hotShare: 2 should be less than or equal to 1"]),
        ({"swappines": 1}, ["pools[0].swappines: is not a known key; did you mean `swappiness`?"]),
        ({"types": []}, ["pools[0].types: [] tuple should have at least 1 item after validation, not 0"]),
        (
            {"nodeSelector": {"a": "b", "c": "d"}},
            [
                "pools[0].nodeSelector: {'a': 'b', 'c': 'd'} needs exactly one label; "
                "name the pool's label only, such as floodplain.dev/pool"
            ],
        ),
        (
            {"schemaVersion": 2},
            [
                "pools[0].schemaVersion: 2 is another version; "
                "this release reads 1; write the file with the same release"
            ],
        ),
        (
            {"taint": {"key": "", "effect": "No"}, "architecture": "arm"},
            [
                "pools[0].taint.key: '' string should have at least 1 character",
                "pools[0].taint.effect: 'No' should be 'NoSchedule', 'PreferNoSchedule' or 'NoExecute'",
                "pools[0].architecture: 'arm' should be 'amd64' or 'arm64'; did you mean `arm64`?",
            ],
        ),
    ],
)
def test_what_is_wrong_in_a_document_is_told_with_its_path(changes: dict[str, Any], lines: list[str]) -> None:
    assert problems(changed(**changes)) == lines


def test_types_listed_twice_or_larger_than_themselves_are_told() -> None:
    content = json.loads(dump([document()]))
    kinds = content["pools"][0]["types"]
    kinds[1] = {**kinds[0], "allocatableMemoryBytes": kinds[0]["memoryBytes"] + 1}
    assert problems(json.dumps(content).encode()) == [
        "pools[0].types[1].name: 'm6id.4xlarge' is listed twice; list each instance type once",
        f"pools[0].types[1].allocatableMemoryBytes: {64 * GIB + 1} is more than the memory of the type; "
        f"the type has {64 * GIB} bytes; write the file anew",
    ]


@pytest.mark.parametrize(
    ("content", "start"),
    [
        (b"", "the pool documents: is not JSON"),
        (b"{", "the pool documents: is not JSON"),
        (b"\xff", "the pool documents: is not JSON"),
        (b"[" * 100_000, "the pool documents: is not JSON"),
        (b"[]", "the pool documents: has no list `pools` at the top"),
        (b"{}", "the pool documents: has no list `pools` at the top"),
        (b'{"pools": {}}', "the pool documents: has no list `pools` at the top"),
        (b'{"pools": [3]}', "pools[0]: is not a map of settings"),
    ],
)
def test_what_is_no_pool_document_is_told(content: bytes, start: str) -> None:
    (line,) = problems(content)
    assert line.startswith(start)


def test_problems_of_every_pool_are_told_together() -> None:
    content = json.loads(dump([document("a"), document("a"), document("b")]))
    content["pools"][2]["margin"] = -1
    content["pools"].append(4)
    assert problems(json.dumps(content).encode()) == [
        "pools[2].margin: -1 should be greater than or equal to 0",
        "pools[3]: is not a map of settings; write one map a pool",
        "the pool documents: 'a' names two pools; give each pool its own name",
    ]
