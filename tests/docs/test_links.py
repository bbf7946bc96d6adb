"""No link leads nowhere, and no page is out of reach."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from docs.tables import ROOT
from tests.docs.pages import PAGES, anchors, code_spans, links, name

FOLDERS = ("benchmarks", "components", "docs", "examples", "floodplain", "nodeconfig", "policies", "preview", "stacks")


def broken(page: Path) -> list[str]:
    found = []
    for target in links(page):
        if target.startswith(("https://", "mailto:")):
            continue
        path, _, anchor = target.partition("#")
        goal = (page.parent / path).resolve() if path else page
        if not goal.exists():
            found.append(f"{target}: no such file")
        elif anchor and anchor not in anchors(goal):
            found.append(f"{target}: no such heading; there are {', '.join(sorted(anchors(goal)))}")
    return found


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    assert broken(page) == []


def test_every_page_can_be_reached_from_the_readme() -> None:
    reached, open_ends = {PAGES[0]}, [PAGES[0]]
    while open_ends:
        page = open_ends.pop()
        for target in links(page):
            goal = (page.parent / target.partition("#")[0]).resolve()
            goal = goal / "README.md" if goal.is_dir() else goal
            if goal.suffix == ".md" and goal not in reached and goal.exists():
                reached.add(goal)
                open_ends.append(goal)
    assert [name(page) for page in PAGES if page not in reached] == []


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_file_that_a_page_names_exists(page: Path) -> None:
    named = [
        span.partition("::")[0]
        for span in code_spans(page)
        if span.startswith((".github/", "tests/", *(f"{folder}/" for folder in FOLDERS)))
        and not any(mark in span for mark in "<*{ ")
    ]
    assert [span for span in named if not (ROOT / span).exists() and not span.endswith(".sock")] == []


def test_links_to_issues_are_whole() -> None:
    """`owner/name#12` in the text and in the address are the same."""
    text = (ROOT / "docs" / "faq.md").read_text(encoding="utf-8")
    for label, number, repository, kind, target in re.findall(
        r"\[([\w-]+)#(\d+)\]\(https://github\.com/[\w-]+/([\w-]+)/(issues|pull)/(\d+)\)", text
    ):
        assert (label, number) == (repository, target), (label, number, kind)
    assert text.count("\n### ") >= 25
