"""Does our model's verdict on an object equal the API server's? What differs is explained by name, or is a failure.

Compares and counts; what is asked about is in `variations` and the corpus of tests/components/crd.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from components.crd import Violation, violations
from testbed.cluster.api import Answer, RefusedError
from tests.cluster.oracle.answer_places import overlap, places, says_all, spelt

Manifest = Mapping[str, Any]
Ask = Callable[[Manifest], Answer]
Model = Callable[[Manifest], Sequence[Violation]]

TITLE = "Models against the API server"


@dataclass(frozen=True)
class Explanation:
    """A difference that is meant to be. `applies` looks at what the model refuses, and at the server's answer."""

    name: str
    reason: str
    applies: Callable[[Sequence[Violation], Answer], bool]


def _whole_fractions_only(ours: Sequence[Violation], answer: Answer) -> bool:
    return answer.ok and all(
        isinstance(one.value, float) and one.value.is_integer() and "fraction" in one.rule for one in ours
    )


def _time_of_a_taint(ours: Sequence[Violation], answer: Answer) -> bool:
    return not ours and answer.status == 500 and ".timeAdded: expected any scalar" in answer.message


EXPLANATIONS = (
    Explanation(
        "2.0 for 2",
        "JSON has one kind of number and the server takes 2.0 for 2; we ask for 2, which is 2 to every reader of YAML",
        _whole_fractions_only,
    ),
    Explanation(
        "timeAdded of a taint as a list",
        "create passes it by; an apply patch cannot be read then. Kubernetes sets this key, no user does",
        _time_of_a_taint,
    ),
)


@dataclass
class Agreement:
    """The count of a comparison, and in words each difference that nobody explained."""

    accepted: int = 0
    refused: int = 0
    places_compared: int = 0
    explained: dict[str, int] = field(default_factory=dict)
    unexplained: list[str] = field(default_factory=list)

    @property
    def objects(self) -> int:
        return self.accepted + self.refused

    def report(self, row: Callable[..., None], group: str) -> None:
        """Add to the tables at the end of a run."""
        row(
            TITLE,
            group=group,
            objects=self.objects,
            accepted=self.accepted,
            refused=self.refused,
            agree=self.objects - sum(self.explained.values()) - len(self.unexplained),
            places_compared=self.places_compared,
            explained=", ".join(f"{count} x {name}" for name, count in self.explained.items()) or "none",
            unexplained=len(self.unexplained),
        )
        for one in EXPLANATIONS:
            if one.name in self.explained:
                row(f"{TITLE}: explained differences", difference=one.name, reason=one.reason)


def crd_violations(manifest: Manifest) -> list[Violation]:
    """What our models say that the API server refuses."""
    return [one for one in violations(manifest) if one.where == "crd"]


def compare(
    objects: Iterable[tuple[str, Manifest]],
    ask: Ask,
    model: Model = crd_violations,
    found: Agreement | None = None,
) -> Agreement:
    """Ask both about every object, and add to `found`. The labels name objects in `unexplained`."""
    found = found or Agreement()
    for label, manifest in objects:
        answer, ours = _answer(ask, manifest), model(manifest)
        if answer.ok:
            found.accepted += 1
        else:
            found.refused += 1
        if answer.ok != (not ours):
            reason = next((one.name for one in EXPLANATIONS if one.applies(ours, answer)), None)
            if reason is None:
                found.unexplained.append(_told(label, answer, ours))
            else:
                found.explained[reason] = found.explained.get(reason, 0) + 1
        elif ours:
            compared, differing = _places(answer, ours)
            found.places_compared += compared
            found.unexplained += (
                [f"{_told(label, answer, ours)}\n    differing places: {differing}"] if differing else []
            )
    return found


def _answer(ask: Ask, manifest: Manifest) -> Answer:
    try:
        return ask(manifest)
    except RefusedError as error:  # a version that is not served has no path to ask at
        return error.answer


def _places(answer: Answer, ours: Sequence[Violation]) -> tuple[int, list[str]]:
    """How many places were compared, and those that only one of the two names."""
    theirs, our_places = places(answer), {spelt(one.path) for one in ours}
    differing = [f"server: {one}" for one in sorted(theirs) if not any(overlap(one, other) for other in our_places)]
    if says_all(answer):
        differing += [f"model: {one}" for one in sorted(our_places) if not any(overlap(one, other) for other in theirs)]
    return len(theirs), differing


def _told(label: str, answer: Answer, ours: Sequence[Violation]) -> str:
    said = "accepts" if answer.ok else f"refuses ({answer.status}): {answer.message[:300]}"
    return f"{label}\n    server {said}\n    model {[str(one) for one in ours][:5] or 'accepts'}"
