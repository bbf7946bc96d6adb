"""A taint that Karpenter gives to new nodes. Not the tolerations of pods."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import BeforeValidator

from floodplain.problem import RuleError

from .model import CrdModel, Raw
from .names import label_value, qualified, taint_text
from .scalars import one_of, text
from .violation import RuntimeRuleError

EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")

_TIMESTAMP = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt]([0-9]{2}:[0-9]{2}:[0-9]{2})(\.[0-9]+)?([Zz]|[+-][0-9]{2}:[0-9]{2})"
)


def _key(key: str) -> Iterator[RuleError]:
    if not key:
        yield RuleError("may not be empty", "write name or domain/name", value=key)
    elif not taint_text(key):
        yield RuleError("is not a taint key", "write name or domain/name", value=key)
    else:
        yield from qualified(key)


def _value(value: str) -> Iterator[RuleError]:
    if not taint_text(value):
        remedy = "leave value out for a taint without one" if not value else "letters, digits, -, _ and . only"
        yield RuleError("is not a taint's value", remedy, value=value)
    elif label_value(value):
        yield RuntimeRuleError(
            f"{label_value(value)}, and a node with such a taint cannot register", "correct it", value=value
        )


def _timestamp(value: str) -> Iterator[RuleError]:
    found = _TIMESTAMP.fullmatch(value)
    try:
        if found is None:
            raise ValueError
        datetime.datetime.fromisoformat(f"{found[1]}T{found[2]}")
    except ValueError:
        yield RuleError("is not a time", "write it as 2026-01-31T12:00:00Z", value=value)


def _no_list(value: Any) -> Any:
    """The API server's check of this format passes lists by (seen on 1.36.3), and Karpenter cannot read them."""
    if isinstance(value, list):
        raise RuntimeRuleError("is a list, and Karpenter cannot read the pool", "write one time", value=value)
    return value


class Taint(CrdModel):
    """A taint: key, optional value and effect."""

    key: Annotated[str, text(_key)]
    value: Annotated[str | None, text(_value)] = None
    effect: Annotated[str, one_of(*EFFECTS)]
    time_added: Annotated[str | None, text(_timestamp), BeforeValidator(_no_list)] = None


def no_taint_twice(raw: Raw) -> Iterator[RuleError]:
    """One key with one effect may stand only once among taints and startupTaints (Karpenter's own check)."""
    seen: dict[tuple[Any, Any], str] = {}
    for field in ("taints", "startupTaints"):
        for position, taint in enumerate(raw.get(field) or ()):
            identity = (taint.get("key"), taint.get("effect"))
            if identity in seen:
                yield RuntimeRuleError(
                    f"repeats {seen[identity]}, and Karpenter takes the pool out of service",
                    "leave one of the two out",
                    (field, position),
                    f"{identity[0]}:{identity[1]}",
                )
            seen.setdefault(identity, f"{field}[{position}]")
