"""Field types as the API server reads them: strict, so that a number is never taken for a string.

Each is a pydantic validator for `Annotated[...]`; all let None pass, which stands for "not set". Not the texts with
a grammar of their own: those are in `names`, `amounts` and `schedule`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from pydantic import BeforeValidator

from floodplain.problem import RuleError, did_you_mean, raise_rules

TextRule = Callable[[str], Iterable[RuleError]]
"""Given a text, says which rules it breaks."""

INT32_MAX = 2**31 - 1
INT64_MAX = 2**63 - 1


def kind_of(value: Any) -> str:
    """What a reader would call this value."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a true or false"
    if isinstance(value, int):
        return "a whole number"
    if isinstance(value, float):
        return "a fraction"
    if isinstance(value, str):
        return "a string"
    if isinstance(value, Mapping):
        return "a map"
    return "a list" if isinstance(value, list | tuple) else f"a {type(value).__name__}"


def _as_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    quoted = str(value).lower() if isinstance(value, bool) else str(value)
    remedy = f'write it in quotes: "{quoted}"' if isinstance(value, int | float) else ""
    raise RuleError(f"is {kind_of(value)} and must be a string", remedy, value=value)


def text(*rules: TextRule) -> BeforeValidator:
    """A string that keeps `rules`."""

    def check(value: Any) -> Any:
        if value is None:
            return None
        written = _as_text(value)
        raise_rules(error for rule in rules for error in rule(written))
        return written

    return BeforeValidator(check)


def not_empty(value: str) -> Iterator[RuleError]:
    """The text may not be empty."""
    if not value:
        yield RuleError("may not be empty", "write a value or leave the key out", value=value)


def one_of(*known: str) -> BeforeValidator:
    """One of the words `known`."""

    def rule(value: str) -> Iterator[RuleError]:
        if value not in known:
            told = f"is not one of {', '.join(known)}" if len(known) > 1 else f"must be {known[0]}"
            remedy = did_you_mean(value, known) if len(known) > 1 else f"write {known[0]}"
            yield RuleError(told, remedy, value=value)

    return text(rule)


def whole(low: int | None = None, high: int = INT32_MAX) -> BeforeValidator:
    """A whole number from `low` to `high`; without `low` any that fits the width of `high`.

    Stricter than the API server in one point: it takes 2.0 where no CEL rule happens to read the field.
    """
    least = -high - 1 if low is None else low

    def check(value: Any) -> Any:
        if value is None:
            return None
        if isinstance(value, float) and value.is_integer():
            # The API server's type check lets 2.0 pass, yet any CEL rule that reads the field fails (seen on 1.36.3).
            raise RuleError("is written as a fraction", f"write {int(value)}", value=value)
        if isinstance(value, bool) or not isinstance(value, int):
            remedy = f"write it without quotes: {value}" if _is_number(value) else "write a whole number"
            raise RuleError(f"is {kind_of(value)} and must be a whole number", remedy, value=value)
        if value < least:
            raise RuleError(f"is below {least}", f"write {least} or more", value=value)
        if value > high:
            raise RuleError(f"is above {high}", f"write {high} or less", value=value)
        return value

    return BeforeValidator(check)


def _is_number(value: Any) -> bool:
    return isinstance(value, str) and value.lstrip("+-").isdecimal()


def _flag(value: Any) -> Any:
    if value is None or isinstance(value, bool):
        return value
    raise RuleError(f"is {kind_of(value)} and must be true or false", "write true or false", value=value)


def _listed(value: Any) -> Any:
    if value is None or isinstance(value, list | tuple):
        return value
    remedy = f'write it as a list: ["{value}"]' if isinstance(value, str) else "write a list"
    raise RuleError(f"is {kind_of(value)} and must be a list", remedy, value=value)


flag = BeforeValidator(_flag)
"""true or false."""

listed = BeforeValidator(_listed)
"""A list; its items are checked by their own type."""


def text_map(
    *rules: Callable[[Mapping[str, Any]], Iterable[RuleError]],
    value: TextRule | None = None,
    numbers: bool = False,
) -> BeforeValidator:
    """A map from texts to texts; keys with null are dropped, as the API server does.

    `rules` see the whole map, `value` each text in it; `numbers` lets whole numbers stand for texts
    (Kubernetes' int-or-string).
    """

    def check(given: Any) -> Any:
        if given is None:
            return None
        if not isinstance(given, Mapping):
            raise RuleError(f"is {kind_of(given)} and must be a map", "write key: value pairs", value=given)
        entries = {str(key): item for key, item in given.items() if item is not None}
        broken = [error for rule in rules for error in rule(entries)]
        for key, item in entries.items():
            broken += _entry(key, item, value, numbers)
        raise_rules(broken)
        return entries

    return BeforeValidator(check)


def _entry(key: str, item: Any, rule: TextRule | None, numbers: bool) -> Iterator[RuleError]:
    whole_number = numbers and isinstance(item, int) and not isinstance(item, bool)
    if whole_number and not -INT64_MAX - 1 <= item <= INT64_MAX:
        yield RuleError("does not fit 64 bits", "write less", (key,), item)
        return
    try:
        written = str(item) if whole_number else _as_text(item)
    except RuleError as error:
        yield RuleError(error.rule, error.remedy, (key,), item)
        return
    for broken in rule(written) if rule else ():
        yield type(broken)(broken.rule, broken.remedy, (key, *broken.path), item)
