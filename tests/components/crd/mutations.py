"""Makes wrong objects out of right ones: for every field of rules.tsv a value of another type, for every object a
key that it does not know, and for every required key its absence.

Used by test_every_rule.py, and by whoever asks a real API server the same questions.
"""

from __future__ import annotations

import copy
import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.components.crd.cases import Case

RULES = Path(__file__).parent / "rules.tsv"
WRONG_VALUES = {
    "string": 7,
    "integer": "7",
    "boolean": "true",
    "array": "x",
    "object": "x",
    "integer|string": True,
}
STRANGE_KEY = "strangeKey"
# Another kind or API group is another object, and no fault of this one.
LEFT_OUT = {"", "apiVersion", "kind"}


@dataclass(frozen=True)
class Rule:
    """A line of rules.tsv."""

    kind: str
    path: str
    keyword: str
    value: str

    @property
    def identity(self) -> str:
        """As `breaks` of the corpus names it: CEL rules with their digest, as a place may have several."""
        return f"{self.path} {self.keyword}" + (f" {self.value}" if self.keyword == "cel" else "")


@dataclass(frozen=True)
class Mutation:
    """A right object made wrong in one place."""

    rule: Rule
    manifest: dict[str, Any]
    steps: tuple[str | int, ...]


def rules() -> list[Rule]:
    """Every rule of the two CRDs."""
    with RULES.open(newline="") as file:
        return [Rule(**row) for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)]


def located(value: Any, path: str) -> tuple[str | int, ...] | None:
    """Where an object has something at a path of rules.tsv; None if it has nothing there."""
    parts = [part for part in path.replace("[]", ".[]").split(".") if part]
    return _located(value, parts)


def _located(value: Any, parts: list[str]) -> tuple[str | int, ...] | None:
    if not parts:
        return ()
    steps: list[str | int] = []
    if parts[0] == "[]":
        steps = list(range(len(value))) if isinstance(value, list) else []
    elif isinstance(value, dict):
        steps = list(value) if parts[0] == "*" else [parts[0]] if value.get(parts[0]) is not None else []
    for step in steps:
        below = _located(value[step], parts[1:])
        if below is not None:
            return (step, *below)
    return None


def at(value: Any, steps: tuple[str | int, ...]) -> Any:
    """What stands at a place."""
    for step in steps:
        value = value[step]
    return value


def mutations(valid: list[Case]) -> Iterator[Mutation]:
    """One for each rule on types, known keys and required keys. Raises LookupError if no valid case has the place."""
    for rule in rules():
        mutable = rule.keyword in ("keys", "required") or (rule.keyword == "type" and rule.path not in LEFT_OUT)
        if mutable:
            yield _mutation(rule, valid)


def _mutation(rule: Rule, valid: list[Case]) -> Mutation:
    path = f"{rule.path}.{rule.value}" if rule.keyword == "required" else rule.path
    for case in valid:
        steps = located(case.manifest, path) if case.manifest["kind"] == rule.kind else None
        if steps is None:
            continue
        manifest = copy.deepcopy(case.manifest)
        if rule.keyword == "keys":
            steps = (*steps, STRANGE_KEY)
        parent, last = at(manifest, steps[:-1]), steps[-1]
        if rule.keyword == "required":
            del parent[last]
        else:
            parent[last] = WRONG_VALUES[rule.value] if rule.keyword == "type" else "x"
        return Mutation(rule, manifest, steps)
    raise LookupError(f"no valid case of {rule.kind} has {path}")
