"""How a case's edits change documents and texts."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.cases import TextEdit, edited, edited_text

DOCUMENT = {"a": {"b/c": 1, "d": [1, 2]}, "e~f": "x"}


@pytest.mark.parametrize(
    ("edits", "result"),
    [
        ({"/a/b~1c": 5}, {"a": {"b/c": 5, "d": [1, 2]}, "e~f": "x"}),
        ({"/e~0f": None}, {"a": {"b/c": 1, "d": [1, 2]}}),
        ({"/a/d/0": 9, "/a/d/-": 3}, {"a": {"b/c": 1, "d": [9, 2, 3]}, "e~f": "x"}),
        ({"/a/d/2": 3, "/a/d/3": 4}, {"a": {"b/c": 1, "d": [1, 2, 3, 4]}, "e~f": "x"}),
        ({"/a/d/0": None}, {"a": {"b/c": 1, "d": [2]}, "e~f": "x"}),
        ({"/a/new": {"k": []}}, {"a": {"b/c": 1, "d": [1, 2], "new": {"k": []}}, "e~f": "x"}),
        ({}, DOCUMENT),
    ],
)
def test_a_pointer_sets_appends_or_takes_away(edits: dict[str, Any], result: dict[str, Any]) -> None:
    before = repr(DOCUMENT)
    assert edited(DOCUMENT, edits) == result
    assert repr(DOCUMENT) == before


@pytest.mark.parametrize("pointer", ["/nowhere/x", "/a/d/9", "/gone"])
def test_a_pointer_to_nowhere_is_an_error(pointer: str) -> None:
    with pytest.raises((KeyError, IndexError)):
        edited(DOCUMENT, {pointer: None})


def test_a_text_edit_replaces_every_match_and_may_repeat_itself() -> None:
    edits = [TextEdit(find="^b$", put="x\n", times=2), TextEdit(find=r"\Aa", put=r"\1")]
    assert edited_text("a\nb\nb\n", edits) == "\\1\nx\nx\n\nx\nx\n\n"


def test_a_text_edit_that_finds_nothing_means_a_stale_corpus() -> None:
    with pytest.raises(LookupError, match="the rendered text has changed"):
        edited_text("a", [TextEdit(find="b", put="")])
