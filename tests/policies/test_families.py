"""Swap pools and what they may launch: listed, with local SSDs, and large enough for k times their memory."""

from __future__ import annotations

from typing import Any

import pytest
from pulumi_policy.proxy import UNKNOWN_STRING_VALUE as UNKNOWN

from floodplain import catalogue
from nodeconfig import BootSettings, user_data
from policies.rules.boot_text import read_boot_text

NODE_POOL = "kubernetes:karpenter.sh/v1:NodePool"
NODE_CLASS = "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass"
FAMILY, TYPE = "karpenter.k8s.aws/instance-family", "node.kubernetes.io/instance-type"
NVME = "karpenter.k8s.aws/instance-local-nvme"
LISTED, FITS = "swap-pool-lists-its-families", "swap-pool-families-hold-the-swap"


def need(key: str, *values: str, operator: str = "In") -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


def pool(*requirements: Any, ratio: str | None = None, ours: bool = True, node_class: str = "swap") -> dict[str, Any]:
    """A NodePool; `ours` puts our label on its nodes, `ratio` the annotation."""
    return {
        "metadata": {"name": "p", "annotations": {"floodplain.dev/swap-ratio": ratio} if ratio else {}},
        "spec": {
            "template": {
                "metadata": {"labels": {"floodplain.dev/pool": "p"} if ours else {}},
                "spec": {"requirements": list(requirements), "nodeClassRef": {"name": node_class}},
            }
        },
    }


@pytest.mark.parametrize(
    ("props", "words"),
    [
        (pool(need(FAMILY, "r6id", "m6id")), []),
        (pool(need(TYPE, "r6id.4xlarge")), []),
        (pool(need(NVME, "100", operator="Gt"), ours=False), ["names no families"]),
        (pool(need(NVME, operator="Exists"), ours=False), ["names no families"]),
        (pool(need(NVME, operator="DoesNotExist"), ours=False), []),
        (pool(need(NVME, "1", operator="Lt"), ours=False), []),
        (pool(ours=False), []),
        (pool(), ["names no families"]),
        (pool(ratio="2", ours=False), ["names no families"]),
        (pool(need(FAMILY, "r6id", operator="NotIn")), ["names no families"]),
        (pool(need(FAMILY, "r7id")), ["'r7id' has no instance storage, or is not in the catalogue; did you mean"]),
        (pool(need(FAMILY, "m6i", "r6id")), ["'m6i' has no instance storage"]),
        (pool(need(TYPE, "zzz")), ["'zzz' has no instance storage, or is not in the catalogue; remove it"]),
    ],
)
def test_a_swap_pool_lists_families_of_the_catalogue(rules: Any, props: Any, words: list[str]) -> None:
    messages = rules.on(LISTED, NODE_POOL, props)
    assert [word in message for message, word in zip(messages, words, strict=True)] == [True] * len(words), messages


@pytest.mark.parametrize(
    ("requirements", "ratio", "words"),
    [
        ([need(FAMILY, "r6id", "m6id")], "2", []),
        ([need(FAMILY, "x2idn", "r6id")], "2", ["family x2idn cannot hold swap of 2 x memory: x2idn.16xlarge lacks"]),
        ([need(FAMILY, "x2idn")], "1", []),
        ([need(FAMILY, "x8aedz")], "2", ["use a ratio of at most 1.9"]),
        ([need(FAMILY, "r6id")], "5.5", []),
        ([need(FAMILY, "r6id")], "6.5", ["family r6id cannot hold swap of 6.5 x memory"]),
        ([need(FAMILY, "d3", "r6id")], "2", ["family d3 has spinning disks"]),
        ([need(TYPE, "d3en.xlarge")], "1", ["family d3en has spinning disks"]),
        ([need(FAMILY, "r6gd"), need("kubernetes.io/arch", "amd64")], "2", ["no instance type meets all requirements"]),
        ([], "2", ["names no instance families"]),
        # A requirement that the catalogue cannot judge narrows nothing and hides nothing.
        ([need(FAMILY, "x2iedn"), need("example.org/anything", "x")], "1", ["family x2iedn cannot hold"]),
        ([need(FAMILY, "x2iedn"), need("karpenter.k8s.aws/instance-nonsense", "x")], "1", ["family x2iedn cannot"]),
    ],
)
def test_every_admitted_type_holds_the_swap(
    rules: Any, given: Any, requirements: Any, ratio: str, words: list[str]
) -> None:
    found = rules.on_stack(FITS, [given(NODE_POOL, pool(*requirements, ratio=ratio), name="p")])
    assert [name for _, name in found] == ["p"] * len(words)
    assert [word in message for (message, _), word in zip(found, words, strict=True)] == [True] * len(words), found


def test_requirements_beside_the_list_narrow_what_is_checked(rules: Any, given: Any) -> None:
    listed = need(FAMILY, "c5d")
    small = need("karpenter.k8s.aws/instance-cpu", "2")
    assert rules.on_stack(FITS, [given(NODE_POOL, pool(listed, ratio="11"))]) != []
    assert rules.on_stack(FITS, [given(NODE_POOL, pool(listed, small, ratio="9"))]) == []


def node_class(name: str, boots: str | None) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"amiFamily": "AL2023", "userData": boots}}


BY_HAND = "#!/bin/bash\nset -e\nmem_kib=1\nswap_kib=$((mem_kib * 3))\nswapon /swap\n"


@pytest.mark.parametrize(
    ("boots", "ratio"),
    [
        (user_data(BootSettings(swap_ratio=2)), 2),
        (user_data(BootSettings(swap_ratio=1.5)), 1.5),
        (BY_HAND, 3),
        ("#!/bin/bash\nbytes=$(($(awk '/MemTotal/ {print $2}' /proc/meminfo) * 1024))\nswapon /x\n", None),
        ("#!/bin/bash\nset -e\n# ram * 4\nswapon /x\n", None),
        ("", None),
    ],
)
def test_the_ratio_is_read_from_boot_text_where_it_shows(boots: str, ratio: float | None) -> None:
    assert read_boot_text(boots).swap_ratio == ratio


@pytest.mark.parametrize(
    ("boots", "annotated", "configured", "ratio"),
    [
        (BY_HAND, "1", None, None),
        (BY_HAND, None, None, "3"),
        ("#!/bin/bash\nswapon /x\n", None, None, None),
        ("#!/bin/bash\nswapon /x\n", None, 4, "4"),
        ("#!/bin/bash\nswapon /x\n", None, "no number", None),
        ("#!/bin/bash\necho no swap\n", None, 4, None),
        (BY_HAND, "nonsense", None, "3"),
        (None, None, 4, None),
    ],
)
def test_the_ratio_comes_from_annotation_then_boot_text_then_configuration(
    rules: Any, given: Any, boots: str | None, annotated: str | None, configured: Any, ratio: str | None
) -> None:
    # Disks of x2gd have 3.27 x the memory: 2 x fits into 85 % of them, 3 x does not.
    stack = [
        given(NODE_POOL, pool(need(FAMILY, "x2gd"), ratio=annotated, ours=False), name="pool"),
        given(NODE_CLASS, node_class("swap", boots), name="class"),
        given(NODE_CLASS, node_class("other", BY_HAND), name="other"),
    ]
    config = None if configured is None else {"swapRatio": configured}
    found = [message for message, _ in rules.on_stack(FITS, stack, config)]
    assert [f"swap of {ratio} x memory" in message for message in found] == ([True] if ratio else [])


def test_an_unknown_user_data_leaves_the_rest_to_be_judged(rules: Any, given: Any) -> None:
    stack = [
        given(NODE_POOL, pool(need(FAMILY, "x2iedn"), ratio="2"), name="pool"),
        given(NODE_CLASS, node_class("swap", UNKNOWN), name="class"),
    ]
    assert ["x2iedn" in message for message, _ in rules.on_stack(FITS, stack)] == [True]


@pytest.mark.parametrize("rule", [LISTED, FITS])
def test_an_unknown_requirement_is_told_after_the_known_families(rules: Any, given: Any, rule: str) -> None:
    props = pool(need(FAMILY, "x2iedn", "m6i"), {"key": FAMILY, "operator": "In", "values": UNKNOWN}, ratio="2")
    messages = (
        [message for message, _ in rules.on_stack(rule, [given(NODE_POOL, props)])]
        if rule == FITS
        else (rules.on(rule, NODE_POOL, props))
    )
    assert messages[-1] == rules.UNKNOWN
    assert any(family in messages[0] for family in ("x2iedn", "m6i"))


def test_one_broken_pool_does_not_hide_another(rules: Any, given: Any) -> None:
    stack = [
        given(NODE_POOL, pool(UNKNOWN, ratio="2"), name="unknown"),
        given(NODE_POOL, pool(need(FAMILY, "d3"), ratio="2"), name="spinning"),
    ]
    assert rules.on_stack(FITS, stack) == [
        ("family d3 has spinning disks, too slow for swap; remove it", "spinning"),
        (rules.UNKNOWN, None),
    ]


def test_the_verdict_over_the_whole_catalogue_is_that_of_arithmetic(rules: Any, given: Any) -> None:
    families = sorted({kind.family for kind in catalogue.load()})
    found = rules.on_stack(FITS, [given(NODE_POOL, pool(need(FAMILY, *families), ratio="2"))])
    refused = {
        kind.family
        for kind in catalogue.load()
        if kind.storage == "hdd" or 2 * kind.memory_bytes + 8192 > 0.85 * kind.nvme_bytes
    }
    assert {message.split()[1] for message, _ in found} == refused
    assert {"d3", "d3en", "x2idn", "x2iedn", "x8aedz", "p3dn"} <= refused
