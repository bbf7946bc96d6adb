"""Every pod of the table gets the verdict and the message that it should get."""

from __future__ import annotations

import functools

import pytest

from tests.components.guardrails.api_server import RefusedByPlugin, Verdict, judge
from tests.components.guardrails.corpus import CASES, POLICIES, Case
from tests.conftest import Golden


@functools.cache
def _judged(position: int) -> Verdict:
    return judge(POLICIES, CASES[position].request())


def _verdict(case: Case) -> Verdict:
    return _judged(CASES.index(case))


def _rules(verdict: Verdict, *, advice: bool) -> set[str]:
    return {
        rule
        for complaint in verdict.complaints
        if complaint.policy.endswith("-advice") is advice
        for rule in complaint.rules
    }


@pytest.mark.parametrize("case", [case for case in CASES if case.verdict != "server"], ids=str)
def test_a_pod_gets_its_verdict_for_the_rules_it_breaks(case: Case) -> None:
    verdict = _verdict(case)
    found = (
        "deny" if verdict.refusals else "allow",
        _rules(verdict, advice=False),
        _rules(verdict, advice=True),
    )
    assert found == (case.verdict, set(case.breaks), set(case.advice))


@pytest.mark.parametrize("case", [case for case in CASES if case.verdict == "server"], ids=str)
def test_what_the_server_refuses_itself_breaks_no_expression(case: Case) -> None:
    try:
        judge(POLICIES, case.request())
    except RefusedByPlugin:
        assert case.file in ("placement", "whole-pod")


def test_messages_name_the_container_the_figures_and_what_to_do(golden: Golden) -> None:
    lines: list[str] = []
    for case in CASES:
        if case.verdict == "server":
            continue
        verdict = _verdict(case)
        if verdict.complaints:
            lines += [
                f"{case}",
                *(f"  {'refused' if 'Deny' in one.actions else 'warned'}: {one.message}" for one in verdict.complaints),
                "",
            ]
    golden.check("components/golden/guardrails/messages.txt", "\n".join(lines))


def test_every_rule_is_broken_by_some_pod_of_the_table() -> None:
    from components.guardrail_advice import advice_rules
    from components.guardrail_containment import containment_rules
    from components.guardrail_unsized import UNSIZED
    from tests.components.guardrails.corpus import SETTINGS

    pool = SETTINGS.others[0]
    known = {rule.name for rule in (*containment_rules(pool), *advice_rules(pool), UNSIZED)}
    assert {name for case in CASES for name in (*case.breaks, *case.advice)} == known


def test_no_message_of_one_pod_is_cut_for_its_length() -> None:
    texts = [complaint.message for case in CASES if case.verdict == "deny" for complaint in _verdict(case).complaints]
    assert texts
    assert not [text for text in texts if "too many to list" in text or "\n" in text]
