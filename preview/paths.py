"""Places inside a resource's properties, as one writes them: `spec.limits`, `metadata.annotations["a.b/c"]`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

_BARE = re.compile(r"[A-Za-z_<][A-Za-z0-9_>-]*")


def join(path: str, key: str | int) -> str:
    if isinstance(key, int):
        return f"{path}[{key}]"
    if not _BARE.fullmatch(key):
        return f"{path}[{json.dumps(key, ensure_ascii=False)}]"
    return f"{path}.{key}" if path else key


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every value that is neither a mapping nor a list, and every empty one, with its place."""
    if isinstance(value, Mapping) and value:
        for key in value:
            yield from leaves(value[key], join(path, str(key)))
    elif isinstance(value, list) and value:
        for place, item in enumerate(value):
            yield from leaves(item, join(path, place))
    else:
        yield path, value


def top(path: str) -> str:
    """The property a place lies in: `spec` of `spec.limits.cpu`."""
    return re.split(r"[.\[]", path, maxsplit=1)[0]


def without_indices(path: str) -> str:
    """`spec.taints[0].key` as `spec.taints[].key`, for tables that speak of every item."""
    return re.sub(r"\[\d+\]", "[]", path)
