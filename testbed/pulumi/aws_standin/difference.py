"""What an update would do: which properties differ, and whether the object must be another one. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from testbed.pulumi.aws_standin.kind import Kind
from testbed.pulumi.aws_standin.wire import Properties, has_unknown

TAGS_ALL = "tagsAll"


@dataclass(frozen=True)
class Difference:
    """One property, `tags.team` for an entry of a map."""

    path: str
    change: Literal["add", "delete", "update"]
    replaces: bool


def differences(
    kind: Kind, before: Properties, after: Properties, *, ignored: Iterable[str] = ()
) -> tuple[Difference, ...]:
    """Inputs before and after. Both may hold `tagsAll`, the tags with the provider's defaults."""
    left_out = tuple(ignored)
    return tuple(
        difference
        for difference in _differences(kind, before, after)
        if not any(difference.path == path or difference.path.startswith(f"{path}.") for path in left_out)
    )


def _differences(kind: Kind, before: Properties, after: Properties) -> Iterator[Difference]:
    for name in sorted({*before, *after}):
        old, new = before.get(name), after.get(name)
        replaces = name in kind.replaces
        if name in kind.documents and same_document(old, new):
            continue
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            # An entry of a map; its change never replaces, for no map of ours does.
            for key in sorted({*old, *new}):
                yield from _difference(f"{name}.{key}", old.get(key), new.get(key), replaces)
        else:
            yield from _difference(name, old, new, replaces)


def _difference(path: str, old: Any, new: Any, replaces: bool) -> Iterator[Difference]:
    if has_unknown(new) or old != new:
        change: Literal["add", "delete", "update"] = "add" if old is None else "delete" if new is None else "update"
        yield Difference(path, change, replaces)


def same_document(one: Any, two: Any) -> bool:
    """Whether two texts are the same JSON."""
    if one == two:
        return True
    try:
        return bool(json.loads(one) == json.loads(two))
    except (TypeError, ValueError):
        return False
