"""Boot text against spec.kubelet, and the weak points of text that sets up swap."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pulumi_policy.proxy import UNKNOWN_STRING_VALUE as UNKNOWN

from nodeconfig import BootSettings, user_data

NODE_CLASS = "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass"
FORM, AGREE = "user-data-is-well-formed", "user-data-and-kubelet-agree"
IN_SIGHT = "swap-node-reserves-memory-in-sight-of-karpenter"
CLOSED, ENDS = "swap-fails-closed", "failed-swap-ends-the-node-in-protected-stacks"
DISK, DAEMONS, RESERVE = "swap-is-taken-off-allocatable-disk", "daemons-stay-in-memory", "kernel-reserve-follows-memory"
ALL = (FORM, AGREE, IN_SIGHT, CLOSED, ENDS, DISK, DAEMONS, RESERVE)

BOOT = user_data(BootSettings(swap_ratio=2, system_reserved={"memory": "256Mi"}))
NO_SWAP = user_data(BootSettings(swap_ratio=0))
KUBELET: dict[str, Any] = {"evictionHard": {"memory.available": "256Mi"}, "systemReserved": {"memory": "256Mi"}}


def node_class(boots: Any = BOOT, kubelet: Any = KUBELET, **spec: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": "swap"},
        "spec": {
            "amiFamily": "AL2023",
            "instanceStorePolicy": "RAID0",
            "kubelet": kubelet,
            "userData": boots,
            "role": UNKNOWN,
            "tags": {"computed": UNKNOWN},
            **spec,
        },
    }


@pytest.mark.parametrize("rule", ALL)
@pytest.mark.parametrize("stack", ["dev", "prod"])
def test_what_nodeconfig_renders_passes_with_or_without_swap(rules: Any, rule: str, stack: str) -> None:
    assert rules.on(rule, NODE_CLASS, node_class(), stack=stack) == []
    assert rules.on(rule, NODE_CLASS, node_class(NO_SWAP), stack=stack) == []
    assert rules.on(rule, NODE_CLASS, node_class(None), stack=stack) == []


@pytest.mark.parametrize("rule", ALL)
def test_an_unknown_user_data_is_told(rules: Any, rule: str) -> None:
    assert rules.on(rule, NODE_CLASS, node_class(UNKNOWN), stack="prod") == [rules.UNKNOWN]


def without(*lines: str) -> str:
    """The good boot text without the lines that contain one of these words."""
    return "\n".join(line for line in BOOT.split("\n") if not any(word in line for word in lines))


def swapped(old: str, new: str) -> str:
    assert old in BOOT
    return BOOT.replace(old, new)


@pytest.mark.parametrize(
    ("rule", "props", "word"),
    [
        (FORM, node_class("\n" + BOOT), "blank before the header"),
        (FORM, node_class(swapped("vm.swappiness=10", "vm.swappiness=10 vm.overcommit_memory=0")), "kernel setting"),
        (FORM, node_class("# comment\n" + BOOT), "stands before the MIME header"),
        (FORM, node_class(BOOT + "x" * 14000), "bytes are more than"),
        (AGREE, node_class(without("failSwapOn")), "failSwapOn"),
        (AGREE, node_class(swapped("failSwapOn: false", "failSwapOn: true")), "failSwapOn"),
        (AGREE, node_class(swapped("LimitedSwap", "NoSwap")), "swapBehavior"),
        (AGREE, node_class(without("memorySwap", "swapBehavior")), "swapBehavior"),
        (AGREE, node_class(BOOT.replace("swapon", "true")), "no shell part switches swap on"),
        (AGREE, node_class(swapped("failSwapOn: false", "failSwapOn: false\n      maxPods: 10")), "maxPods"),
        (AGREE, node_class(swapped("failSwapOn: false", "failSwapOn: false\n      evictionHard: {a: b}")), "hidden"),
        (AGREE, node_class(instanceStorePolicy=None), "spec.instanceStorePolicy: is not RAID0"),
        (AGREE, node_class(kubelet={**KUBELET, "failSwapOn": False}), "spec.kubelet.failSwapOn: is dropped"),
        (AGREE, node_class(kubelet={**KUBELET, "memorySwap": UNKNOWN}), "spec.kubelet.memorySwap: is dropped"),
        (
            AGREE,
            node_class(kubelet={**KUBELET, "systemReserved": {"memory": "512Mi"}}),
            "systemReserved.memory: '256Mi' in spec.userData, '512Mi' in spec.kubelet",
        ),
        (AGREE, node_class(kubelet={"evictionHard": {}}), "systemReserved.memory: '256Mi' in spec.userData, None"),
        (
            AGREE,
            node_class(kubelet={"systemReserved": {"memory": "256Mi", "cpu": "1"}}),
            "systemReserved.cpu: None in spec.userData, '1' in spec.kubelet",
        ),
        (
            AGREE,
            node_class(swapped("      systemReserved:\n", "      kubeReserved: {cpu: 1}\n      systemReserved:\n")),
            "kubeReserved in a drop-in is hidden",
        ),
        (IN_SIGHT, node_class(kubelet=None), "spec.kubelet.evictionHard: has no memory.available"),
        (IN_SIGHT, node_class(kubelet={"systemReserved": {"memory": "1Gi"}}), "evictionHard: has no memory.available"),
        (IN_SIGHT, node_class(kubelet={"evictionHard": {"memory.available": "1Gi"}}), "systemReserved: has no memory"),
        (CLOSED, node_class(without("Requires=")), "does not require a unit"),
        (CLOSED, node_class(without("TimeoutStartSec")), "TimeoutStartSec"),
        (ENDS, node_class(without("FailureAction")), "FailureAction"),
        (DISK, node_class(without("ephemeral-storage")), "ephemeral-storage"),
        (DAEMONS, node_class(without("MemorySwapMax")), "system.slice"),
        (DAEMONS, node_class(BOOT.replace("IODeviceLatencyTargetSec", "X")), "no IO protection"),
        (RESERVE, node_class(swapped('vm.min_free_kbytes="$min_free"', "vm.min_free_kbytes=524288")), "min_free"),
        (RESERVE, node_class(swapped('watermark_scale_factor="$scale"', "watermark_scale_factor=200")), "watermark"),
    ],
)
def test_each_half_can_be_wrong_alone(rules: Any, rule: str, props: dict[str, Any], word: str) -> None:
    messages = rules.on(rule, NODE_CLASS, props, stack="prod")
    assert any(word in message for message in messages), messages
    assert rules.UNKNOWN not in messages


def test_equal_reserves_may_be_written_differently(rules: Any) -> None:
    assert rules.on(AGREE, NODE_CLASS, node_class(kubelet={"systemReserved": {"memory": str(256 * 2**20)}})) == []
    assert rules.on(AGREE, NODE_CLASS, node_class(kubelet={"systemReserved": {"memory": 256 * 2**20}})) == []


def test_a_debugging_pool_may_keep_failed_nodes_outside_protected_stacks(rules: Any) -> None:
    props = node_class(without("FailureAction"))
    assert rules.on(CLOSED, NODE_CLASS, props, stack="prod") == []
    assert rules.on(ENDS, NODE_CLASS, props, stack="dev") == []
    assert rules.on(ENDS, NODE_CLASS, props, stack="dev", config={"protectedStacks": ["dev"]}) != []


def test_a_fixed_reserve_in_spec_kubelet_also_takes_swap_off_the_disk(rules: Any) -> None:
    kubelet = {**KUBELET, "systemReserved": {"memory": "256Mi", "ephemeral-storage": "200Gi"}}
    assert rules.on(DISK, NODE_CLASS, node_class(without("ephemeral-storage"), kubelet)) == []


def test_an_unknown_reserve_is_told_after_the_known_ones(rules: Any) -> None:
    kubelet = {"systemReserved": {"memory": UNKNOWN, "cpu": "1"}}
    message, last = rules.on(AGREE, NODE_CLASS, node_class(kubelet=kubelet))
    assert "systemReserved.cpu: None in spec.userData" in message and last == rules.UNKNOWN


def test_bottlerocket_drops_its_swap_setting_and_has_no_boot_text_to_judge(rules: Any) -> None:
    toml = '[settings.kubernetes]\nmemory-swap-behavior = "LimitedSwap"\n'
    (message,) = rules.on(AGREE, NODE_CLASS, node_class(toml, amiFamily="Bottlerocket"))
    assert "memory-swap-behavior is dropped" in message
    by_alias = node_class(toml, amiFamily=None, amiSelectorTerms=[{"alias": "bottlerocket@v1.50.0"}])
    assert rules.on(AGREE, NODE_CLASS, by_alias) == [message]
    assert [rules.on(rule, NODE_CLASS, by_alias, stack="prod") for rule in ALL if rule != AGREE] == [[]] * 7


@pytest.mark.parametrize(
    "edit",
    [
        lambda text: text.replace("failSwapOn: false", "since: 2026-99-99"),
        lambda text: text.replace("failSwapOn: false", "a: &a [*a]"),
        lambda text: "2026-99-99",
        lambda text: "[" * 400,
        lambda text: "0o: !!int x",
    ],
    ids=["a date that is none", "an alias within itself", "a bare date", "nesting without end", "a bad tag"],
)
def test_text_that_no_parser_takes_is_a_finding_and_no_crash(rules: Any, edit: Callable[[str], str]) -> None:
    for rule in ALL:
        messages = rules.on(rule, NODE_CLASS, node_class(edit(BOOT)), stack="prod")
        assert rules.UNKNOWN not in messages
    assert rules.on(FORM, NODE_CLASS, node_class(edit(BOOT))) + rules.on(AGREE, NODE_CLASS, node_class(edit(BOOT)))
