"""The weak points of the configuration that runs in production today: each breaks the rule that is about it."""

from __future__ import annotations

from typing import Any

import pytest

# Letter of the weak point, what is weak, the rule, and a word of what it says.
WEAK_POINTS = [
    ("a", "a swap start without bound", "swap-fails-closed", "TimeoutStartSec"),
    ("a", "no end of a node whose swap failed", "failed-swap-ends-the-node-in-protected-stacks", "FailureAction"),
    ("b", "four event rules", "interruption-is-complete", "Capacity Reservation"),
    ("b", "an unscoped policy", "iam-writes-are-scoped", "ec2:RunInstances"),
    ("b", "a queue for rules of any account", "iam-services-act-for-somebody-known", "act for any account"),
    ("b", "no ec2:DescribeInstanceStatus", "karpenter-has-its-permissions", "ec2:DescribeInstanceStatus"),
    ("c", "default expiry of 30 days", "node-pool-lets-jobs-finish", "expireAfter"),
    ("c", "no grace", "node-pool-lets-jobs-finish", "terminationGracePeriod"),
    ("c", "no budget for drift", "node-pool-lets-jobs-finish", "Drifted"),
    ("d", "swap stays part of allocatable disk", "swap-is-taken-off-allocatable-disk", "ephemeral-storage"),
    ("e", "daemons may be swapped out", "daemons-stay-in-memory", "MemorySwapMax=0"),
    ("e", "daemons have no IO protection", "daemons-stay-in-memory", "IODeviceLatencyTargetSec"),
    ("g", "one min_free_kbytes for all sizes", "kernel-reserve-follows-memory", "min_free_kbytes"),
    ("g", "one watermark_scale_factor for all sizes", "kernel-reserve-follows-memory", "watermark_scale_factor"),
    ("h", "no list of families", "swap-pool-lists-its-families", "instance-family"),
    ("h", "no look-up whether the swap fits", "swap-pool-families-hold-the-swap", "2 x memory"),
    ("j", "no eviction threshold in sight of Karpenter", "swap-node-reserves-memory-in-sight-of-karpenter", "eviction"),
    ("j", "no reserve in sight of Karpenter", "swap-node-reserves-memory-in-sight-of-karpenter", "systemReserved"),
]


@pytest.mark.parametrize(
    ("rule", "word"),
    [(rule, word) for *_, rule, word in WEAK_POINTS],
    ids=[f"weak point ({letter}): {what}" for letter, what, *_ in WEAK_POINTS],
)
def test_the_rule_about_it_finds(rules: Any, hotosm_shape: Any, rule: str, word: str) -> None:
    messages = rules.broken_by(hotosm_shape)[rule]
    assert any(word in message for message in messages), messages


def test_no_other_rule_is_broken_and_nothing_stays_unseen(rules: Any, hotosm_shape: Any) -> None:
    broken = rules.broken_by(hotosm_shape)
    assert set(broken) == {rule for *_, rule, _ in WEAK_POINTS}
    assert not any(rules.UNKNOWN in messages for messages in broken.values())


def test_the_interruption_rule_names_exactly_the_missing_event(rules: Any, hotosm_shape: Any) -> None:
    assert rules.on_stack("interruption-is-complete", hotosm_shape) == [
        (
            "no event rule passes on 'EC2 Capacity Reservation Instance Interruption Warning' (aws.ec2) to the queue; "
            "add one",
            None,
        )
    ]
