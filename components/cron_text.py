"""A CronJob's schedule, refused where Kubernetes would refuse it: five fields of numbers, ranges and steps.

Kubernetes reads schedules with robfig/cron's standard parser (https://pkg.go.dev/github.com/robfig/cron/v3), which
also knows words such as @hourly and time zones in the text; we leave both out, so that there is one way to write one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from pydantic import AfterValidator

from floodplain.problem import RuleError, raise_rules

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_PART = re.compile(r"(?:[*?]|(?P<first>[0-9a-z]+)(?:-(?P<last>[0-9a-z]+))?)(?:/(?P<step>[0-9]+))?", re.A)


@dataclass(frozen=True)
class _Field:
    name: str
    least: int
    most: int
    words: tuple[str, ...] = ()

    def number(self, text: str) -> int | None:
        """What a number or a word stands for; None where it is no value of this field."""
        if text in self.words:
            return self.words.index(text) + self.least
        return int(text) if text.isdecimal() and self.least <= int(text) <= self.most else None

    def accepts(self, text: str) -> bool:
        """Whether Kubernetes would take this field."""
        return all(self._accepts_part(part) for part in text.lower().split(","))

    def _accepts_part(self, text: str) -> bool:
        part = _PART.fullmatch(text)
        if not part or (part["step"] and int(part["step"]) == 0):
            return False
        ends = [self.number(end) for end in (part["first"], part["last"]) if end is not None]
        known = [end for end in ends if end is not None]
        return len(known) == len(ends) and known == sorted(known)


_FIELDS = (
    _Field("minute", 0, 59),
    _Field("hour", 0, 23),
    _Field("day of the month", 1, 31),
    _Field("month", 1, 12, _MONTHS),
    _Field("day of the week", 0, 6, _DAYS),
)


def _problems(schedule: str) -> Iterator[RuleError]:
    texts = schedule.split()
    if len(texts) != len(_FIELDS):
        names = ", ".join(field.name for field in _FIELDS)
        yield RuleError(f"is not a schedule of five fields ({names})", 'write one such as "17 * * * *"')
        return
    for field, text in zip(_FIELDS, texts, strict=True):
        if not field.accepts(text):
            span = f"{field.least} to {field.most}{', or its English name of three letters' if field.words else ''}"
            yield RuleError(f"has {text!r} as {field.name}, which is no cron field", f"use *, numbers from {span}")


def _schedule(text: str) -> str:
    raise_rules(_problems(text))
    return text


CronText = Annotated[str, AfterValidator(_schedule)]
