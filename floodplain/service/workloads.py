"""A request's body to the workloads that somebody asks about, or every problem with it. Pure.

What a body may cost is bounded here: sizes are looked at before anything that takes long to judge.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from pydantic import ValidationError
from pydantic_core import from_json, to_json

from floodplain.problem import Problem, ProblemsError, problems_of
from floodplain.sizing.workload import MOST_IMAGES, CapacityType, Engine, Workload

MOST_WORKLOADS = 1000
_MOST_KEYS, _LONGEST_KEY = 32, 100
_MOST_OPTIONS = 200
"""ODM has about a hundred."""
_LONGEST_OPTIONS = 10_000
_MOST_PROBLEMS = 50
_BODY = "body"
_REMEDIES = {
    "engine": f"write {' or '.join(Engine)}, or leave it out",
    "images": f"write a whole number from 1 to {MOST_IMAGES}",
    "options": "write dsm,pc-quality=high or a list of such texts",
    "megapixels": "write the megapixels of one image, such as 20, or leave it out",
    "peak": "write the task's peak as a quantity, such as 1536Mi",
    "estimate": "write how the peak was found, or leave it out",
    "capacity_type": f"write {' or '.join(CapacityType)}, or leave it out",
    "deadline_seconds": "write whole seconds, such as 86400, or leave it out",
}
"""Where a rule alone was found broken."""


@dataclass(frozen=True)
class Asked:
    """What a body asks for; `many` when it was a list, and so the answer is one."""

    workloads: tuple[Workload, ...]
    many: bool


class AskedError(ProblemsError):
    """A body that asks for nothing we can plan. `problems` lists what is wrong, the first 50."""


def read_workloads(body: bytes) -> Asked:
    """The workloads in JSON bytes. Raises AskedError."""
    if not body.strip():
        raise AskedError([Problem(_BODY, "is empty", 'send JSON such as {"images": 5000}')])
    try:
        loaded = from_json(body, allow_inf_nan=False, cache_strings=False)
    except (ValueError, RecursionError) as error:
        raise AskedError([Problem(_BODY, f"is not JSON ({error})", 'send JSON such as {"images": 5000}')]) from None
    if not isinstance(loaded, list):
        workload, problems = _one(loaded, "")
        if workload is None:
            raise AskedError(problems)
        return Asked((workload,), many=False)
    if not loaded:
        raise AskedError([Problem(_BODY, "is an empty list", "send at least one workload")])
    if len(loaded) > MOST_WORKLOADS:
        rule = f"has {len(loaded)} workloads"
        raise AskedError([Problem(_BODY, rule, f"send at most {MOST_WORKLOADS} at once")])
    return Asked(_all(loaded), many=True)


def _all(loaded: list[Any]) -> tuple[Workload, ...]:
    found: list[Workload] = []
    problems: list[Problem] = []
    for index, entry in enumerate(loaded):
        workload, wrong = _one(entry, f"[{index}]")
        if workload is not None:
            found.append(workload)
        problems += wrong
        if len(problems) >= _MOST_PROBLEMS:
            rest = len(loaded) - index - 1
            if rest:
                told = f"the {rest} workloads after [{index}] were not looked at"
                problems = [*problems[:_MOST_PROBLEMS], Problem(_BODY, told, "mend these first")]
            break
    if problems:
        raise AskedError(problems)
    return tuple(found)


def _one(entry: Any, place: str) -> tuple[Workload | None, list[Problem]]:
    where = place or _BODY
    if not isinstance(entry, dict):
        remedy = 'send an object such as {"images": 5000}, or a list of such'
        return None, [Problem(where, "is no workload", remedy, entry)]
    if len(entry) > _MOST_KEYS or max(map(len, entry), default=0) > _LONGEST_KEY:
        rule = f"has {len(entry)} keys" if len(entry) > _MOST_KEYS else f"has a key of over {_LONGEST_KEY} characters"
        return None, [Problem(where, rule, f"keep those of a workload: {_KEYS}")]
    if (wrong := _too_much(entry.get("options"))) is not None:
        return None, [Problem(f"{place}.options".removeprefix("."), *wrong)]
    try:
        return Workload.model_validate(entry), []
    except ValidationError as error:
        found = problems_of(error, Workload, prefix=place, snake=True)[:_MOST_PROBLEMS]
        return None, [_remedied(problem, place) for problem in found]


def _remedied(problem: Problem, place: str) -> Problem:
    """With a path, since a key may be the empty text, and with what to do."""
    field = re.split(r"[.\[]", problem.path.removeprefix(place).removeprefix("."))[0]
    remedy = problem.remedy or _REMEDIES.get(field, f"keep the keys of a workload: {_KEYS}")
    return replace(problem, path=problem.path or place or _BODY, remedy=remedy)


def _too_much(options: Any) -> tuple[str, str] | None:
    """Rule and remedy for options that would take long to judge, or much to remember."""
    count = 0
    if isinstance(options, str):
        count = 1 + options.count(",") + options.count("\n")
    elif isinstance(options, list | dict):
        count = len(options)
    if count > _MOST_OPTIONS:
        return f"has {count} entries", f"send at most {_MOST_OPTIONS}"
    if len(to_json(options)) > _LONGEST_OPTIONS:
        return f"is longer than {_LONGEST_OPTIONS:,} characters", "write fewer options"
    return None


_KEYS = ", ".join(Workload.model_fields)
