from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from floodplain import catalogue
from floodplain.pools import PoolDocument, PoolLimits
from preview import show
from preview.pools import ceiling, kubelet_of, pool_documents
from preview.recording import Recorded

CHECKOUT = Path(__file__).parent.parent.parent
CAPACITY = {kind.name: catalogue.allocatable(kind).capacity_memory_bytes for kind in catalogue.load()}


@pytest.fixture(scope="module")
def document() -> PoolDocument:
    return pool_documents(show.rendered("prod", CHECKOUT).resources)[0]


def limited(document: PoolDocument, cpu: int, memory_gib: int, nodes: int | None = None) -> PoolDocument:
    limits = PoolLimits(cpu_millicores=cpu * 1000, memory_bytes=memory_gib << 30, nodes=nodes)
    return document.model_copy(update={"limits": limits})


@settings(max_examples=25)
@given(cpu=st.integers(1, 4000), memory_gib=st.integers(1, 20_000), nodes=st.none() | st.integers(1, 50))
def test_a_ceiling_is_the_most_whole_nodes_that_karpenter_would_count_within_the_limits(
    document: PoolDocument, cpu: int, memory_gib: int, nodes: int | None
) -> None:
    pool = limited(document, cpu, memory_gib, nodes)
    for kind in pool.types:
        count = ceiling(pool, kind)
        memory = CAPACITY[kind.name]

        def fits(number: int, vcpu: int = kind.vcpu, each: int = memory) -> bool:
            return number * vcpu <= cpu and number * each <= memory_gib << 30 and (nodes is None or number <= nodes)

        assert fits(count) and not fits(count + 1)
    assert ceiling(pool) == max(ceiling(pool, kind) for kind in pool.types)


def test_documents_are_found_as_text_and_as_mapping_and_unknown_ones_are_passed_over(document: PoolDocument) -> None:
    def component(name: str, output: Any) -> Recorded:
        return Recorded(
            f"urn:pulumi:s::p::x:y:Z::{name}", "x:y:Z", name, custom=False, outputs={"poolDocument": output}
        )

    plain = document.model_dump(mode="json", by_alias=True, exclude_none=True)
    other = {**plain, "name": "another"}
    found = pool_documents([component("a", plain), component("b", "<computed>"), component("c", other)])
    assert [one.name for one in found] == ["another", document.name]


def test_kubelet_settings_are_read_from_every_node_config_part_of_a_boot_text() -> None:
    part = "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  kubelet:\n    config:\n      {}\n"
    text = (
        'MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="b"\n\n'
        f"--b\nContent-Type: application/node.eks.aws\n\n{part.format('failSwapOn: false')}\n"
        "--b\nContent-Type: text/x-shellscript\n\n#!/bin/sh\n\n"
        f"--b\nContent-Type: application/node.eks.aws\n\n{part.format('maxPods: 20')}\n--b--\n"
    )
    assert kubelet_of(text) == {"failSwapOn": False, "maxPods": 20}
    assert kubelet_of("") == {}
