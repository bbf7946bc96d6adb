"""Which label values a set of requirements admits, in Karpenter's semantics, as sets that can be compared.

Karpenter keeps for each key either a finite set of values, or "all but these" within whole-number bounds
(karpenter pkg/scheduling/requirement.go). Not for reading manifests: give it requirements that are sound.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from floodplain.catalogue.requirements import ALIASES


@dataclass(frozen=True)
class Admitted:
    """The values of one label: those in `values`, or with `all_but` every other one within the bounds."""

    values: frozenset[str] = frozenset()
    all_but: bool = True
    least: int | None = None
    most: int | None = None

    def __contains__(self, value: str) -> bool:
        return (value not in self.values if self.all_but else value in self.values) and self._within(value)

    def _within(self, value: str) -> bool:
        if self.least is None and self.most is None:
            return True
        if not re.fullmatch(r"[+-]?[0-9]+", value):
            return False
        number = int(value)
        return (self.least is None or number >= self.least) and (self.most is None or number <= self.most)

    @property
    def is_empty(self) -> bool:
        """Whether no value is left."""
        if not self.all_but:
            return not self.values
        if self.least is None or self.most is None:
            return False
        return all(str(n) in self.values for n in range(self.least, min(self.most, self.least + 1000) + 1))

    def both(self, other: Admitted) -> Admitted:
        """The values in both sets."""
        least = max((n for n in (self.least, other.least) if n is not None), default=None)
        most = min((n for n in (self.most, other.most) if n is not None), default=None)
        if self.all_but and other.all_but:
            return Admitted(self.values | other.values, True, least, most)
        finite = self if not self.all_but else other
        kept = frozenset(value for value in finite.values if value in self and value in other)
        return Admitted(kept, False)

    def covers(self, other: Admitted) -> bool:
        """Whether every value of `other` is in this set; False when unsure."""
        if not other.all_but:
            return all(value in self for value in other.values if value in other)
        if other.is_empty:
            return True
        return (
            self.all_but
            and all(value not in other for value in self.values)
            and (self.least is None or (other.least is not None and self.least <= other.least))
            and (self.most is None or (other.most is not None and self.most >= other.most))
        )


def admitted(requirements: Iterable[Mapping[str, Any]]) -> dict[str, Admitted]:
    """What a list of requirements (as in a manifest) admits, by label key."""
    found: dict[str, Admitted] = {}
    for requirement in requirements:
        key = ALIASES.get(requirement["key"], requirement["key"])
        found[key] = found.get(key, Admitted()).both(_one(requirement))
    return found


def contradictions(requirements: Sequence[Mapping[str, Any]]) -> list[str]:
    """The keys whose requirements, several of them, leave no value, although one of them asks for some."""
    operators: dict[str, list[str]] = {}
    for requirement in requirements:
        key = ALIASES.get(requirement["key"], requirement["key"])
        operators.setdefault(key, []).append(requirement["operator"])
    return [
        key
        for key, values in admitted(requirements).items()
        if values.is_empty and len(operators[key]) > 1 and set(operators[key]) - {"DoesNotExist", "NotIn"}
    ]


def _one(requirement: Mapping[str, Any]) -> Admitted:
    values: Sequence[str] = requirement.get("values") or ()
    match requirement["operator"]:
        case "In":
            return Admitted(frozenset(values), all_but=False)
        case "NotIn":
            return Admitted(frozenset(values))
        case "DoesNotExist":
            return Admitted(all_but=False)
        case "Gt":
            return Admitted(least=int(values[0]) + 1)
        case "Gte":
            return Admitted(least=int(values[0]))
        case "Lt":
            return Admitted(most=int(values[0]) - 1)
        case "Lte":
            return Admitted(most=int(values[0]))
        case _:
            return Admitted()
