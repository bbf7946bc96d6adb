"""What the annotations of a pod or a Job ask for: a workload and a container, or everything that is wrong with them.

For people they are documented in docs/how-to/size-pods-jobs-and-workflows.md. A Job's own annotations and those of its
template count as one set, in which a key may stand on either or, with the same value, on both.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from pydantic import ValidationError

from floodplain import duration
from floodplain.admission.container import choose
from floodplain.admission.subject import Kind, Subject, at
from floodplain.pools import DOMAIN
from floodplain.problem import Problem, did_you_mean, nearest, problems_of
from floodplain.sizing.workload import CapacityType, Engine, Workload

PREFIX = f"{DOMAIN}/"
ENGINE = f"{PREFIX}engine"
IMAGES = f"{PREFIX}images"
OPTIONS = f"{PREFIX}options"
MEGAPIXELS = f"{PREFIX}megapixels"
PEAK = f"{PREFIX}peak"
ESTIMATE = f"{PREFIX}estimate"
CAPACITY_TYPE = f"{PREFIX}capacity-type"
DEADLINE = f"{PREFIX}deadline"
CONTAINER = f"{PREFIX}container"
PLAN = f"{PREFIX}plan"
"""Written by admission, never by users."""

INPUTS = (ENGINE, IMAGES, OPTIONS, MEGAPIXELS, PEAK, ESTIMATE, CAPACITY_TYPE, DEADLINE, CONTAINER)
_FIELDS = {
    "engine": ENGINE,
    "images": IMAGES,
    "options": OPTIONS,
    "megapixels": MEGAPIXELS,
    "peak": PEAK,
    "estimate": ESTIMATE,
    "capacityType": CAPACITY_TYPE,
    "deadlineSeconds": DEADLINE,
}
_NEEDED = {
    Engine.ODM.value: (IMAGES, "write how many images the job reads"),
    Engine.RASTER.value: (PEAK, "write the peak that `floodplain raster annotate` prints, such as 1536Mi"),
}
_LONGEST_KEY = 100
_MOST_STRANGE = 50
"""Keys that are compared with ours, each of which takes some time. Fewer warnings than that are shown."""


@dataclass(frozen=True)
class Request:
    """What is asked for."""

    workload: Workload
    container: str


@dataclass(frozen=True)
class Reading:
    """A request, or every problem that keeps it from being one; None and no problem where nothing is asked."""

    request: Request | None = None
    problems: tuple[Problem, ...] = ()
    warnings: tuple[str, ...] = ()


def asks(subject: Subject) -> bool:
    """Whether an object asks to be sized, well or badly."""
    return any(key in source for source in _sources(subject).values() for key in INPUTS)


def read(subject: Subject, *, recorded: str | None = None) -> Reading:
    """The request of an object. `recorded` is the container of an earlier plan. Never raises."""
    warnings = tuple(_misspelt(subject))
    asked = _Asked(subject)
    if not asked.places:
        return Reading(warnings=warnings)
    problems = list(asked.problems)
    workload = _workload(asked, problems)
    chosen = choose(
        subject.spec,
        named=asked.values.get(CONTAINER),
        path=asked.place(CONTAINER),
        recorded=recorded,
    )
    if isinstance(chosen, Problem):
        problems.append(chosen)
    if problems or workload is None or isinstance(chosen, Problem):
        return Reading(problems=tuple(problems), warnings=warnings)
    if workload.deadline_seconds is None:
        workload = workload.model_copy(update={"deadline_seconds": _deadline_of_spec(subject)})
    return Reading(Request(workload, chosen), warnings=warnings)


class _Asked:
    """The annotations that are ours, each with its place and, where it is sound, its text."""

    def __init__(self, subject: Subject) -> None:
        self.values: dict[str, str] = {}
        self.places: dict[str, str] = {}
        self.problems: list[Problem] = []
        self._default_place = subject.path("metadata", "annotations")
        sources = _sources(subject)
        for key in INPUTS:
            found = [(place, source[key]) for place, source in sources.items() if key in source]
            if not found:
                continue
            self.places[key] = f"{found[-1][0]}[{key}]"
            texts = [_text(value) for _, value in found]
            for (place, value), text in zip(found, texts, strict=True):
                if text is None:
                    problem = Problem(f"{place}[{key}]", "should be text", "put it in quotes", value)
                    self.problems.append(problem)
            if len(set(texts)) > 1 and None not in texts:
                both = " and ".join(f"{place}[{key}]" for place, _ in found)
                remedy = "write the same in both, or leave one out"
                self.problems.append(Problem(both, "contradict each other", remedy, tuple(texts)))
            elif texts[-1] is not None:
                self.values[key] = texts[-1]

    def place(self, key: str) -> str:
        """Where an annotation stands, or where it would."""
        return self.places.get(key, f"{self._default_place}[{key}]")


def _sources(subject: Subject) -> dict[str, Mapping[str, Any]]:
    sources = {"metadata.annotations": subject.annotations}
    if subject.kind is Kind.JOB:
        sources[subject.path("metadata", "annotations")] = subject.template_annotations
    return sources


def _text(value: Any) -> str | None:
    return value.strip() if isinstance(value, str) else None


def _workload(asked: _Asked, problems: list[Problem]) -> Workload | None:
    """The workload, or None after its problems have been added."""
    given: dict[str, Any] = {field: asked.values[key] for field, key in _FIELDS.items() if key in asked.values}
    own = [*_missing(asked), *_converted(given, asked)]
    told = {problem.path for problem in own} | {problem.path for problem in asked.problems}
    problems += own
    # Where the engine is wrong the rest is judged as that of the engine which has such annotations.
    given.setdefault("engine", Engine.RASTER if PEAK in asked.places and IMAGES not in asked.places else Engine.ODM)
    try:
        workload = Workload.model_validate(given)
    except ValidationError as error:
        for problem in problems_of(error, Workload):
            field = re.split(r"[.\[]", problem.path, maxsplit=1)[0]
            place = asked.place(_FIELDS.get(field, ENGINE))
            if place not in told and not (problem.rule == "is required" and _FIELDS.get(field) in asked.places):
                problems.append(replace(problem, path=place))
        return None
    return None if problems else workload


def _missing(asked: _Asked) -> Iterator[Problem]:
    if ENGINE not in asked.places:
        others = ", ".join(asked.places)
        yield Problem(asked.place(ENGINE), f"is required beside {others}", f"write {' or '.join(Engine)}")
        return
    key, remedy = _NEEDED.get(asked.values.get(ENGINE, ""), ("", ""))
    if key and key not in asked.places:
        yield Problem(asked.place(key), f"is required beside {ENGINE}", remedy)


def _converted(given: dict[str, Any], asked: _Asked) -> Iterator[Problem]:
    """Texts made what the workload's fields are, in place; a text that cannot be is taken out and told."""
    for field, choices in (("engine", Engine), ("capacityType", CapacityType)):
        value = given.get(field)
        if value is not None and value not in tuple(choices):
            del given[field]
            near = did_you_mean(value[:_LONGEST_KEY], choices)
            rule = "is no engine that can be sized" if choices is Engine else "is no capacity type"
            yield Problem(asked.place(_FIELDS[field]), rule, near or f"write {' or '.join(choices)}", value)
    text = given.get("megapixels")
    if text is not None and not re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", text):
        del given["megapixels"]
        yield Problem(
            asked.place(MEGAPIXELS), "is not a number of megapixels", "write digits, such as 20 or 24.2", text
        )
    if "deadlineSeconds" in given:
        try:
            given["deadlineSeconds"] = duration.parse(given["deadlineSeconds"])
        except duration.DurationError as error:
            yield Problem(asked.place(DEADLINE), error.rule, error.remedy, given.pop("deadlineSeconds"))


def _misspelt(subject: Subject) -> Iterator[str]:
    """Annotations of our domain that look like one of ours. Others are somebody else's business."""
    for place, source in _sources(subject).items():
        strange = (key for key in source if key.startswith(PREFIX) and key not in (*INPUTS, PLAN))
        for key in islice(strange, _MOST_STRANGE):
            name = key.removeprefix(PREFIX)[:_LONGEST_KEY]
            near = nearest(name, [known.removeprefix(PREFIX) for known in INPUTS])
            if near:
                yield f"{place}[{PREFIX}{name}] is not read: did you mean {PREFIX}{near[0]}?"


def _deadline_of_spec(subject: Subject) -> int | None:
    """The earlier of the pod's and the Job's activeDeadlineSeconds."""
    found = [subject.spec.get("activeDeadlineSeconds")]
    if subject.kind is Kind.JOB:
        found.append(at(subject.thing, "spec", "activeDeadlineSeconds"))
    return min((one for one in found if isinstance(one, int) and not isinstance(one, bool) and one > 0), default=None)
