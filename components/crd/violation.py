"""What an object breaks: a CRD rule, which the API server refuses, or a runtime rule, which breaks later in silence.

Turns the errors of the models in this package into `Violation`s. Not the rules themselves.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from floodplain.problem import ABSENT, BrokenRulesError, Problem, RuleError

Where = Literal["crd", "runtime"]
"""`crd`: the API server answers with an error. `runtime`: it accepts, and Karpenter, EC2 or kubelet does not."""

_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


@dataclass(frozen=True)
class Violation(Problem):
    """A Problem of a NodePool or EC2NodeClass that also says who would notice it."""

    where: Where = "crd"


class RuntimeRuleError(RuleError):
    """A broken rule that the API server does not check."""


def where_of(rule: RuleError) -> Where:
    """Who would notice that this rule is broken."""
    return "runtime" if isinstance(rule, RuntimeRuleError) else "crd"


def path_of(location: Sequence[str | int]) -> str:
    """A place in a manifest as one writes it: `spec.limits.cpu`, `spec.tags["a/b"]`, `spec.taints[0]`."""
    text = ""
    for part in location:
        if isinstance(part, int):
            text += f"[{part}]"
        elif _PLAIN_KEY.fullmatch(part):
            text += f".{part}" if text else part
        else:
            text += f'["{part}"]'
    return text


def violations_of(error: ValidationError, prefix: Sequence[str | int] = ()) -> list[Violation]:
    """Every broken rule of a failed validation, once, in the order in which they were found."""
    found: list[Violation] = []
    for details in error.errors(include_url=False):
        for violation in _violations(details, tuple(prefix)):
            if violation not in found:
                found.append(violation)
    return found


def _violations(details: ErrorDetails, prefix: tuple[str | int, ...]) -> Iterator[Violation]:
    location = prefix + tuple(details["loc"])
    if details["type"] == "missing":
        yield Violation(path_of(location), "is required", "set it")
        return
    cause = details.get("ctx", {}).get("error")
    rules: tuple[RuleError, ...]
    if isinstance(cause, BrokenRulesError):
        rules = cause.errors
    elif isinstance(cause, RuleError):
        rules = (cause,)
    elif details["input"] is None:
        rules = (RuleError("is null", "leave it out or write a value"),)
    else:
        rules = (RuleError(details["msg"][0].lower() + details["msg"][1:]),)
    for rule in rules:
        value = rule.value
        if value is None:
            value = ABSENT
        if value is ABSENT and not rule.path and _is_scalar(details["input"]):
            value = details["input"]
        yield Violation(path_of(location + rule.path), rule.rule, rule.remedy, value, where_of(rule))


def _is_scalar(value: Any) -> bool:
    return isinstance(value, str | int | float)
