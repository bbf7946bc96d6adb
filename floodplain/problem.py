"""What is wrong with an input, said so that the reader can mend it: key, value, rule, what to do.

Turns pydantic's errors into `Problem`s. Not for faults of the program itself.
"""

from __future__ import annotations

import difflib
import types
import typing
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

ABSENT: Any = type("Absent", (), {"__repr__": lambda self: "absent", "__bool__": lambda self: False})()
"""Stands for "there is no value", since None may be one."""

Location = tuple[str | int, ...]


@dataclass(frozen=True)
class Problem:
    """One thing wrong at one place. `str()` gives the line a person reads."""

    path: str
    rule: str
    remedy: str = ""
    value: Any = ABSENT

    def __str__(self) -> str:
        shown = "" if self.value is ABSENT else f"{_shown(self.value)} "
        remedy = f"; {self.remedy}" if self.remedy else ""
        return f"{self.path or 'the settings'}: {shown}{self.rule}{remedy}"


class RuleError(ValueError):
    """Raised by a model's validator: the rule that was broken and what to do about it.

    `path` names the place below the validated field, for rules over several fields; `value` what is there.
    """

    def __init__(self, rule: str, remedy: str = "", path: Location = (), value: Any = ABSENT) -> None:
        super().__init__(f"{rule}; {remedy}" if remedy else rule)
        self.rule, self.remedy, self.path, self.value = rule, remedy, path, value


class BrokenRulesError(ValueError):
    """Several broken rules found by one validator."""

    def __init__(self, errors: Iterable[RuleError]) -> None:
        self.errors = tuple(errors)
        super().__init__(" / ".join(str(error) for error in self.errors))


def raise_rules(errors: Iterable[RuleError]) -> None:
    """Raise all of `errors` at once, or return when there are none."""
    found = tuple(errors)
    if found:
        raise BrokenRulesError(found)


def problems_of(
    error: ValidationError, model: type[BaseModel], *, prefix: str = "", snake: bool = False
) -> list[Problem]:
    """Every error of a failed validation, once, in the order of the settings.

    `prefix` is put before each path. Paths are camelCase as in YAML, or snake_case for Python (`snake`).
    """
    found: list[Problem] = []
    for details in error.errors():
        for problem in _problems(details, model, prefix, snake):
            if problem not in found:
                found.append(problem)
    return found


def _problems(details: ErrorDetails, model: type[BaseModel], prefix: str, snake: bool) -> list[Problem]:
    location = tuple(details["loc"])
    cause = details.get("ctx", {}).get("error")
    rules: tuple[RuleError, ...] = ()
    if isinstance(cause, BrokenRulesError):
        rules = cause.errors
    elif isinstance(cause, RuleError):
        rules = (cause,)
    if rules:
        spoiled = isinstance(details["input"], dict | BaseModel)
        return [
            Problem(
                path_text(location + rule.path, model, prefix=prefix, snake=snake),
                rule.rule,
                rule.remedy,
                rule.value if rule.value is not ABSENT or spoiled else details["input"],
            )
            for rule in rules
        ]
    path = path_text(location, model, prefix=prefix, snake=snake)
    if details["type"] == "extra_forbidden":
        return [_unknown_key(path, location, model, snake)]
    if details["type"] == "missing":
        return [Problem(path, "is required", "set it")]
    message = details["msg"]
    rule = message[0].lower() + message[1:]
    return [Problem(path, rule.replace("input should", "should"), "", details["input"])]


def _unknown_key(path: str, location: Location, model: type[BaseModel], snake: bool) -> Problem:
    owner = _model_at(location[:-1], model)
    known = _keys(owner, snake) if owner else []
    key = str(location[-1])
    near = difflib.get_close_matches(key, known, n=1, cutoff=0.6) or difflib.get_close_matches(
        key.lower().replace("_", ""), [name.lower() for name in known], n=1, cutoff=0.6
    )
    match = next((name for name in known if near and name.lower() == near[0].lower()), None)
    if match:
        return Problem(path, "is not a known key", f"did you mean `{match}`?")
    remedy = f"known here: {', '.join(sorted(known))}" if known else "remove it"
    return Problem(path, "is not a known key", remedy)


def path_text(location: Location, model: type[BaseModel], *, prefix: str = "", snake: bool = False) -> str:
    """A location as one writes it: `pools[0].limits.memory`."""
    text = prefix
    owner: type[BaseModel] | None = model
    for position, part in enumerate(location):
        if isinstance(part, int):
            text += f"[{part}]"
            continue
        key = part
        owner = _model_at(location[:position], model)
        if owner is not None:
            for name, field in owner.model_fields.items():
                if part in (name, field.alias):
                    key = name if snake else (field.alias or name)
        text += f".{key}" if text else key
    return text


def _keys(model: type[BaseModel], snake: bool) -> list[str]:
    return [name if snake else (field.alias or name) for name, field in model.model_fields.items()]


def _model_at(location: Sequence[str | int], model: type[BaseModel]) -> type[BaseModel] | None:
    """The model that owns the keys at `location`, walking through lists, maps, unions and optionals."""
    current: Any = model
    for part in location:
        found = _models(current)
        if isinstance(part, int):
            current = _argument(current, (list, tuple, Sequence))
            continue
        step = None
        for candidate in found:
            for name, field in candidate.model_fields.items():
                if part in (name, field.alias):
                    step = field.annotation
        current = step if step is not None else _argument(current, (dict,), index=1)
        if current is None:
            return None
    found = _models(current)
    return found[0] if found else None


def _models(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    if typing.get_origin(annotation) in (typing.Union, types.UnionType, typing.Annotated):
        return [model for option in typing.get_args(annotation) for model in _models(option)]
    return []


def _argument(annotation: Any, origins: tuple[Any, ...], index: int = 0) -> Any:
    origin = typing.get_origin(annotation)
    if origin in (typing.Union, types.UnionType, typing.Annotated):
        for option in typing.get_args(annotation):
            found = _argument(option, origins, index)
            if found is not None:
                return found
        return None
    if origin in origins:
        return typing.get_args(annotation)[index]
    return None


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
