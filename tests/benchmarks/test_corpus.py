"""floodplain catches every wrong configuration of the corpus, for the reason that the corpus gives."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks import judges
from benchmarks.cases import KINDS, Case, Objects, load
from preview.checks import check

CASES = load()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_preview_says_what_is_wrong(case: Case, tmp_path: Path) -> None:
    judged = judges.floodplain(case, tmp_path)
    assert judged.outcome == case.floodplain, judged.lines
    if case.floodplain != "accepts":
        assert any(re.search(case.says, line) for line in judged.lines), judged.lines


def test_the_configuration_without_a_mistake_has_no_error() -> None:
    assert [str(finding.problem) for finding in check(judges.base()) if finding.severity == "error"] == []


@pytest.mark.parametrize(
    "case",
    # What only the stack file knows (the longest job, the pool's own settings) cannot be told from the objects.
    [case for case in CASES if case.stack is not None and case.objects is not None],
    ids=lambda case: case.name,
)
def test_a_mistake_in_the_objects_is_caught_as_well_or_known_only_to_the_stack(case: Case) -> None:
    assert case.objects is not None
    outcome = (
        "refuses"
        if any(finding.severity == "error" for finding in check(judges.with_objects(case.objects)))
        else "accepts"
    )
    known_only_to_the_stack = {
        "c-expires-before-the-job-ends",
        "c-short-grace",
        "duplicate-subnet-terms",
        "limits-below-one-node",
    }
    expected = "accepts" if case.name in known_only_to_the_stack else case.floodplain
    assert outcome == expected


def test_the_corpus_holds_every_weak_point_of_this_step_and_every_kind() -> None:
    letters = {case.title[1] for case in CASES if case.kind == "weak point"}
    assert letters == set("abcdeghj")
    assert {case.kind for case in CASES} == set(KINDS)


def test_every_case_says_why_it_matters_and_what_message_to_expect() -> None:
    assert [case.name for case in CASES if not case.why] == []
    assert [case.name for case in CASES if (case.floodplain == "accepts") == bool(case.says)] == []
    assert [case.name for case in CASES if case.stack is None and case.objects is None] == []


def test_only_what_aws_alone_knows_gets_by() -> None:
    got_by = {case.name for case in CASES if case.floodplain == "accepts"}
    assert got_by == {"unknown-alias", "unknown-role", "no-such-zone", "tags-of-no-subnet"}


def test_a_verdict_of_the_api_server_was_seen_and_its_refusal_quoted() -> None:
    for case in CASES:
        asked = case.api_server.verdict != "not its subject"
        assert bool(case.api_server.seen) == asked, case.name
        assert bool(case.api_server.says) == (case.api_server.verdict == "refuses"), case.name
        in_kubernetes = case.objects is not None and bool(
            case.objects.node_pool or case.objects.node_class or case.objects.user_data
        )
        assert asked == in_kubernetes, case.name


def test_an_unchanged_case_would_render_the_objects_of_the_stack() -> None:
    node_class, node_pool = judges.manifests(Objects())
    assert (node_class["kind"], node_pool["kind"]) == ("EC2NodeClass", "NodePool")
    assert node_pool["spec"]["template"]["spec"]["nodeClassRef"]["name"] == node_class["metadata"]["name"]
