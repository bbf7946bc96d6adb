"""The JSON patch (RFC 6902) from one object to another. Knows nothing of pods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Operation = dict[str, Any]


def patch(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[Operation, ...]:
    """Operations that make `after` of `before`, none where they are equal. Lists of one length are gone through."""
    return tuple(_differences(before, after, ""))


def _differences(before: Any, after: Any, path: str) -> Iterator[Operation]:
    if before is after:
        return
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in before:
            if key not in after:
                yield {"op": "remove", "path": f"{path}/{_escaped(key)}"}
        for key, value in after.items():
            place = f"{path}/{_escaped(key)}"
            if key in before:
                yield from _differences(before[key], value, place)
            else:
                yield {"op": "add", "path": place, "value": value}
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for position, value in enumerate(after):
            yield from _differences(before[position], value, f"{path}/{position}")
    elif type(before) is not type(after) or before != after:
        yield {"op": "replace", "path": path, "value": after}


def _escaped(key: str) -> str:
    """A key as a reference token (RFC 6901, section 3)."""
    return key.replace("~", "~0").replace("/", "~1")
