"""Two values, property by property. Lists of plain values count as one value, so that an edit reads as one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .model import PropertyChange
from .paths import join

_ABSENT = object()


def changes(before: Any, after: Any, path: str = "") -> Iterator[PropertyChange]:
    """Every place at which the two differ, in the order of the paths."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in sorted({*before, *after}, key=str):
            yield from changes(before.get(key, _ABSENT), after.get(key, _ABSENT), join(path, str(key)))
    elif _list_of_maps(before) and _list_of_maps(after):
        yield from _lists(before, after, path)
    elif before is _ABSENT:
        yield PropertyChange(path=path, change="added", after=after)
    elif after is _ABSENT:
        yield PropertyChange(path=path, change="removed", before=before)
    elif before != after or type(before) is not type(after):
        yield PropertyChange(path=path, change="changed", before=before, after=after)


def _list_of_maps(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, Mapping) for item in value)


def _lists(before: list[Any], after: list[Any], path: str) -> Iterator[PropertyChange]:
    """By `key` or `name` where every item of both lists has one of its own, else by position."""
    for name in ("key", "name"):
        old, new = ([item.get(name) for item in each] for each in (before, after))
        if all(isinstance(one, str) for one in old + new) and len({*old}) == len(old) and len({*new}) == len(new):
            if [one for one in old if one in new] != [one for one in new if one in old]:
                break  # the order changed, which may mean something
            for one in sorted({*old, *new}):
                first = next((item for item in before if item[name] == one), _ABSENT)
                second = next((item for item in after if item[name] == one), _ABSENT)
                yield from changes(first, second, join(path, one))
            return
    for place in range(max(len(before), len(after))):
        first = before[place] if place < len(before) else _ABSENT
        second = after[place] if place < len(after) else _ABSENT
        yield from changes(first, second, join(path, place))
