"""How does a rule read properties? Through read-only proxies that raise where a value is not known yet.

pulumi_policy hands rules `Mapping` and `Sequence` proxies: never a dict or a list, never equal to one, not
serialisable, and touching an unknown raises UnknownValueError. Under preview that turns the whole rule into a
notice which blocks nothing, so everything here looks at the known parts first and raises at the very end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType

from pulumi_policy.proxy import UnknownValueError

Path = tuple[str | int, ...]

_DEEPEST = 64
"""Deeper than any Kubernetes or AWS resource. A bound, so that a hostile value cannot exhaust the stack."""


class Unknowns:
    """Swallows unknown values inside `with`, remembers the first, and raises it when asked."""

    def __init__(self) -> None:
        self._first: UnknownValueError | None = None

    def __enter__(self) -> Unknowns:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if isinstance(error, UnknownValueError):
            self._first = self._first or error
            return True
        return False

    def __bool__(self) -> bool:
        return self._first is not None

    def raise_first(self) -> None:
        """Raise the first unknown that was met, if any."""
        if self._first is not None:
            raise self._first


def get(value: object, *path: str | int) -> object:
    """What is at `path`, or None. Raises UnknownValueError only if a value on that path is unknown."""
    for key in path:
        if isinstance(key, int):
            items = sequence(value)
            if not -len(items) <= key < len(items):
                return None
            value = items[key]
        elif isinstance(value, Mapping) and key in value:
            value = value[key]
        else:
            return None
    return value


def mapping(value: object) -> Mapping[str, object]:
    """The mapping itself, or an empty one for anything else."""
    return value if isinstance(value, Mapping) else {}


def sequence(value: object) -> Sequence[object]:
    """The sequence itself, or an empty one for anything else. Text is not a sequence here."""
    return value if isinstance(value, Sequence) and not isinstance(value, str | bytes) else ()


def text(value: object) -> str | None:
    """The text itself, or None for anything else."""
    return value if isinstance(value, str) else None


def texts(value: object) -> tuple[str, ...]:
    """The texts in a sequence, or the one text. IAM allows both spellings nearly everywhere."""
    if isinstance(value, str):
        return (value,)
    return tuple(item for item in each(value) if isinstance(item, str))


def shown(value: object) -> str:
    """A value for a message: numbers as they were written (the wire has only floats), long texts cut."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, Mapping):
        return "a map"
    if sequence(value):
        return "a list"
    result = repr(value)
    return result if len(result) <= 80 else f"{result[:77]}..."


def each(value: object) -> Iterator[object]:
    """The items of a sequence: first those that are known, then the unknown one raises."""
    items = sequence(value)
    unknowns = Unknowns()
    for index in range(len(items)):
        with unknowns:
            yield items[index]
    unknowns.raise_first()


def entries(value: object) -> Iterator[tuple[str, object]]:
    """Keys and values of a mapping: first those whose value is known, then the unknown one raises."""
    items = mapping(value)
    unknowns = Unknowns()
    for key in items:
        with unknowns:
            yield str(key), items[key]
    unknowns.raise_first()


def leaves(value: object, path: Path = ()) -> Iterator[tuple[Path, object]]:
    """Everything below `value` that is neither mapping nor sequence, with its path; unknowns raise last."""
    if len(path) > _DEEPEST:
        return
    unknowns = Unknowns()
    if isinstance(value, Mapping):
        for key in value:
            with unknowns:
                yield from leaves(value[key], (*path, str(key)))
    elif isinstance(value, Sequence) and not isinstance(value, str | bytes):
        for index in range(len(value)):
            with unknowns:
                yield from leaves(value[index], (*path, index))
    else:
        yield path, value
    unknowns.raise_first()


def known_leaves(value: object) -> Iterator[tuple[Path, object]]:
    """The leaves that are known. For rules about what is written out in a program: that is always known."""
    with Unknowns():
        yield from leaves(value)


def place(path: Path) -> str:
    """A path as one writes it: `spec.containers[0].image`."""
    result = ""
    for part in path:
        result += f"[{part}]" if isinstance(part, int) else f".{part}"
    return result.removeprefix(".")
