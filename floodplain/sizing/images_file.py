"""Many jobs as lines of text: a count of images, or a JSON object with more about the job. Pure: takes one line.

Blank lines and lines that begin with # say nothing. What a line leaves out is taken from the defaults.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pydantic import ValidationError

from floodplain.json_once import once
from floodplain.problem import Problem, ProblemsError, RuleError, problems_of
from floodplain.sizing.workload import MOST_IMAGES, Workload

LONGEST_LINE_BYTES = 1 << 16
"""No job needs a longer line; whoever gives a picture or a disk image should be told early."""
_EXAMPLE = 'write a count of images, or an object such as {"images": 500, "options": "dsm"}'


class LineError(ProblemsError):
    """A line that is no job. `problems` lists everything wrong with it, each with the line's number."""


def job_of_line(line: bytes, number: int, defaults: Mapping[str, Any]) -> Workload | None:
    """The job of a line, or None if the line says nothing. `number` counts lines from 1.

    `defaults` has Workload's fields by their Python names. Raises LineError.
    """
    where = f"line {number}"
    if len(line) > LONGEST_LINE_BYTES:
        raise LineError([Problem(where, f"is longer than {LONGEST_LINE_BYTES:,} bytes", _EXAMPLE)])
    try:
        text = line.decode("utf-8-sig" if number == 1 else "utf-8").strip()
    except UnicodeDecodeError as error:
        raise LineError([Problem(where, f"is not UTF-8 (byte {error.start})", "write the file as UTF-8")]) from error
    if not text or text.startswith("#"):
        return None
    given = _object(text, where) if text.startswith("{") else {"images": text}
    merged = {**{name: value for name, value in defaults.items() if not _names(given, name)}, **given}
    try:
        return Workload.model_validate(merged)
    except ValidationError as error:
        found = problems_of(error, Workload)
    raise LineError(_placed(problem, where, plain=not text.startswith("{")) for problem in found)


def _object(text: str, where: str) -> dict[str, Any]:
    try:
        loaded: Any = json.loads(text, object_pairs_hook=once)
    except RuleError as error:
        raise LineError([Problem(where, error.rule, error.remedy, error.value)]) from error
    except (ValueError, RecursionError) as error:
        raise LineError([Problem(where, f"is not JSON ({error})", _EXAMPLE, text)]) from error
    if not isinstance(loaded, dict):
        raise LineError([Problem(where, "is no object", _EXAMPLE, text)])
    return loaded


def _names(given: Mapping[str, Any], field: str) -> bool:
    """Whether the line gives this field, in either spelling."""
    return field in given or Workload.model_fields[field].alias in given


def _placed(problem: Problem, where: str, *, plain: bool) -> Problem:
    if plain and problem.path == "images":
        return replace(problem, path=where, remedy=problem.remedy or f"write a whole number from 1 to {MOST_IMAGES}")
    if problem.path == "images" and problem.rule == "is required":
        return replace(problem, path=f"{where}, images", remedy=_EXAMPLE)
    path = re.sub(r"\.([0-9]+)", r"[\1]", problem.path)
    return replace(problem, path=f"{where}, {path}" if path else where)
