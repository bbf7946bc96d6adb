"""The text of the annotation `floodplain.dev/plan`: the explanation, and what a plan wrote. Bounded in size.

JSON, compact, keys sorted. The plan's keys are those of `floodplain plan --json`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from floodplain.admission.decision import Mode
from floodplain.admission.written import Written, of_json
from floodplain.problem import Problem
from floodplain.sizing.plan import Plan

SCHEMA_VERSION = 1
MOST_BYTES = 4095
"""All annotations of an object share 256 KiB, and people read this one in a terminal."""
_LONGEST_READ = 64 * 1024
_STEPS = ((12, 300), (8, 160), (4, 100), (2, 60), (1, 30))
"""Items of a list and characters of a text that are kept, tried one after the other."""


def render(
    mode: Mode,
    *,
    plan: Plan | None = None,
    problems: Sequence[Problem] = (),
    notes: Sequence[str] = (),
    written: Written | None = None,
) -> str:
    """The annotation. Long lists and texts are cut and say so."""
    kept = {} if written is None else written.to_json()
    told: dict[str, Any] = {}
    if plan is not None:
        told["plan"] = plan.model_dump(mode="json", exclude_none=True, exclude={"schema_version"})
        told["plan"]["notes"] = [*plan.notes, *notes]
        told["plan"] = {key: value for key, value in told["plan"].items() if value != []}
    if problems:
        told["problems"] = [str(problem) for problem in problems]
    head = {"schema_version": SCHEMA_VERSION, "mode": mode.value}
    for items, letters in _STEPS:
        text = _compact({**head, **kept, **_cut(told, items, letters)})
        if len(text) <= MOST_BYTES:
            return text
    return _compact({**head, "problems": ["there is more to say than fits here"]})


def written_in(annotation: Any) -> Written | None:
    """What the annotation says was written. Never raises: it may be anybody's text."""
    if not isinstance(annotation, str) or len(annotation) > _LONGEST_READ:
        return None
    try:
        return of_json(json.loads(annotation))
    except (ValueError, RecursionError):
        return None


def _compact(content: Any) -> str:
    return json.dumps(content, sort_keys=True, separators=(",", ":"))


def _cut(value: Any, items: int, letters: int) -> Any:
    if isinstance(value, str):
        return value if len(value) <= letters else f"{value[: letters - 3]}..."
    if isinstance(value, list):
        shown = [_cut(one, items, letters) for one in value[:items]]
        return shown if len(value) <= items else [*shown, f"and {len(value) - items} more"]
    if isinstance(value, dict):
        return {key: _cut(one, items, letters) for key, one in value.items()}
    return value
