"""Everything between the marks is what the code says today."""

from __future__ import annotations

import difflib
import re
from pathlib import Path

import pytest

from docs.tables import MAKERS, UnknownPartError, make, refreshed
from tests.docs.pages import PAGES, name


def marks(page: Path) -> list[str]:
    return re.findall(r"<!-- generated: ([^>]+?) -->", page.read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", [page for page in PAGES if marks(page)], ids=name)
def test_a_page_is_fresh(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    diff = difflib.unified_diff(
        text.splitlines(), refreshed(text).splitlines(), name(page), "made now", lineterm="", n=1
    )
    stale = "\n".join(list(diff)[:80])
    assert not stale, f"`make docs` refreshes it:\n{stale}"


def test_every_mark_is_closed() -> None:
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        found = re.findall(r"^<!-- (generated|end)\b", text, re.M)
        assert found == ["generated", "end"] * (len(found) // 2), name(page)


def test_everything_that_can_be_made_stands_on_some_page() -> None:
    made = {mark for page in PAGES for mark in marks(page)}
    assert [maker for maker in MAKERS if not any(f"{mark} ".startswith(f"{maker} ") for mark in made)] == []


def test_a_mark_that_nobody_can_make_is_told() -> None:
    with pytest.raises(UnknownPartError, match="nothing generates 'figures of 1999'"):
        make("figures of 1999")


def test_hand_written_text_is_left_alone() -> None:
    text = "before\n<!-- generated: versions -->\nold\n<!-- end -->\nafter `| x |`\n"
    fresh = refreshed(text)
    assert fresh.startswith("before\n<!-- generated: versions -->\n\n| Kubernetes | Karpenter |")
    assert fresh.endswith("|\n\n<!-- end -->\nafter `| x |`\n")
    assert refreshed(fresh) == fresh
