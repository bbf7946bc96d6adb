"""How every door of the service says that something is wrong: one shape, a list of problems. Pure."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

from starlette.responses import Response

from floodplain.problem import ABSENT, Problem

_LONGEST = 200
"""Of a value that is told back. What somebody sent may be the whole body."""


def told(problem: Problem) -> dict[str, Any]:
    """A problem as JSON; without `value` where there is none."""
    found: dict[str, Any] = {"path": _short(problem.path), "rule": _short(problem.rule), "remedy": problem.remedy}
    if problem.value is not ABSENT:
        found["value"] = _value(problem.value)
    return found


def refusal(status: int, problems: Iterable[Problem], headers: Mapping[str, str] | None = None) -> Response:
    """`{"problems": [{path, value, rule, remedy}]}`."""
    content = json.dumps({"problems": [told(problem) for problem in problems]}).encode("ascii")
    return Response(content, status, headers, "application/json")


def _value(value: Any) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        # Beyond 53 bits JavaScript reads another number.
        return value if abs(value) < 1 << 53 else _short(f"{value:.6e}" if abs(value) < 10**300 else "a huge number")
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    return _short(value if isinstance(value, str) else repr(value))


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
