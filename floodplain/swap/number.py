"""Ratios, margins and shares as exact numbers. Not for bytes, which are whole numbers everywhere."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

from floodplain.problem import RuleError

Number = int | float | Decimal | Fraction


# Typed: a double and the Decimal that equals it are different numbers as written.
@lru_cache(maxsize=1024, typed=True)
def exact_number(value: Number, what: str) -> Fraction:
    """The number as it is written: the float 0.2 is one fifth, not the double next to it.

    `what` names it in the RuleError for a negative or infinite number.
    """
    try:
        exact = Fraction(str(value)) if isinstance(value, float) else Fraction(value)
    except (ValueError, OverflowError) as error:
        raise RuleError(f"is no number for a {what}", "write zero or more", value=value) from error
    if exact < 0:
        raise RuleError(f"is below zero, which no {what} may be", "write zero or more", value=value)
    return exact
