"""Markdown tables from cells: escaped, one line a row, the same bytes for the same cells."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence


def table(titles: Sequence[str], rows: Iterable[Sequence[str]], *, right: Iterable[int] = ()) -> str:
    """A table; `right` are the columns of figures."""
    figures = set(right)
    rule = ["---:" if place in figures else "---" for place in range(len(titles))]
    lines = [f"| {' | '.join(titles)} |", f"| {' | '.join(rule)} |"]
    lines += [f"| {' | '.join(cell(one) for one in row)} |" for row in rows]
    return "\n".join(lines) + "\n"


def cell(text: str) -> str:
    """Text that stays within its cell: white space folded, bars escaped, nothing but `<br>` taken for a tag."""
    folded = " ".join(text.split()).replace("|", "\\|")
    parts = folded.split("`")
    # Every second part is code, where `<` stands for itself.
    parts[::2] = [re.sub(r"<(?!br>)", "&lt;", part) for part in parts[::2]]
    return "`".join(parts)


def code(value: object) -> str:
    """A value as code, empty for nothing."""
    text = str(value)
    return f"`{text}`" if text else ""
