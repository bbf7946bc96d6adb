"""A webhook that is down stops only what it is for."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from pulumi_policy.proxy import UNKNOWN_STRING_VALUE as UNKNOWN

RULE = "webhooks-fail-closed-for-few"
MUTATING = "kubernetes:admissionregistration.k8s.io/v1:MutatingWebhookConfiguration"
VALIDATING = "kubernetes:admissionregistration.k8s.io/v1:ValidatingWebhookConfiguration"
GOOD: dict[str, Any] = {
    "name": "a.example.org",
    "failurePolicy": "Fail",
    "namespaceSelector": {"matchLabels": {"a": "b"}},
    "matchConditions": [{"name": "a", "expression": "true"}],
    "sideEffects": "None",
    "timeoutSeconds": 5,
}


def places(rules: Any, *webhooks: dict[str, Any], kind: str = MUTATING) -> list[str]:
    found = rules.on(RULE, kind, {"metadata": {"name": "a"}, "webhooks": list(webhooks)})
    return [message.partition(":")[0] for message in found]


def changed(**changes: Any) -> dict[str, Any]:
    made = {**copy.deepcopy(GOOD), **changes}
    return {key: value for key, value in made.items() if value is not None}


@pytest.mark.parametrize("kind", [MUTATING, VALIDATING])
def test_a_webhook_that_fails_closed_for_few_passes(rules: Any, kind: str) -> None:
    assert places(rules, GOOD, kind=kind) == []
    assert places(rules, kind=kind) == []


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"namespaceSelector": None}, ["webhooks[1].namespaceSelector"]),
        ({"namespaceSelector": {}}, ["webhooks[1].namespaceSelector"]),
        ({"namespaceSelector": {"matchLabels": {}, "matchExpressions": []}}, ["webhooks[1].namespaceSelector"]),
        ({"namespaceSelector": {"matchExpressions": [{"key": "a", "operator": "Exists"}]}}, []),
        ({"matchConditions": None}, ["webhooks[1].matchConditions"]),
        ({"matchConditions": []}, ["webhooks[1].matchConditions"]),
        ({"matchConditions": None, "objectSelector": {"matchLabels": {"a": "b"}}}, []),
        ({"failurePolicy": None, "matchConditions": None}, ["webhooks[1].matchConditions"]),
        ({"failurePolicy": "Ignore", "namespaceSelector": None, "matchConditions": None}, []),
        ({"timeoutSeconds": 30}, ["webhooks[1].timeoutSeconds"]),
        ({"timeoutSeconds": None}, []),
        ({"sideEffects": "Some"}, ["webhooks[1].sideEffects"]),
        ({"sideEffects": None}, ["webhooks[1].sideEffects"]),
        ({"sideEffects": "NoneOnDryRun"}, []),
        (
            {"namespaceSelector": UNKNOWN, "timeoutSeconds": 30},
            ["webhooks[1].timeoutSeconds", "could not see everything"],
        ),
    ],
)
def test_each_entry_is_judged_for_itself(rules: Any, changes: dict[str, Any], found: list[str]) -> None:
    assert places(rules, GOOD, changed(**changes)) == found


def test_the_message_says_what_happens_and_what_to_do(rules: Any) -> None:
    (message,) = rules.on(RULE, MUTATING, {"webhooks": [changed(namespaceSelector=None)]})
    assert message == (
        "webhooks[0].namespaceSelector: is empty and the webhook fails closed: when it is down nothing can be made in "
        "any namespace, its own among them; select namespaces by a label"
    )


def test_other_objects_are_not_looked_at(rules: Any) -> None:
    webhook = changed(namespaceSelector=None)
    assert rules.on(RULE, "kubernetes:core/v1:ConfigMap", {"webhooks": [webhook]}) == []
