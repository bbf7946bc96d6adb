"""Every case of the corpus: what is said of it, word for word, and that it fits what the API server answers."""

from __future__ import annotations

from collections import Counter

import pytest

from components.crd import changed_immutably, violations
from tests.components.crd.cases import Case, cases

ALL = cases()
OBJECTS = [case for case in ALL if case.before is None]
CHANGES = [case for case in ALL if case.before is not None]


def told(case: Case) -> list[dict[str, str]]:
    found = violations(case.manifest) if case.before is None else changed_immutably(case.before, case.manifest)
    return [{"at": item.path, "where": item.where, "says": str(item).removeprefix(f"{item.path}: ")} for item in found]


@pytest.mark.parametrize("case", OBJECTS, ids=lambda case: case.label)
def test_an_object_breaks_exactly_the_rules_named_in_the_corpus(case: Case) -> None:
    assert told(case) == case.problems


@pytest.mark.parametrize("case", CHANGES, ids=lambda case: case.label)
def test_a_change_is_refused_exactly_as_the_corpus_says(case: Case) -> None:
    assert told(case) == case.problems


@pytest.mark.parametrize("case", ALL, ids=lambda case: case.label)
def test_crd_rules_are_broken_exactly_where_the_api_server_rejects(case: Case) -> None:
    rejected = any(problem["where"] == "crd" for problem in case.problems)
    assert case.verdict_api == ("reject" if rejected else "accept")


def test_names_of_cases_are_unique() -> None:
    assert [name for name, count in Counter(case.label for case in ALL).items() if count > 1] == []


def test_the_corpus_is_large_enough_to_be_worth_replaying() -> None:
    assert len(ALL) >= 120


def test_valid_objects_have_nothing_wrong_and_all_others_have() -> None:
    faultless = {case.label for case in OBJECTS if not case.problems}
    assert faultless == {case.label for case in OBJECTS if case.file == "valid"}
