"""Places inside a resource's properties, as one writes them: `spec.limits`, `metadata.annotations["a.b/c"]`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

_INDEX = re.compile(r"\[\d+\]")
_BARE = re.compile(r"[A-Za-z_<][A-Za-z0-9_>-]*")


def join(path: str, key: str | int) -> str:
    if isinstance(key, int):
        return f"{path}[{key}]"
    written = _written(key)
    return f"{path}.{written}" if path and written[0] != "[" else f"{path}{written}"


@cache
def _written(key: str) -> str:
    """A key as it stands after a path; the same few keys come thousands of times."""
    return key if _BARE.fullmatch(key) else f"[{json.dumps(key, ensure_ascii=False)}]"


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
    return _INDEX.sub("[]", path)
