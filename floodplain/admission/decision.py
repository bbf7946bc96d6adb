"""What admission may answer. How it comes to that is `decide`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from floodplain.admission.patch import Operation
from floodplain.problem import Problem
from floodplain.sizing.plan import Plan


class Mode(StrEnum):
    """How far admission goes, by the namespace's label `floodplain.dev/sizing`."""

    OBSERVE = "observe"
    """It says in an annotation what it would do, and refuses nothing."""
    ENFORCE = "enforce"


class Outcome(StrEnum):
    """What came of a request: few values, for metrics."""

    SIZED = "sized"
    EXPLAINED = "explained"
    """Observe has written its annotation, whether there is a plan in it or a problem."""
    UNCHANGED = "unchanged"
    """It stands there already."""
    REFUSED_INPUT = "refused_input"
    REFUSED_INFEASIBLE = "refused_infeasible"
    UNREADABLE = "unreadable"
    """Observe lets by what asks for a plan and is not in a pod's shape: there is nowhere to write."""
    IGNORED = "ignored"
    """Nothing asks for a plan."""
    ERROR = "error"
    """It is ours to mend: no pools, a review that cannot be read, a fault of the program."""


@dataclass(frozen=True)
class Decision:
    """The answer to one object."""

    allowed: bool
    outcome: Outcome
    message: str = ""
    """Why it is refused."""
    code: Literal[200, 400, 422, 500, 503] = 200
    """HTTP status of the refusal."""
    patch: tuple[Operation, ...] = ()
    warnings: tuple[str, ...] = ()
    plan: Plan | None = None
    problems: tuple[Problem, ...] = ()
