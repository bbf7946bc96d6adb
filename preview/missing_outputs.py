"""Which output is it that a null was made of?

A null on the wire does not tell. So the program runs once more, and every output that the SDK's class declares
as text and no table knows is answered with its own name, which then stands where the null was.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pulumi import CustomResource

from .monitor import Request
from .outputs import Apply
from .paths import leaves
from .recording import Recording

_MARK = re.compile(r"<output ([^ >]+)>")


@dataclass(frozen=True)
class Traced:
    """Answers like `Apply`, with the names of missing outputs as their values."""

    known: bool = True

    def resource(self, request: Request) -> tuple[str, Mapping[str, Any]]:
        identity, outputs = Apply().resource(request)
        there = {**request.inputs, **outputs}
        marks = {name: f"<output {request.type}.{name}>" for name in _text_outputs(request.type) if name not in there}
        return identity, {**marks, **outputs}

    def invoke(self, request: Request) -> Mapping[str, Any] | None:
        return Apply().invoke(request)


def has_nulls(recording: Recording) -> bool:
    return any(value is None for resource in recording.resources for _, value in leaves(resource.inputs))


def found_in(recording: Recording) -> dict[tuple[str, str], str]:
    """URN and property to `TYPE.OUTPUT`, for a recording answered by `Traced`."""
    return {
        (resource.urn, path): mark.group(1)
        for resource in recording.resources
        for path, value in leaves(resource.inputs)
        if isinstance(value, str) and (mark := _MARK.search(value))
    }


def _text_outputs(type_token: str) -> Iterator[str]:
    for kind in _classes(CustomResource):
        if getattr(kind, "pulumi_type", None) == type_token:
            yield from _declared(kind)
            return


def _classes(kind: type[Any]) -> Iterator[type[Any]]:
    for below in kind.__subclasses__():
        yield below
        yield from _classes(below)


def _declared(kind: type) -> Iterator[str]:
    """Names, in the provider's spelling, of the properties that are plain text."""
    from pulumi import _types

    for name, annotation in _types.resource_types(kind).items():
        if annotation is str:
            yield name
