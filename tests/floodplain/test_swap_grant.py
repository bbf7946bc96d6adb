"""Kubelet's LimitedSwap grant, bit for bit, and who gets none."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from floodplain.swap import (
    PAGE_BYTES,
    SYSTEM_CLUSTER_CRITICAL,
    NoSwap,
    Qos,
    SwapContainer,
    SwapNode,
    container_grant_bytes,
    grant_bytes,
    limited_swap_bytes,
    no_swap_reason,
    page_ceil,
    page_floor,
)

MIB, GIB = 1 << 20, 1 << 30
NODE = SwapNode(mem_total_bytes=64 * GIB, swap_total_bytes=128 * GIB)
CONTAINER = SwapContainer(request_bytes=8 * GIB - MIB, limit_bytes=8 * GIB)


@pytest.mark.parametrize(
    ("request_bytes", "mem_total", "swap_total", "exact", "pages"),
    [
        (GIB, 8 * GIB, 16 * GIB, 2147483648, 2147483648),
        (300 * GIB, 372 * GIB, 743 * GIB, 643379173574, 643379171328),
        (24266565222, 62 * GIB, 127 * GIB, 49707319083, 49707315200),
        (704 * GIB, 745 * GIB, 1490 * GIB, 1511828488192, 1511828488192),
        (GIB, 8 * GIB, 0, 0, 0),
        (0, 8 * GIB, 16 * GIB, 0, 0),
        (GIB, 0, 16 * GIB, 0, 0),
        (8 * GIB, 8 * GIB, 16 * GIB, 16 * GIB, 16 * GIB),
        (8 * GIB + 1, 8 * GIB, 16 * GIB, 0, 0),
        # (1 / 49) x 49 is a hair below 1 in doubles: a byte is lost, and with it a page.
        (4096, 49 * 4096, 49 * 4096 * 2, 8191, 4096),
    ],
)
def test_the_grant_is_kubelets_double_cut_to_a_byte_and_then_to_a_page(
    request_bytes: int, mem_total: int, swap_total: int, exact: int, pages: int
) -> None:
    assert limited_swap_bytes(request_bytes, mem_total, swap_total) == exact
    assert grant_bytes(request_bytes, mem_total, swap_total) == pages


@pytest.mark.parametrize(("count", "floor", "ceil"), [(0, 0, 0), (1, 0, 4096), (4096, 4096, 4096), (4097, 4096, 8192)])
def test_pages_are_4_kib(count: int, floor: int, ceil: int) -> None:
    assert (page_floor(count), page_ceil(count)) == (floor, ceil)


memory = st.integers(min_value=1, max_value=24 << 30).map(lambda pages: pages * PAGE_BYTES)


@given(memory, memory, st.lists(st.integers(min_value=1, max_value=1 << 44), min_size=1, max_size=20))
def test_grants_of_pods_that_fit_a_node_never_exceed_its_swap(mem: int, swap: int, requests: list[int]) -> None:
    scale = sum(requests)
    fitting = [request * mem // scale for request in requests]
    assert sum(fitting) <= mem
    assert sum(grant_bytes(request, mem, swap) for request in fitting) <= swap
    assert all(0 <= grant_bytes(request, mem, swap) <= swap for request in requests)


@pytest.mark.parametrize(
    ("container", "node", "reason"),
    [
        (CONTAINER, NODE, None),
        (replace(CONTAINER, limit_bytes=None), NODE, None),
        (CONTAINER, replace(NODE, limited_swap=False), NoSwap.BEHAVIOUR),
        (CONTAINER, replace(NODE, cgroup_v2=False), NoSwap.CGROUP_V1),
        (CONTAINER, replace(NODE, swap_controller=False), NoSwap.NO_CONTROLLER),
        (replace(CONTAINER, static_pod=True), NODE, NoSwap.CRITICAL),
        (replace(CONTAINER, priority=SYSTEM_CLUSTER_CRITICAL), NODE, NoSwap.CRITICAL),
        (replace(CONTAINER, priority=SYSTEM_CLUSTER_CRITICAL - 1), NODE, None),
        (replace(CONTAINER, qos=Qos.GUARANTEED), NODE, NoSwap.QOS),
        (replace(CONTAINER, qos=Qos.BEST_EFFORT), NODE, NoSwap.QOS),
        (SwapContainer(None, None), NODE, NoSwap.NO_REQUEST),
        (SwapContainer(0, 8 * GIB), NODE, NoSwap.NO_REQUEST),
        (SwapContainer(8 * GIB, 8 * GIB), NODE, NoSwap.REQUEST_IS_LIMIT),
        (SwapContainer(None, 8 * GIB), NODE, NoSwap.REQUEST_IS_LIMIT),
        (CONTAINER, replace(NODE, swap_total_bytes=0), NoSwap.NODE_HAS_NO_SWAP),
        (SwapContainer(65 * GIB, 66 * GIB), NODE, NoSwap.REQUEST_ABOVE_NODE),
    ],
)
def test_who_gets_no_swap_and_why(container: SwapContainer, node: SwapNode, reason: NoSwap | None) -> None:
    assert no_swap_reason(container, node) is reason
    assert (container_grant_bytes(container, node) == 0) is (reason is not None)


def test_a_container_of_ours_gets_k_times_its_request() -> None:
    assert container_grant_bytes(CONTAINER, NODE) == 2 * (8 * GIB - MIB)


def test_every_reason_is_a_sentence_of_its_own() -> None:
    sentences = [reason.value for reason in NoSwap]
    assert len(set(sentences)) == len(sentences)
    assert all(sentence.startswith("the ") for sentence in sentences)
