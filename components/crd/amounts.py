"""Quantities, percentages and durations as the CRDs and Karpenter's Go code read them.

The CRD's patterns let through texts on which Go then fails or panics: those are runtime rules. Exact arithmetic is
in `floodplain.quantity` and `floodplain.duration`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from floodplain.duration import NEVER, DurationError, parse
from floodplain.problem import RuleError
from floodplain.quantity import hint

from .violation import RuntimeRuleError

_NUMBER = r"([0-9]+\.?[0-9]*|\.[0-9]+)"
_QUANTITY = re.compile(rf"[+-]?{_NUMBER}([KMGTPE]i|[numkMGTPE]|[eE][+-]?{_NUMBER})?")
_FRACTION_EXPONENT = re.compile(r".*[eE][+-]?[0-9]*\.[0-9]*")
_PERCENT = re.compile(r"([0-9]{1,2}(\.[0-9]{1,2})?|100(\.0{1,2})?)%")
_DURATION = re.compile(r"([0-9]+[smh])+")
_GO_DURATION = re.compile(r"(?:([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+")


def quantity(text: str) -> Iterator[RuleError]:
    """A Kubernetes quantity, as far as the CRD's pattern knows, and parseable by Go."""
    if not _QUANTITY.fullmatch(text):
        yield RuleError("is not a quantity", hint(text), value=text)
    elif _FRACTION_EXPONENT.fullmatch(text):
        yield RuntimeRuleError("has a fraction as exponent, on which Karpenter fails", "write it out", value=text)


def limit(text: str) -> Iterator[RuleError]:
    """A NodePool limit: a quantity, and not negative, since then nothing would ever start."""
    yield from quantity(text)
    if text.startswith("-"):
        yield RuntimeRuleError("is negative, so that no node ever starts", "write 0 or more", value=text)


def reserve(text: str) -> Iterator[RuleError]:
    """What kubelet sets aside: a quantity that does not begin with a minus sign."""
    yield from quantity(text)
    if text.startswith("-"):
        yield RuleError("is negative", "write 0 or more", value=text)


def threshold(text: str) -> Iterator[RuleError]:
    """An eviction threshold: a percentage, or a quantity. The CRD also lets an empty text pass."""
    if not text:
        yield RuntimeRuleError(
            "is empty, on which Karpenter and kubelet fail", "write for example 5% or 100Mi", value=text
        )
    elif text.endswith("%"):
        if not _PERCENT.fullmatch(text):
            yield RuleError(
                "is not a percentage from 0% to 100% with at most two decimals", "write for example 5%", value=text
            )
    else:
        yield from quantity(text)
        if text.startswith("-") or re.fullmatch(r"\+?[0.]+[A-Za-z]*", text):
            yield RuntimeRuleError(
                "is not above zero, which kubelet refuses", "write more, or 0% for no threshold", value=text
            )


def duration(text: str) -> Iterator[RuleError]:
    """Hours, minutes and seconds in whole numbers: `48h`, `1h30m`."""
    if not _DURATION.fullmatch(text):
        yield RuleError("is not a duration", "write whole hours, minutes or seconds: 48h, 1h30m", value=text)
        return
    yield from _too_long(text)


def duration_or_never(text: str) -> Iterator[RuleError]:
    """A duration, or the word Never."""
    if text == NEVER:
        return
    if text.lower() == NEVER.lower():
        yield RuleError("is not a duration", f"write {NEVER} with a capital N", value=text)
        return
    for error in duration(text):
        yield type(error)(error.rule, f"{error.remedy}, or {NEVER}", value=text)


def budget_duration(text: str) -> Iterator[RuleError]:
    """How long a budget's schedule lasts: hours, minutes, or hours and then minutes; cron knows no seconds."""
    if not re.fullmatch(r"([0-9]+[hm]|[0-9]+h[0-9]+m)(0s)?", text):
        yield RuleError("is not a budget's duration", "write hours, minutes or both: 8h, 30m, 8h30m", value=text)
        return
    yield from _too_long(text)


def go_duration(text: str) -> Iterator[RuleError]:
    """Any duration of Go that is not negative. The CRD takes every text; Karpenter cannot read the object then."""
    if text != "0" and not _GO_DURATION.fullmatch(text):
        yield RuntimeRuleError(
            "is not a duration, and one such text stops Karpenter from reading any EC2NodeClass",
            "write for example 90s or 1m30s",
            value=text,
        )


def _too_long(text: str) -> Iterator[RuleError]:
    try:
        parse(text)
    except DurationError:
        yield RuntimeRuleError(
            "is longer than Go can count (about 292 years), and Karpenter cannot read the object",
            "write less",
            value=text,
        )
