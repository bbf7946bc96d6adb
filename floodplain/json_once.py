"""JSON whose maps have every key once: json.loads and pydantic both keep the last of two, and say nothing. Pure."""

from __future__ import annotations

from typing import Any

from floodplain.problem import RuleError


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The map of these pairs, as `object_pairs_hook` of json.loads. Raises RuleError for a key that is given twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise RuleError("is given twice", "keep one of them", value=next(n for n in names if names.count(n) > 1))
    return found
