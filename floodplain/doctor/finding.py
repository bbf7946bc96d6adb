"""One thing that doctor has to say, and the exit status that follows from all of them. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """In rising order."""

    OK = "ok"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


_ORDER = tuple(Severity)


@dataclass(frozen=True)
class Finding:
    """What was seen, against what was expected, and what to change: the first lever is the one to try first."""

    check: str
    severity: Severity
    object: str
    seen: str
    expected: str = ""
    levers: tuple[str, ...] = ()
    source: str = ""
    """Where the reading comes from, or the rule."""


def worst(findings: Iterable[Finding]) -> Severity:
    """The highest severity; ok where there is none."""
    return max((one.severity for one in findings), key=_ORDER.index, default=Severity.OK)


def by_severity(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The worst first, otherwise in their order."""
    return tuple(sorted(findings, key=lambda one: -_ORDER.index(one.severity)))


def exit_status(findings: Iterable[Finding]) -> int:
    """0 for nothing above info, 1 for warnings, 2 for errors. A cluster that does not answer is 3, said elsewhere."""
    return {Severity.WARNING: 1, Severity.ERROR: 2}.get(worst(findings), 0)


def names(items: Iterable[str], most: int = 5) -> str:
    """A few names and how many more there are."""
    every = list(items)
    shown = ", ".join(every[:most])
    return shown if len(every) <= most else f"{shown} and {len(every) - most} more"
