"""What was measured, printed at the end of a run, whatever pytest captures."""

from __future__ import annotations

_figures: list[str] = []


def note(figure: str) -> None:
    _figures.append(figure)


def noted() -> tuple[str, ...]:
    return tuple(_figures)
