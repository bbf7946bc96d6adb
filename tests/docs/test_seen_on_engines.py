"""Claims about engines: the pages' footnotes, the table of all of them, and the tests they name belong together."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.docs.pages import PAGES, ROOT, code_spans, footnotes, functions_of, links, name, prose

TABLE = ROOT / "docs" / "seen-on-engines.md"
ENGINES = ("kubelet", "kernel, systemd", "Karpenter", "Kueue", "API server", "Pulumi")
FOLDERS = ("tests/cluster/", "tests/node/", "tests/chain/")
OWN_COLUMN = ROOT / "docs" / "hotosm.md"
"""Has a table of weak points with a column for tests, beside footnotes."""
OTHERS = [page for page in PAGES if page != TABLE]


@dataclass(frozen=True)
class Row:
    """A claim that was seen."""

    engine: str
    claim: str
    pages: tuple[Path, ...]
    tests: tuple[str, ...]


def cells(heading: str) -> list[list[str]]:
    """Rows of the table below a heading, without its head."""
    section = prose(TABLE).partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines[2:]]


def linked(cell: str) -> tuple[Path, ...]:
    return tuple((TABLE.parent / target).resolve() for target in re.findall(r"\]\(([^)]+)\)", cell))


SEEN = [
    Row(engine, claim, linked(pages), tuple(re.findall(r"`([^`]+)`", tests)))
    for engine, claim, pages, tests in cells("Seen")
]
NOT_SEEN = cells("Not seen")


def of_engines(page: Path) -> set[str]:
    return {span for span in code_spans(page) if span.startswith(FOLDERS)}


def test_there_are_claims() -> None:
    assert (len(SEEN) >= 60, len(NOT_SEEN) >= 10) == (True, True)


@pytest.mark.parametrize("row", SEEN, ids=lambda row: row.claim[:60])
def test_a_row_is_well_formed(row: Row) -> None:
    assert row.engine in ENGINES
    assert re.match(r"[A-Z`]", row.claim)
    assert not row.claim.endswith(".")
    assert set(row.pages) <= set(OTHERS)
    assert all(test.startswith(FOLDERS) for test in row.tests)
    assert (len(row.pages), len(row.tests)) == (len({*row.pages}), len({*row.tests}))
    assert min(len(row.pages), len(row.tests)) > 0


@pytest.mark.parametrize("row", NOT_SEEN, ids=lambda row: row[0][:60])
def test_a_claim_that_was_not_seen_says_where_it_stands_and_why(row: list[str]) -> None:
    claim, pages, why = row
    assert claim and why
    assert linked(pages)
    assert set(linked(pages)) <= set(OTHERS)


def test_no_claim_stands_there_twice() -> None:
    claims = [row.claim for row in SEEN] + [row[0] for row in NOT_SEEN]
    assert sorted(claims) == sorted(set(claims))


def test_tests_of_engines_are_named_to_the_function_and_exist() -> None:
    named = set().union(*(of_engines(page) for page in PAGES))
    assert [one for one in sorted(named) if one.partition("::")[2] not in functions_of(one.partition("::")[0])] == []


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_footnotes_and_their_marks_belong_together(page: Path) -> None:
    marks = set(re.findall(r"\[\^([\w-]+)\](?!:)", prose(page)))
    notes = footnotes(page)
    assert sorted(notes) == sorted(marks)
    for label, text in notes.items():
        assert re.fullmatch(r"Seen: `[^`]+`(, `[^`]+`)*\.", text), f"{label}: {text}"


@pytest.mark.parametrize("page", OTHERS, ids=name)
def test_every_test_of_a_page_is_in_a_row_that_lists_the_page(page: Path) -> None:
    rows = [row for row in SEEN if page in row.pages]
    for label, text in footnotes(page).items():
        tests = tuple(re.findall(r"`([^`]+)`", text))
        assert tests in [row.tests for row in rows], f"{label}: no row of {name(TABLE)} has these tests and this page"
    assert of_engines(page) <= {test for row in rows for test in row.tests}


@pytest.mark.parametrize("row", SEEN, ids=lambda row: row.claim[:60])
def test_every_page_of_a_row_names_its_tests(row: Row) -> None:
    for page in row.pages:
        noted = [tuple(re.findall(r"`([^`]+)`", text)) for text in footnotes(page).values()]
        assert row.tests in noted or (page == OWN_COLUMN and of_engines(page) & {*row.tests}), name(page)


def test_the_table_can_be_reached_from_the_list_of_pages_and_from_the_readme() -> None:
    assert "seen-on-engines.md" in links(ROOT / "docs" / "README.md")
    assert "docs/seen-on-engines.md" in links(ROOT / "README.md")
