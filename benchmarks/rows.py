"""What a benchmark says: rows of figures, as a table for people and as JSON for whoever compares runs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

Value = float | int | str | None


@dataclass(frozen=True)
class Row:
    """One figure. A row without a goal has goal None and holds."""

    figure: str
    unit: str
    value: Value
    goal: Value = None
    peer: str | None = None
    peer_value: Value = None
    holds: bool = True


def at_most(figure: str, unit: str, value: float, goal: float) -> Row:
    """A figure whose goal is an upper bound."""
    return Row(figure, unit, round(value, 3), goal, holds=value <= goal)


def write(name: str, rows: Sequence[Row], folder: Path) -> Path:
    """The rows as FOLDER/NAME.json; the path written."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.json"
    path.write_text(json.dumps([asdict(row) for row in rows], indent=2) + "\n", encoding="utf-8")
    return path


def show(name: str, rows: Sequence[Row], console: Console) -> None:
    """The rows as a table; goals that do not hold stand out."""
    table = Table(title=f"benchmark {name}", title_justify="left")
    table.add_column("Figure")
    for heading in ("Measured", "Goal"):
        table.add_column(heading, justify="right")
    peers = any(row.peer for row in rows)
    if peers:
        table.add_column("Peer")
        table.add_column("Peer's", justify="right")
    for row in rows:
        cells = [row.figure, f"{_text(row.value)} {row.unit}", "" if row.goal is None else f"{_text(row.goal)}"]
        if peers:
            cells += [row.peer or "", _text(row.peer_value)]
        table.add_row(*cells, style=None if row.holds else "bold red")
    console.print(table)


def _text(value: Value) -> str:
    if value is None:
        return ""
    return f"{value:g}" if isinstance(value, float) else str(value)
