"""No rule of the CRDs is missing: each line of rules.tsv is broken by something, and the models notice.

rules.tsv is what extract.py reads out of the CRD files of Karpenter 1.14.1; the cluster tests hold it against them.
"""

from __future__ import annotations

import pytest

from components.crd import KARPENTER_VERSION, violations
from components.crd.violation import path_of
from tests.components.crd.cases import cases
from tests.components.crd.mutations import Mutation, Rule, mutations, rules

ALL = cases()
VALID = [case for case in ALL if case.file == "valid"]
BY_MUTATION = ("type", "keys", "required")
DEFAULTED = {("spec.disruption.budgets[]", "nodes")}
"""Required by the schema, which then fills them in itself."""

DEFAULTS = {
    "spec.disruption": "{'consolidateAfter': '0s'}",
    "spec.disruption.budgets": "[{'nodes': '10%'}]",
    "spec.disruption.budgets[].nodes": "10%",
    "spec.disruption.consolidationPolicy": "WhenEmptyOrUnderutilized",
    "spec.template.spec.expireAfter": "720h",
    "spec.metadataOptions": str(
        {
            "httpEndpoint": "enabled",
            "httpProtocolIPv6": "disabled",
            "httpPutResponseHopLimit": 1,
            "httpTokens": "required",
        }
    ),
    "spec.metadataOptions.httpEndpoint": "enabled",
    "spec.metadataOptions.httpProtocolIPv6": "disabled",
    "spec.metadataOptions.httpPutResponseHopLimit": "1",
    "spec.metadataOptions.httpTokens": "required",
}
"""The defaults that drift.py and disruption.py reckon with."""


def in_corpus(kind: str, listed: str) -> set[str]:
    return {identity for case in ALL if case.manifest["kind"] == kind for identity in getattr(case, listed)}


@pytest.mark.parametrize("kind", ["NodePool", "EC2NodeClass"])
def test_every_rule_on_a_value_is_broken_by_a_case_of_the_corpus(kind: str) -> None:
    wanted = {rule.identity for rule in rules() if rule.kind == kind and rule.keyword not in (*BY_MUTATION, "default")}
    assert in_corpus(kind, "breaks") | in_corpus(kind, "void") == wanted


def test_rules_without_effect_are_told_apart() -> None:
    assert in_corpus("NodePool", "void") == {
        "spec.template.spec.requirements[].values pattern",
        "spec.template.spec.requirements[].values maxLength",
    }
    assert in_corpus("EC2NodeClass", "void") == set()
    for case in ALL:
        assert not case.breaks or case.verdict_api == "reject", case.label
        assert not case.void or case.verdict_api == "accept", case.label


@pytest.mark.parametrize(
    "mutation",
    list(mutations(VALID)),
    ids=lambda m: f"{m.rule.kind} {m.rule.path} {m.rule.keyword} {m.rule.value}"[:90],
)
def test_every_type_every_unknown_key_and_every_required_key_is_noticed(mutation: Mutation) -> None:
    found = [(item.path, item.where) for item in violations(mutation.manifest)]
    noticed = (path_of(mutation.steps), "crd") in found
    assert noticed != ((mutation.rule.path, mutation.rule.value) in DEFAULTED), found


def test_defaults_are_those_that_drift_reckons_with() -> None:
    assert {rule.path: rule.value for rule in rules() if rule.keyword == "default"} == DEFAULTS


def test_there_is_a_rule_for_every_line() -> None:
    found = rules()
    assert all(isinstance(rule, Rule) and rule.kind for rule in found)
    assert len(found) == 383
    assert KARPENTER_VERSION == "1.14.1"
