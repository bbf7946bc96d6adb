"""Names of resources as Pulumi's engine writes them, taken apart and put together.

    urn:pulumi:STACK::PROJECT::OUTER$INNER$TYPE::NAME

The engine leaves the root stack out of the chain of types and keeps every other parent's type in it. The
stock mocks of the SDK do neither, so aliases cannot be tested with their names.
"""

from __future__ import annotations

from dataclasses import dataclass

STACK_TYPE = "pulumi:pulumi:Stack"
_PREFIX = "urn:pulumi:"


@dataclass(frozen=True)
class Urn:
    """The four parts of a resource name; `types` is the chain, outermost first, the resource's own last."""

    stack: str
    project: str
    types: tuple[str, ...]
    name: str

    @property
    def type(self) -> str:
        return self.types[-1]

    def __str__(self) -> str:
        return f"{_PREFIX}{self.stack}::{self.project}::{'$'.join(self.types)}::{self.name}"


def parse(text: str) -> Urn:
    """Take a URN apart. Raises ValueError when `text` is not one."""
    if not text.startswith(_PREFIX) or text.count("::") < 3:
        raise ValueError(f"{text!r} is not a resource name; it must look like {_PREFIX}stack::project::type::name")
    stack, project, types, name = text.removeprefix(_PREFIX).split("::", 3)
    return Urn(stack, project, tuple(types.split("$")), name)


def child(parent: str, type_token: str, name: str, *, stack: str, project: str) -> str:
    """The name of a resource of `type_token` below `parent` ("" or the root stack: none)."""
    above: tuple[str, ...] = ()
    if parent:
        outer = parse(parent)
        above = () if outer.type == STACK_TYPE else outer.types
    return str(Urn(stack, project, (*above, type_token), name))
