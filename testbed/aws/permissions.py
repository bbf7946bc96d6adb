"""Does an IAM document grant what a call needs? Actions, resources and those conditions that a request itself settles.

moto denies nothing, so that this is how policies are held against the calls that were made. Pure. Not for users'
permission boundaries, service control policies or resource policies.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

Tags = Mapping[str, str]


@dataclass(frozen=True)
class Need:
    """One action on one resource. Tags are None where nobody knows them: conditions on them are then not settled."""

    action: str
    resource: str
    request_tags: Tags | None = field(default_factory=dict, hash=False)
    resource_tags: Tags | None = field(default=None, hash=False)
    facts: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Other condition keys with their values, such as aws:RequestedRegion."""


@dataclass(frozen=True)
class Verdict:
    """`granted_by` are the statements' ids, `unsettled` condition keys that would have to be known on top of it."""

    granted_by: tuple[str, ...] = ()
    denied_by: tuple[str, ...] = ()
    unsettled: tuple[str, ...] = ()

    @property
    def granted(self) -> bool:
        return bool(self.granted_by) and not self.denied_by


def verdict(documents: Iterable[str], need: Need) -> Verdict:
    """What a role's documents say about a need. Where one statement settles it, unsettled ones do not count."""
    allowing: list[tuple[str, tuple[str, ...]]] = []
    denying: list[str] = []
    for statement in _statements(documents):
        if not _about(statement, need):
            continue
        met, unsettled = _conditions(statement.get("Condition", {}), need)
        if met and statement["Effect"] == "Deny":
            denying.append(_id(statement))
        elif met:
            allowing.append((_id(statement), unsettled))
    settled = [name for name, unsettled in allowing if not unsettled]
    names = settled or [name for name, _ in allowing]
    keys = () if settled else tuple(sorted({key for _, unsettled in allowing for key in unsettled}))
    return Verdict(tuple(names), tuple(denying), keys)


def _statements(documents: Iterable[str]) -> Iterator[Mapping[str, Any]]:
    for document in documents:
        yield from json.loads(document)["Statement"]


def _id(statement: Mapping[str, Any]) -> str:
    return str(statement.get("Sid", "(no id)"))


def _about(statement: Mapping[str, Any], need: Need) -> bool:
    actions = _each(statement.get("Action", []))
    return any(fnmatchcase(need.action.lower(), action.lower()) for action in actions) and any(
        _fits(need.resource, pattern) for pattern in _each(statement.get("Resource", []))
    )


def _fits(text: str, pattern: str) -> bool:
    """IAM's wildcards: `*` and `?`. Square brackets, which fnmatch would read too, stand for themselves."""
    return fnmatchcase(text, pattern.replace("[", "[[]"))


def _conditions(conditions: Mapping[str, Mapping[str, Any]], need: Need) -> tuple[bool, tuple[str, ...]]:
    """Whether no condition fails, and the keys that are not settled."""
    unsettled = []
    for operator, wanted in conditions.items():
        for key, values in wanted.items():
            known, found = _value(key, need)
            if not known:
                unsettled.append(key)
            elif not _met(operator, found, [str(value) for value in _each(values)]):
                return False, ()
    return True, tuple(unsettled)


def _value(key: str, need: Need) -> tuple[bool, Sequence[str]]:
    """Whether a condition key is settled, and its values; none where the request has no such key."""
    for prefix, tags in (("aws:RequestTag/", need.request_tags), ("aws:ResourceTag/", need.resource_tags)):
        if key.startswith(prefix):
            name = key.removeprefix(prefix)
            return tags is not None, [tags[name]] if tags is not None and name in tags else []
    if key == "aws:TagKeys":
        return need.request_tags is not None, list(need.request_tags or ())
    return key in need.facts, [need.facts[key]] if key in need.facts else []


def _met(operator: str, found: Sequence[str], wanted: Sequence[str]) -> bool:
    name = operator.removesuffix("IfExists")
    every = name.startswith("ForAllValues:")
    name = name.removeprefix("ForAllValues:")
    if name not in ("StringEquals", "StringLike", "ArnEquals", "ArnLike"):
        raise ValueError(f"the condition operator {operator} is not known here")
    if not found:
        return every or operator.endswith("IfExists")
    fits = str.__eq__ if name == "StringEquals" else _fits
    return all(any(fits(value, one) for one in wanted) for value in found)


def _each(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else [str(one) for one in value]
