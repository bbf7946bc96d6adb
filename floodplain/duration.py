"""Durations as Karpenter writes them: `48h`, `1h30m`, and `Never` where a field allows it.

A subset of Go's: whole numbers of hours, minutes and seconds. Not for Go's fractions, `ms` or days.
"""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema

from floodplain.problem import RuleError

NEVER = "Never"
PATTERN = r"^([0-9]+(s|m|h))+$"

_SECONDS = {"h": 3600, "m": 60, "s": 1}
# Go keeps a duration in 63 bits of nanoseconds.
_LONGEST_SECONDS = ((1 << 63) - 1) // 10**9
_MOST_DIGITS = len(str(_LONGEST_SECONDS))
_LONGEST_HINTED = 64


class DurationError(RuleError):
    """A text that is no duration. `str()` names the text."""

    def __init__(self, value: Any, rule: str, remedy: str = "") -> None:
        super().__init__(rule, remedy, value=value)

    def __str__(self) -> str:
        return f"{self.value!r} {super().__str__()}"


def parse(text: str) -> int:
    """Seconds of a duration such as `1h30m`. Raises DurationError with a hint."""
    if not isinstance(text, str):
        raise DurationError(text, "is not a duration", _hint(str(text)))
    if not re.fullmatch(r"([0-9]+[smh])+", text):
        raise DurationError(text, "is not a duration", _hint(text))
    parts = [(number.lstrip("0") or "0", unit) for number, unit in re.findall(r"([0-9]+)([smh])", text)]
    # Digits are counted first, since Python refuses to read very long numbers.
    if any(len(number) > _MOST_DIGITS for number, _ in parts):
        raise _too_long(text)
    seconds = sum(int(number) * _SECONDS[unit] for number, unit in parts)
    if seconds > _LONGEST_SECONDS:
        raise _too_long(text)
    return seconds


def _too_long(text: str) -> DurationError:
    return DurationError(text, "is longer than Go's durations (about 292 years)", "write less")


def text(seconds: int) -> str:
    """The shortest usual way to write whole seconds: `48h`, `1h30m`, `0s`."""
    if seconds < 0:
        raise DurationError(seconds, "is negative", "write zero or more")
    hours, rest = divmod(seconds, 3600)
    minutes, rest = divmod(rest, 60)
    parts = [f"{count}{unit}" for count, unit in ((hours, "h"), (minutes, "m"), (rest, "s")) if count]
    return "".join(parts) or "0s"


def seconds_or_never(value: str) -> int | None:
    """Seconds, or None for `Never`."""
    return None if value == NEVER else parse(value)


def _hint(value: str) -> str:
    match = re.fullmatch(r"\s*([0-9]+)(?:\.([0-9]+))?\s*([a-zA-Z]*)\s*", value[:_LONGEST_HINTED])
    if match is None:
        return "write hours, minutes and seconds, such as 48h, 1h30m or 90s"
    number, fraction, unit = match.groups()
    unit = unit.lower()
    if not unit:
        return f"add a unit: {number}h, {number}m or {number}s"
    if unit in ("d", "day", "days") and not fraction:
        return f"write {int(number) * 24}h"
    if unit[0] in _SECONDS and unit != "ms" and not fraction:
        return f"write {number}{unit[0]}"
    return "write whole hours, minutes and seconds, such as 1h30m"


def _checked(value: Any) -> str:
    parse(value)
    return str(value)


def _checked_or_never(value: Any) -> str:
    if value == NEVER:
        return NEVER
    if isinstance(value, str) and value.lower() == "never":
        raise DurationError(value, "is not a duration", f"write {NEVER}")
    return _checked(value)


Duration = Annotated[str, BeforeValidator(_checked), WithJsonSchema({"type": "string", "pattern": PATTERN})]
"""A valid duration, kept as written; `parse` gives its seconds."""

DurationOrNever = Annotated[
    str,
    BeforeValidator(_checked_or_never),
    WithJsonSchema({"type": "string", "pattern": r"^(([0-9]+(s|m|h))+|Never)$"}),
]
"""A valid duration or `Never`, kept as written; `seconds_or_never` gives its seconds."""
