"""Cron schedules of disruption budgets, as Karpenter's cron package (robfig/cron v3) reads them.

The CRD only asks for five words. A schedule that cannot be read makes Karpenter allow no disruption of the pool at
all, by any budget. Not a calendar: nothing here computes times.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from floodplain.problem import RuleError

from .violation import RuntimeRuleError

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_FIELDS: tuple[tuple[str, int, int, tuple[str, ...]], ...] = (
    ("minute", 0, 59, ()),
    ("hour", 0, 23, ()),
    ("day of the month", 1, 31, ()),
    ("month", 1, 12, _MONTHS),
    ("day of the week", 0, 6, _DAYS),
)
_SHORT = ("annually", "daily", "hourly", "midnight", "monthly", "weekly", "yearly")
_HINT = "write five cron fields in UTC (0 9 * * mon-fri) or @daily and the like"

# As the CRD has it: anchored at one end only, each way.
_CRD_SHORT = re.compile(rf"@({'|'.join(_SHORT)})")
_CRD_FIVE = re.compile(r"(.+)[ \t\n\f\r](.+)[ \t\n\f\r](.+)[ \t\n\f\r](.+)[ \t\n\f\r](.+)\Z")


def cron_schedule(text: str) -> Iterator[RuleError]:
    """What is wrong with a budget's schedule."""
    if not _CRD_SHORT.match(text) and not _CRD_FIVE.search(text):
        yield RuleError("is not a cron schedule", _HINT, value=text)
        return
    wrong = _unreadable(text)
    if wrong:
        yield RuntimeRuleError(f"{wrong}, and Karpenter then disrupts nothing in the pool", _HINT, value=text)


def _unreadable(written: str) -> str:
    text = written.strip()
    if text.startswith("@"):
        return "" if text[1:] in _SHORT else "is not a known short form"
    words = text.split()
    if words and re.match(r"(CRON_)?TZ=", words[0]):
        return "names a time zone, while budgets are in UTC"
    if len(words) != len(_FIELDS):
        return f"has {len(words)} fields in place of {len(_FIELDS)}"
    for word, (what, low, high, names) in zip(words, _FIELDS, strict=True):
        for part in filter(None, word.split(",")):
            if not _readable(part, low, high, names):
                return f"has a wrong {what} ({part!r}; {low} to {high})"
    return ""


def _readable(part: str, low: int, high: int, names: tuple[str, ...]) -> bool:
    """One item of a cron field: `*`, `5`, `1-5`, each with an optional `/step`."""
    span, *steps = part.split("/")
    if len(steps) > 1 or any(not re.fullmatch(r"[0-9]{1,9}", step) or int(step) == 0 for step in steps):
        return False
    ends = span.split("-")
    if ends[0] in ("*", "?"):
        return True  # whatever follows a hyphen is passed over
    numbers = [_number(end, low, names) for end in ends]
    if len(numbers) > 2 or any(number is None or not low <= number <= high for number in numbers):
        return False
    return len(numbers) == 1 or (numbers[0] or 0) <= (numbers[1] or 0)


def _number(word: str, low: int, names: tuple[str, ...]) -> int | None:
    if word.lower() in names:
        return names.index(word.lower()) + low
    return int(word) if re.fullmatch(r"[0-9]{1,9}", word) else None
