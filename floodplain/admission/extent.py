"""Whether a pod lists more than can be gone through while others wait for an answer. Not whether it is sound.

Whoever may make pods may send 3 MiB of anything, and the API server validates only after admission. Some of it is gone
through once for each instance type or against each other, and questions are answered one after the other: one such pod
would keep everybody's waiting.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from floodplain.admission.subject import Subject, at, mapping
from floodplain.problem import Problem

MOST = 1000
"""Entries of one kind. A pod that a node can run has some tens."""
_LISTED = ("containers", "initContainers", "tolerations", "nodeSelector")
_TERMS = (
    "affinity",
    "nodeAffinity",
    "requiredDuringSchedulingIgnoredDuringExecution",
    "nodeSelectorTerms",
)


def too_many(subject: Subject) -> Iterator[Problem]:
    """A problem for each part of the pod with more entries than are read, whatever its shape."""
    for key in _LISTED:
        if _length(subject.spec.get(key)) > MOST:
            yield Problem(subject.path("spec", key), f"has more than {MOST} entries", "write fewer")
    if _entries(at(subject.spec, *_TERMS)) > MOST:
        rule = f"has more than {MOST} terms, expressions and values"
        yield Problem(subject.path("spec", *_TERMS), rule, "write fewer")


def _entries(terms: Any) -> int:
    """Of node affinity: its terms, their expressions and the values of those together."""
    count = _length(terms)
    for term in terms if isinstance(terms, list) else ():
        expressions = mapping(term).get("matchExpressions")
        count += _length(expressions)
        for one in expressions if isinstance(expressions, list) else ():
            count += _length(mapping(one).get("values"))
    return count


def _length(value: Any) -> int:
    return len(value) if isinstance(value, list | Mapping) else 0
