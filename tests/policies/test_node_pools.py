"""Rules about NodePools: bounded, closed, gentle with jobs; and what becomes of them when values are unknown."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from pulumi_policy.proxy import UNKNOWN_NUMBER_VALUE, UNKNOWN_STRING_VALUE

NODE_POOL = "kubernetes:karpenter.sh/v1:NodePool"
UNKNOWN = UNKNOWN_STRING_VALUE
GONE = object()

GOOD: dict[str, Any] = {
    "metadata": {"name": "swap", "annotations": {"floodplain.dev/swap-ratio": "2"}},
    "spec": {
        "template": {
            "metadata": {"labels": {"floodplain.dev/pool": "swap"}},
            "spec": {
                "taints": [{"key": "floodplain.dev/pool", "value": "swap", "effect": "NoSchedule"}],
                "expireAfter": "720h",
                "terminationGracePeriod": "49h",
            },
        },
        "disruption": {"consolidationPolicy": "WhenEmpty", "budgets": [{"nodes": "1", "reasons": ["Drifted"]}]},
        "limits": {"cpu": "288", "memory": "2304Gi"},
    },
}


def edited(*edits: tuple[str, Any]) -> dict[str, Any]:
    """The good pool with some places changed, each written as a dotted path."""
    props = copy.deepcopy(GOOD)
    for path, value in edits:
        *way, last = path.split(".")
        at = props
        for key in way:
            at = at.setdefault(key, {})
        if value is GONE:
            at.pop(last)
        else:
            at[last] = value
    return props


TEMPLATE = "spec.template.spec"
TAINTS, EXPIRY, GRACE = f"{TEMPLATE}.taints", f"{TEMPLATE}.expireAfter", f"{TEMPLATE}.terminationGracePeriod"
BUDGETS, POLICY = "spec.disruption.budgets", "spec.disruption.consolidationPolicy"
SHUT = {"key": "a", "effect": "NoExecute"}


@pytest.mark.parametrize("rule", ["node-pool-has-limits", "node-pool-has-a-taint", "node-pool-lets-jobs-finish"])
def test_a_good_pool_passes(rules: Any, rule: str) -> None:
    assert rules.on(rule, NODE_POOL, GOOD) == []
    assert rules.on(rule, "kubernetes:karpenter.sh/v1beta1:NodePool", GOOD) == []


@pytest.mark.parametrize("rule", ["node-pool-has-limits", "node-pool-has-a-taint", "node-pool-lets-jobs-finish"])
def test_other_resources_are_not_its_business(rules: Any, rule: str) -> None:
    assert rules.on(rule, "kubernetes:core/v1:ConfigMap", {"spec": UNKNOWN}) == []


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (("spec.limits", GONE), ["spec.limits.cpu: is missing", "spec.limits.memory: is missing"]),
        (("spec.limits", {}), ["spec.limits.cpu: is missing", "spec.limits.memory: is missing"]),
        (("spec.limits", {"nodes": "4"}), ["spec.limits.cpu: is missing", "spec.limits.memory: is missing"]),
        (("spec.limits.memory", GONE), ["spec.limits.memory: is missing"]),
        (("spec.limits.memory", "10GB"), ["spec.limits.memory: '10GB' is not a quantity above zero"]),
        (("spec.limits.cpu", "0"), ["spec.limits.cpu: '0' is not a quantity above zero"]),
        (("spec.limits.cpu", True), ["spec.limits.cpu: True is not a quantity above zero"]),
        (("spec.limits.cpu", 288), []),
        (("spec.replicas", 3), ["spec.limits.nodes: is missing"]),
    ],
)
def test_limits(rules: Any, edit: tuple[str, Any], words: list[str]) -> None:
    messages = rules.on("node-pool-has-limits", NODE_POOL, edited(edit))
    assert [message.startswith(word) for message, word in zip(messages, words, strict=True)] == [True] * len(words)


def test_a_static_pool_needs_a_limit_of_nodes_only(rules: Any) -> None:
    static = edited(("spec.replicas", 3), ("spec.limits", {"nodes": "3"}))
    assert rules.on("node-pool-has-limits", NODE_POOL, static) == []


@pytest.mark.parametrize(
    ("taints", "passes"),
    [
        (GONE, False),
        ([], False),
        ([{"key": "a", "effect": "PreferNoSchedule"}], False),
        ([{"key": "", "effect": "NoSchedule"}], False),
        ([SHUT], True),
        ([{"key": "b", "effect": "PreferNoSchedule"}, SHUT], True),
    ],
)
def test_taint(rules: Any, taints: Any, passes: bool) -> None:
    messages = rules.on("node-pool-has-a-taint", NODE_POOL, edited((TAINTS, taints)))
    assert (messages == []) is passes


def test_a_startup_taint_does_not_close_a_pool(rules: Any) -> None:
    props = edited((TAINTS, GONE), (f"{TEMPLATE}.startupTaints", [SHUT]))
    assert len(rules.on("node-pool-has-a-taint", NODE_POOL, props)) == 1


@pytest.mark.parametrize(
    ("edits", "word"),
    [
        ([(EXPIRY, GONE)], "expireAfter: is missing"),
        ([(EXPIRY, "30d")], "expireAfter: '30d' is no duration"),
        ([(EXPIRY, "Never"), (f"{TEMPLATE}.startupTaints", [SHUT])], "expireAfter: is Never, but a startup taint"),
        ([(GRACE, GONE)], "terminationGracePeriod: is missing"),
        ([(GRACE, "Never")], "terminationGracePeriod: 'Never' is no duration"),
        ([(BUDGETS, GONE)], "budgets: has none for Drifted"),
        ([(BUDGETS, [{"nodes": "1", "reasons": ["Empty"]}])], "budgets: has none for Drifted"),
        ([(BUDGETS, [{"nodes": "100%"}])], "budgets: has none for Drifted"),
        ([(POLICY, GONE)], "consolidationPolicy: is None"),
        ([(POLICY, "WhenEmptyOrUnderutilized")], "consolidationPolicy: is 'WhenEmptyOrUnderutilized'"),
    ],
)
def test_jobs_are_not_cut_off(rules: Any, edits: list[tuple[str, Any]], word: str) -> None:
    (message,) = rules.on("node-pool-lets-jobs-finish", NODE_POOL, edited(*edits))
    assert word in message


@pytest.mark.parametrize(
    "edits",
    [
        [(EXPIRY, "Never")],
        [(BUDGETS, [{"nodes": "10%"}])],
        [(BUDGETS, [{"nodes": "100%", "reasons": ["Empty"]}, {"nodes": "0", "reasons": ["Drifted", "Empty"]}])],
        # A pool that is not for swap may be consolidated.
        [
            (POLICY, "WhenEmptyOrUnderutilized"),
            ("spec.template.metadata", GONE),
            ("metadata.annotations", GONE),
        ],
    ],
)
def test_what_jobs_survive_passes(rules: Any, edits: list[tuple[str, Any]]) -> None:
    assert rules.on("node-pool-lets-jobs-finish", NODE_POOL, edited(*edits)) == []


@pytest.mark.parametrize(
    ("rule", "edit", "seen_besides"),
    [
        ("node-pool-has-limits", ("spec.limits.cpu", UNKNOWN_NUMBER_VALUE), []),
        ("node-pool-has-limits", ("spec.limits", {"cpu": UNKNOWN}), ["spec.limits.memory"]),
        ("node-pool-has-a-taint", (TAINTS, UNKNOWN), []),
        ("node-pool-has-a-taint", (TAINTS, [{"key": "a", "effect": UNKNOWN}]), []),
        ("node-pool-lets-jobs-finish", (EXPIRY, UNKNOWN), []),
        ("node-pool-lets-jobs-finish", (BUDGETS, [{"nodes": UNKNOWN}]), []),
        ("node-pool-lets-jobs-finish", (f"{TEMPLATE}", {"expireAfter": UNKNOWN}), ["terminationGracePeriod"]),
    ],
)
def test_an_unknown_where_it_looks_is_told_after_all_else(
    rules: Any, rule: str, edit: tuple[str, Any], seen_besides: list[str]
) -> None:
    *messages, last = rules.on(rule, NODE_POOL, edited(edit))
    assert last == rules.UNKNOWN
    assert [word in message for message, word in zip(messages, seen_besides, strict=True)] == [True] * len(seen_besides)


@pytest.mark.parametrize("rule", ["node-pool-has-limits", "node-pool-has-a-taint", "node-pool-lets-jobs-finish"])
def test_an_unknown_elsewhere_does_not_blind_it(rules: Any, rule: str) -> None:
    elsewhere = ("spec.template.spec.nodeClassRef", {"name": UNKNOWN})
    assert rules.on(rule, NODE_POOL, edited(elsewhere, ("spec.weight", UNKNOWN))) == []
    worse = edited(elsewhere, ("spec.limits", {}), (TAINTS, []), (EXPIRY, GONE))
    assert rules.UNKNOWN not in (messages := rules.on(rule, NODE_POOL, worse)) and messages


def test_a_known_taint_is_enough_beside_an_unknown_one(rules: Any) -> None:
    assert rules.on("node-pool-has-a-taint", NODE_POOL, edited((TAINTS, [UNKNOWN, SHUT]))) == []
