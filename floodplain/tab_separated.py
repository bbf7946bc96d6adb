"""A table as text: comments marked with `#`, a line of column names, then one row a line, cells between tabs.

Finds the rows and says what is no row. What cells mean is their reader's. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from floodplain.problem import Problem


@dataclass(frozen=True)
class Row:
    """The cells of one line by column. `where` names table and line in messages."""

    where: str
    cells: dict[str, str]


def rows(text: str, columns: Sequence[str], *, origin: str, rule: str, remedy: str = "") -> Iterator[Row | Problem]:
    """Rows and problems in the table's order; a table with other columns is one problem.

    `rule` says that it is not such a table ("is not a catalogue"), `remedy` what to do beside mending its first line.
    """
    lines = [
        (number, line)
        for number, line in enumerate(text.splitlines(), start=1)
        if line.strip() and not line.startswith("#")
    ]
    if not lines or lines[0][1].split("\t") != [*columns]:
        first = f"its first line must name the columns {', '.join(columns)}, separated by tabs"
        where = f"{origin}, line {lines[0][0] if lines else 1}"
        yield Problem(where, rule, f"{first}; {remedy}" if remedy else first)
        return
    for number, line in lines[1:]:
        where, cells = f"{origin}, line {number}", line.split("\t")
        if len(cells) == len(columns):
            yield Row(where, dict(zip(columns, cells, strict=True)))
        else:
            yield Problem(where, f"has {len(cells)} cells", f"write {len(columns)}")
