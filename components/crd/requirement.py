"""One NodePool requirement: a label key, an operator and values, with the rules of the CRD and of Karpenter.

Not which instance types it leaves: that is `floodplain.catalogue`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

from floodplain.catalogue.requirements import ALIASES, AWS_LABELS, OPERATORS
from floodplain.problem import RuleError, did_you_mean

from .model import CrdModel, Raw
from .names import KNOWN_VALUES, NUMERIC_AWS_LABELS, label_value, qualified, reserved_label, taint_text
from .scalars import INT64_MAX, listed, one_of, text, whole
from .violation import RuntimeRuleError

KEY_MOST = 316
MIN_VALUES_MOST = 50
NUMERIC_OPERATORS = ("Gt", "Lt", "Gte", "Lte")

_TEXT_AWS_LABELS = frozenset(AWS_LABELS) - NUMERIC_AWS_LABELS


def label_key(key: str) -> Iterator[RuleError]:
    """A requirement's key: its length and grammar, and the labels that Karpenter reserves."""
    if len(key) > KEY_MOST:
        yield RuleError(f"has {len(key)} characters and may have {KEY_MOST}", "shorten it", value=key)
    if not taint_text(key):
        yield RuleError("is not a label key", "write name or domain/name", value=key)
        return
    yield from reserved_label(key)
    yield from qualified(key)


def _values_fit_operator(raw: Raw) -> Iterator[RuleError]:
    operator = raw.get("operator")
    values: Sequence[str] = raw.get("values") or ()
    if operator == "In" and not values:
        yield RuleError("needs at least one value with In", "list the values that are allowed", ("values",))
    if operator in NUMERIC_OPERATORS and (len(values) != 1 or not _is_count(values[0])):
        yield RuleError(
            f"must be one whole number of 0 or more with {operator}",
            'write it as a string: ["5"]',
            ("values",),
            list(values),
        )
    if operator in ("Exists", "DoesNotExist") and values:
        yield RuntimeRuleError(
            f"are ignored in silence with {operator}", "leave them out, or use In", ("values",), list(values)
        )
    if operator == "NotIn" and not values:
        yield RuntimeRuleError("exclude nothing with NotIn when empty", "list them, or use Exists", ("values",))


def _is_count(value: Any) -> bool:
    return bool(re.fullmatch(r"\+?[0-9]+|-0+", value)) and int(value) <= INT64_MAX


def _enough_values(raw: Raw) -> Iterator[RuleError]:
    least, values = raw.get("minValues"), raw.get("values") or ()
    if least is None or raw.get("operator") != "In":
        return
    if least > len(values):
        yield RuleError(
            f"is more than the number of values listed ({len(values)})",
            f"list {least - len(values)} more or write a smaller number",
            ("minValues",),
            least,
        )
    elif least > len(set(values)):
        yield RuntimeRuleError(
            f"is more than the number of different values ({len(set(values))})", "list others", ("minValues",), least
        )


def _values_are_labels(raw: Raw) -> Iterator[RuleError]:
    """The CRD states this rule at the list, where it has no effect, so only Karpenter applies it."""
    for position, value in enumerate(raw.get("values") or ()):
        wrong = label_value(value)
        if wrong:
            yield RuntimeRuleError(
                wrong, "Karpenter takes the pool out of service; correct it", ("values", position), value
            )


def _values_are_known(raw: Raw) -> Iterator[RuleError]:
    key = ALIASES.get(raw["key"], raw["key"])
    known = KNOWN_VALUES.get(key, frozenset())
    if raw.get("operator") not in ("In", "NotIn") or not known:
        return
    for position, value in enumerate(raw.get("values") or ()):
        if value not in known:
            remedy = did_you_mean(value, known) or f"known: {', '.join(sorted(known))}"
            yield RuntimeRuleError(f"is no value of {key}", remedy, ("values", position), value)


def _numbers_where_numbers_are(raw: Raw) -> Iterator[RuleError]:
    if raw.get("operator") in NUMERIC_OPERATORS and raw["key"] in (_TEXT_AWS_LABELS | KNOWN_VALUES.keys()):
        yield RuntimeRuleError(
            f"compares numbers, and the values of {raw['key']} are words, so that no node ever starts",
            "use In or NotIn",
            ("operator",),
            raw["operator"],
        )


class Requirement(CrdModel):
    """A requirement on the nodes of a pool."""

    rules = (
        _values_fit_operator,
        _enough_values,
        _values_are_labels,
        _values_are_known,
        _numbers_where_numbers_are,
    )

    key: Annotated[str, text(label_key)]
    operator: Annotated[str, one_of(*OPERATORS)]
    values: Annotated[tuple[Annotated[str, text()], ...] | None, listed] = None
    min_values: Annotated[int | None, whole(1, MIN_VALUES_MOST)] = None
