"""What a check found: how bad, where, which rule, and what to change."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from floodplain.problem import Problem

Severity = Literal["error", "warning"]


@dataclass(frozen=True)
class Finding:
    """`problem.path` is the place to change: a key of the stack file where it can be told, else the property.

    `check` names the check. `urn` is "" for the stack as a whole, `property` "" for a resource as a whole.
    """

    severity: Severity
    check: str
    problem: Problem
    urn: str = ""
    property: str = ""


def ordered(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Errors first, then by check, resource and property; each once."""
    unique: dict[str, Finding] = {}
    for finding in findings:
        unique.setdefault(repr(finding), finding)
    return tuple(
        sorted(
            unique.values(),
            key=lambda one: (one.severity, one.check, one.urn, one.property, str(one.problem)),
        )
    )
