"""A change of one property as lines of text: `-` before, `+` after; long texts as a small unified diff."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator
from typing import Any

from .model import PropertyChange

CONTEXT_LINES = 2
MOST_LINES = 80
MOST_CHARACTERS = 300


def lines(change: PropertyChange) -> Iterator[str]:
    """Lines that start with `-`, `+`, `@` or a space; the property's path is on the first of them."""
    before, after = _text(change.before), _text(change.after)
    if change.change == "added":
        yield from _whole("+", change.path, after)
    elif change.change == "removed":
        yield from _whole("-", change.path, before)
    elif "\n" in before or "\n" in after:
        yield f"@ {change.path}"
        yield from _cut(_unified(before, after))
    else:
        yield f"- {change.path}: {_short(before)}"
        yield f"+ {change.path}: {_short(after)}"


def _whole(sign: str, path: str, text: str) -> Iterator[str]:
    if "\n" not in text:
        yield f"{sign} {path}: {_short(text)}"
        return
    yield f"{sign} {path}:"
    yield from _cut([f"{sign}   {line}" for line in text.splitlines()])


def _unified(before: str, after: str) -> list[str]:
    diff = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=CONTEXT_LINES)
    body = list(diff)[2:]  # the two lines that would name files
    return body or ["  (only the end of the last line differs)"]


def _cut(body: list[str]) -> Iterator[str]:
    yield from (line if len(line) <= MOST_CHARACTERS else f"{line[:MOST_CHARACTERS]}..." for line in body[:MOST_LINES])
    if len(body) > MOST_LINES:
        yield f"  ({len(body) - MOST_LINES} more lines; the JSON form has them all)"


def _text(value: Any) -> str:
    """Texts of several lines as they are; JSON in a text, such as an IAM document, opened up."""
    if isinstance(value, str):
        if value[:1] in ("{", "["):
            try:
                return json.dumps(json.loads(value), indent=2, sort_keys=True, ensure_ascii=False)
            except ValueError:
                pass
        return value if "\n" in value else json.dumps(value, ensure_ascii=False)
    if isinstance(value, dict | list) and len(json.dumps(value)) > 80:
        return json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False)
    return json.dumps(value, ensure_ascii=False)


def _short(text: str) -> str:
    return text if len(text) <= MOST_CHARACTERS else f"{text[:MOST_CHARACTERS]}... ({len(text)} characters)"
