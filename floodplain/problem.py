"""What is wrong with an input, said so that the reader can mend it: key, value, rule, what to do.

Turns pydantic's errors into `Problem`s. Not for faults of the program itself.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from floodplain.settings_path import Location, Place, keys, locate

ABSENT: Any = type("Absent", (), {"__repr__": lambda self: "absent", "__bool__": lambda self: False})()
"""Stands for "there is no value", since None may be one."""


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
        return f"{printable(self.path) or 'the settings'}: {shown}{self.rule}{remedy}"


class ProblemsError(ValueError):
    """Something given cannot be read or used. `problems` lists everything wrong with it."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


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


def nearest(word: str, known: Iterable[str], most: int = 1) -> list[str]:
    """Those of `known` that `word` may stand for, nearest first; case and underscores do not count."""
    by_plain = {_plain(name): name for name in known}
    return [by_plain[near] for near in difflib.get_close_matches(_plain(word), by_plain, n=most, cutoff=0.6)]


def did_you_mean(word: str, known: Iterable[str], most: int = 1) -> str:
    """A remedy for a misspelt word: "did you mean `X`?", or an empty text when nothing known is near."""
    near = nearest(word, known, most)
    return f"did you mean {', '.join(f'`{name}`' for name in near)}?" if near else ""


def problems_of(
    error: ValidationError, model: type[BaseModel], *, prefix: str = "", snake: bool = False
) -> list[Problem]:
    """Every error of a failed validation, once, in the order of the settings.

    `prefix` is put before each path. Paths are camelCase as in YAML, or snake_case for Python (`snake`).
    """
    found: list[Problem] = []
    errors = error.errors()
    for details in errors:
        if _empty_for_want_of_valid_items(details, errors):
            continue
        for problem in _problems(details, model, prefix, snake):
            if problem not in found and not _joined(found, problem, details):
                found.append(problem)
    return found


def _empty_for_want_of_valid_items(details: ErrorDetails, errors: Sequence[ErrorDetails]) -> bool:
    """Pydantic counts only valid items of a tuple, so that one with a fault in each is also called too short."""
    depth = len(details["loc"])
    return details["type"] == "too_short" and any(
        len(other["loc"]) > depth and other["loc"][:depth] == details["loc"] for other in errors
    )


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
                locate(location + rule.path, model, prefix=prefix, snake=snake).text,
                rule.rule,
                rule.remedy,
                rule.value if rule.value is not ABSENT or spoiled else details["input"],
            )
            for rule in rules
        ]
    place = locate(location, model, prefix=prefix, snake=snake)
    if details["type"] == "extra_forbidden":
        return [_unknown_key(place, str(location[-1]), snake, details["input"])]
    if details["type"] == "missing":
        return [Problem(place.text, "is required", "set it")]
    rule, remedy = _told(details)
    # The remedies of wrong types speak of YAML.
    remedy = "" if snake and details["type"] in _TYPES else remedy
    return [Problem(place.text, rule, remedy, details["input"])]


_TYPES = {
    "model_type": ("should be a map of settings", "write key: value lines below it"),
    "model_attributes_type": ("should be a map of settings", "write key: value lines below it"),
    "dict_type": ("should be a map", "write key: value lines below it"),
    "list_type": ("should be a list", "write each entry on a line with a dash, or in [ ]"),
    "tuple_type": ("should be a list", "write each entry on a line with a dash, or in [ ]"),
    "string_type": ("should be text", "put it in quotes"),
    "int_type": ("should be a whole number", "write digits without quotes"),
    "int_parsing": ("should be a whole number", "write digits without quotes"),
    "int_from_float": ("should be a whole number", "leave the fraction out"),
    "float_type": ("should be a number", "write digits without quotes"),
    "float_parsing": ("should be a number", "write digits without quotes"),
    "bool_type": ("should be true or false", "write true or false without quotes"),
    "bool_parsing": ("should be true or false", "write true or false without quotes"),
}
"""Pydantic's words for wrong types name Python classes; these are for people who write YAML."""


def _told(details: ErrorDetails) -> tuple[str, str]:
    """Rule and remedy of an error that pydantic found by itself."""
    if details["type"] in _TYPES:
        rule, remedy = _TYPES[details["type"]]
        value = details["input"]
        quoting = remedy == "put it in quotes" and not isinstance(value, bool | int | float)
        return rule, "" if quoting else remedy
    message = details["msg"]
    rule = (message[0].lower() + message[1:]).replace("input should", "should")
    if details["type"] == "literal_error" and isinstance(details["input"], str):
        choices = [part for part in str(details["ctx"]["expected"]).split("'") if part.strip(", ") not in ("", "or")]
        return rule, did_you_mean(details["input"], choices)
    return rule, ""


def _joined(found: list[Problem], problem: Problem, details: ErrorDetails) -> bool:
    """Join the last problem and this one when they are alternatives for one value: a number or a list."""
    last = found[-1] if found else None
    start = "should be "
    if (
        last is None
        or (last.path, last.value) != (problem.path, problem.value)
        or not (last.rule.startswith(start) and problem.rule.startswith(start))
        or details["type"] not in _TYPES
    ):
        return False
    found[-1] = replace(last, rule=f"{last.rule} or {problem.rule.removeprefix(start)}", remedy="")
    return True


def _unknown_key(place: Place, key: str, snake: bool, value: Any) -> Problem:
    if why := getattr(place.owner, "not_settable", {}).get(key):
        return Problem(place.text, why, "remove it", value)
    known = keys(place.owner, snake) if place.owner else []
    for match in nearest(key, known):
        if _plain(key) == _plain(match) and key in (match, *(keys(place.owner, not snake) if place.owner else ())):
            return Problem(place.text, "is spelt another way, or twice", f"write `{match}`, once")
    remedy = f"known here: {', '.join(sorted(known))}" if known else "remove it"
    return Problem(place.text, "is not a known key", did_you_mean(key, known) or remedy)


def _plain(word: str) -> str:
    return word.lower().replace("_", "")


def printable(text: str) -> str:
    """A text on one line, whatever it is made of: a terminal obeys none of it."""
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in text)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
