"""Which places of an object does an API server's refusal speak of? Not what it says of them.

Its causes name a field; where a rule stands on a map or list, the field is that and not the entry. Integers that are
too large have no field but a sentence; unknown keys and texts in place of structs have a message only.
"""

from __future__ import annotations

import re

from testbed.cluster.api import Answer

_IN_SENTENCES = (
    re.compile(r'unknown field "([^"]*)"'),
    re.compile(r"Checked value must be of type integer with format int\d+ in (\S+)"),
)
_NOT_ALL_CHECKED = "some validation rules were not checked"


def places(answer: Answer) -> frozenset[str]:
    """The places, in one spelling: `spec.limits.cpu`, `spec.taints.0.key`."""
    found: set[str] = set()
    causes = answer.body.get("details", {}).get("causes", ())
    for message in [cause.get("message", "") for cause in causes] or [answer.message]:
        for sentence in _IN_SENTENCES:
            found |= set(sentence.findall(message))
    found |= {cause["field"] for cause in causes if cause.get("field", "<nil>") != "<nil>"}
    return frozenset(spelt(place) for place in found)


def says_all(answer: Answer) -> bool:
    """Whether every rule was looked at. A server that cannot read an object, or whose schema it breaks, stops there."""
    return _NOT_ALL_CHECKED not in answer.message and bool(answer.body.get("details", {}).get("causes"))


def spelt(place: str) -> str:
    """One spelling for `labels["a/b"]`, `labels[a/b]` and `labels.a/b`."""
    return re.sub(r"\.\.+", ".", re.sub(r'\["?|"?\]', ".", place)).strip(".")


def overlap(one: str, other: str) -> bool:
    """Whether two places are one, or one lies in the other. Both as `spelt`."""
    return one == other or not one or not other or one.startswith(f"{other}.") or other.startswith(f"{one}.")
