"""Guardrails bind: every policy has a binding that acts, every binding its policy."""

from __future__ import annotations

from typing import Any

import pytest
from pulumi_policy.proxy import UNKNOWN_STRING_VALUE as UNKNOWN

RULE = "admission-policies-are-bound"
POLICY = "kubernetes:admissionregistration.k8s.io/v1:ValidatingAdmissionPolicy"
BINDING = "kubernetes:admissionregistration.k8s.io/v1:ValidatingAdmissionPolicyBinding"


@pytest.fixture
def policy(given: Any) -> Any:
    return lambda name, resource="policy", **spec: given(POLICY, {"metadata": {"name": name}, "spec": spec}, resource)


@pytest.fixture
def binding(given: Any) -> Any:
    def make(name: Any, resource: str = "binding", actions: Any = ("Deny",), **spec: Any) -> Any:
        acts = list(actions) if isinstance(actions, tuple) else actions
        return given(BINDING, {"spec": {"policyName": name, "validationActions": acts, **spec}}, resource)

    return make


def test_a_bound_policy_passes(rules: Any, policy: Any, binding: Any) -> None:
    assert rules.on_stack(RULE, []) == []
    assert rules.on_stack(RULE, [policy("a"), binding("a")]) == []
    assert rules.on_stack(RULE, [policy("a"), binding("a"), binding("a", "second", ("Warn", "Audit"))]) == []
    assert rules.on_stack(RULE, [policy("a", matchConstraints=UNKNOWN), binding("a", paramRef=UNKNOWN)]) == []


def test_a_policy_without_binding_does_nothing_and_is_named(rules: Any, policy: Any, binding: Any) -> None:
    found = rules.on_stack(RULE, [policy("a", "first"), policy("b", "second"), binding("a")])
    assert found == [("'b' has no binding, so it does nothing; add a binding with policyName 'b'", "second")]


def test_a_binding_without_policy_or_without_action_is_named(rules: Any, policy: Any, binding: Any) -> None:
    stack = [policy("a"), binding("a"), binding("b", "typo"), binding("a", "idle", ())]
    assert [where for _, where in rules.on_stack(RULE, stack)] == ["typo", "idle"]
    assert [where for _, where in rules.on_stack(RULE, [policy("a"), binding("a", actions=None)])] == ["binding"]


def test_a_policy_with_parameters_needs_them_in_its_binding(rules: Any, policy: Any, binding: Any) -> None:
    kind = {"apiVersion": "v1", "kind": "ConfigMap"}
    assert rules.on_stack(RULE, [policy("a", paramKind=kind), binding("a", paramRef={"name": "figures"})]) == []
    ((message, where),) = rules.on_stack(RULE, [policy("a", paramKind=kind), binding("a")])
    assert "spec.paramRef: is missing" in message and where == "binding"


def test_unknown_names_are_told_after_what_is_certain(rules: Any, policy: Any, binding: Any) -> None:
    unseen = (rules.UNKNOWN, None)
    assert rules.on_stack(RULE, [policy("a"), binding(UNKNOWN)]) == [unseen]
    assert rules.on_stack(RULE, [policy(UNKNOWN), binding("a")]) == [unseen]
    assert rules.on_stack(RULE, [policy("a"), binding("a"), binding(UNKNOWN, "second")]) == [unseen]
    found = rules.on_stack(RULE, [policy(UNKNOWN), policy("b", "unbound"), binding("a")])
    assert [where for _, where in found] == ["unbound", None]
