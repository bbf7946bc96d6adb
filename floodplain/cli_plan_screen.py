"""An explained plan on a terminal: names, figures and remarks in columns, sentences below. Edge: prints with rich."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from floodplain.problem import printable
from floodplain.sizing.explain import Explanation


def print_plan(screen: Console, told: Explanation, *, feasible: bool, remarks: Sequence[str] = ()) -> None:
    """Print it; `remarks` are about how it was asked for and stand below the headline."""
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for row in told.rows:
        table.add_row(Text(printable(row.name)), Text(printable(row.value), "bold"), Text(printable(row.remark)))
    screen.print(Text(printable(told.headline), "bold green" if feasible else "bold red"))
    for remark in remarks:
        screen.print(Text(printable(remark)))
    screen.print()
    screen.print(table)
    for section in told.sections:
        screen.print()
        screen.print(Text(printable(section.heading), "bold"))
        for sentence in section.sentences:
            screen.print(Text(f"- {printable(sentence)}"))
