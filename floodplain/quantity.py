"""Kubernetes quantities as exact numbers: `16Gi` is 17179869184 bytes, `100m` of CPU is 100 millicores.

Not a general unit library: it knows the suffixes of Kubernetes' resource.Quantity and nothing else, and
never rounds. What Kubernetes would round (a fraction of a byte) or cut (above 2^63 - 1) is an error here.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema

from floodplain.problem import RuleError

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30

_BINARY = {f"{letter}i": 1024**power for power, letter in enumerate("KMGTPE", start=1)}
_DECIMAL = {
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 1000),
    "": Fraction(1),
    **{letter: Fraction(1000**power) for power, letter in enumerate("kMGTPE", start=1)},
}
_FACTORS: dict[str, Fraction] = {**_DECIMAL, **{key: Fraction(value) for key, value in _BINARY.items()}}

# The longest alternative first: `1E3` is an exponent, `1Ei` a binary and `1E` a decimal suffix.
_PATTERN = re.compile(
    r"(?P<sign>[+-]?)(?P<number>[0-9]+(?:\.[0-9]*)?|\.[0-9]+)"
    r"(?:(?P<binary>[KMGTPE]i)|[eE](?P<exponent>[+-]?[0-9]{1,3})|(?P<decimal>[numkMGTPE]?))"
)
_SCHEMA_PATTERN = r"^\+?([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[eE][+-]?[0-9]{1,3}|[numkMGTPE])?$"
_SCHEMA = WithJsonSchema({"anyOf": [{"type": "string", "pattern": _SCHEMA_PATTERN}, {"type": "integer", "minimum": 0}]})
_LARGEST = (1 << 63) - 1
_LONGEST_TEXT = 64
_EXAMPLE = "write a number with a Kubernetes suffix, such as 16Gi, 500M or 250m"


class QuantityError(RuleError):
    """A text that is no quantity, or one that is not allowed in its place. `str()` names the text."""

    def __init__(self, value: Any, rule: str, remedy: str = "") -> None:
        super().__init__(rule, remedy, value=value)

    def __str__(self) -> str:
        return f"{self.value!r} {super().__str__()}"


def exact(text: str | int) -> Fraction:
    """The exact value of a quantity, in its base unit (bytes, cores). May be negative.

    Raises QuantityError for anything that Kubernetes would not read, with a hint at the likely meaning.
    """
    if isinstance(text, bool) or not isinstance(text, str | int):
        remedy = f"put it in quotes: '{text}'" if isinstance(text, float) else _EXAMPLE
        raise QuantityError(text, "is not a quantity", remedy)
    if isinstance(text, int):
        value = Fraction(text)
    else:
        match = _PATTERN.fullmatch(text) if len(text) <= _LONGEST_TEXT else None
        if match is None:
            raise QuantityError(text, "is not a quantity", hint(text))
        number = Fraction(match["number"].rstrip(".")) * (-1 if match["sign"] == "-" else 1)
        exponent = match["exponent"]
        value = number * (Fraction(10) ** int(exponent) if exponent else _FACTORS[match["binary"] or match["decimal"]])
    if abs(value) > _LARGEST:
        raise QuantityError(text, "is above 2^63 - 1, the largest quantity of Kubernetes", "write less")
    return value


def to_bytes(text: str | int) -> int:
    """Bytes of a memory or storage quantity. A fraction of a byte and a negative amount are errors."""
    value = _not_negative(text)
    if value.denominator != 1:
        raise QuantityError(text, "is not a whole number of bytes", _whole_bytes_hint(text))
    return value.numerator


def from_bytes(count: int) -> str:
    """The canonical quantity: the largest binary suffix that leaves a whole number, else plain bytes."""
    for suffix, factor in reversed(_BINARY.items()):
        if count and count % factor == 0:
            return f"{count // factor}{suffix}"
    return str(count)


def to_millicores(text: str | int) -> int:
    """Thousandths of a core of a CPU quantity. Finer than 1m (Kubernetes refuses it) is an error."""
    value = _not_negative(text) * 1000
    if value.denominator != 1:
        raise QuantityError(text, "is finer than 1m, a thousandth of a core", "round it to whole millicores")
    return value.numerator


def from_millicores(count: int) -> str:
    """`2` for 2000, `250m` for 250."""
    return str(count // 1000) if count % 1000 == 0 else f"{count}m"


def _not_negative(text: str | int) -> Fraction:
    value = exact(text)
    if value < 0:
        raise QuantityError(text, "is negative", "write zero or more")
    return value


def _whole_bytes_hint(text: str | int) -> str:
    if isinstance(text, str) and text.endswith("m"):
        return f"`m` means a thousandth: write {text[:-1]}M (decimal) or {text[:-1]}Mi (binary)"
    return "write whole bytes or a smaller unit, such as 1536Mi for 1.5Gi"


def hint(text: str) -> str:
    """What the writer most likely meant by a text that is no quantity."""
    match = re.fullmatch(r"\s*(\+?[0-9][0-9_]*(?:[.,][0-9]+)?)\s*([a-zA-Zµ]*)\s*", text[:_LONGEST_TEXT])
    if match is None:
        return _EXAMPLE
    number = match[1].replace("_", "").replace(",", ".")
    unit = match[2]
    if unit in _FACTORS:
        return f"write {number}{unit}"
    plain = re.sub(r"(?i)(bytes?|b)$", "", unit)
    if not plain:
        return f"write {number}"
    letter = plain[0].upper()
    if letter not in "KMGTPE" or plain[1:].lower() not in ("", "i"):
        return _EXAMPLE
    if plain[1:]:
        return f"write {number}{letter}i"
    return f"write {number}{'k' if letter == 'K' else letter} (decimal) or {number}{letter}i (binary)"


def _checked_text(value: Any) -> str:
    _not_negative(value)
    return str(value)


QuantityText = Annotated[str, BeforeValidator(_checked_text), _SCHEMA]
"""A valid quantity, zero or more, kept as written (a bare YAML integer becomes its text)."""


def _checked_bytes(value: Any) -> str:
    to_bytes(value)
    return str(value)


BytesText = Annotated[str, BeforeValidator(_checked_bytes), _SCHEMA]
"""A quantity of memory or storage: like QuantityText, and a whole number of bytes."""
