"""What a program asked the engine for: frozen, sorted, comparable.

Only data and look-ups. How it is recorded is in `recorder`, what is made of it in `checks` and `report`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Recorded:
    """One registration as it went over the wire.

    `parent` is "" below the root stack. `provider` and `providers` are URNs without the id. `depends_on` holds
    every dependency, `property_depends_on` those of each input. `aliases` are complete URNs, those inherited
    from the parent's aliases included. `options` holds the options that are set, in the engine's spelling.
    `outputs` is what a component registered as its outputs.
    """

    urn: str
    type: str
    name: str
    parent: str = ""
    inputs: Mapping[str, Any] = field(default_factory=dict)
    provider: str = ""
    providers: Mapping[str, str] = field(default_factory=dict)
    depends_on: tuple[str, ...] = ()
    property_depends_on: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    aliases: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    custom: bool = True
    remote: bool = False
    outputs: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Read:
    """A resource that exists already and is only looked up."""

    urn: str
    type: str
    name: str
    id: str
    inputs: Mapping[str, Any]
    provider: str = ""


@dataclass(frozen=True)
class Invoke:
    """A function call answered by a provider."""

    token: str
    arguments: Mapping[str, Any]
    provider: str = ""


@dataclass(frozen=True)
class Message:
    """A line the program logged: severity debug, info, warning or error."""

    severity: str
    text: str
    urn: str = ""


@dataclass(frozen=True)
class Recording:
    """All of one run, sorted by URN."""

    resources: tuple[Recorded, ...]
    outputs: Mapping[str, Any] = field(default_factory=dict)
    reads: tuple[Read, ...] = ()
    invokes: tuple[Invoke, ...] = ()
    messages: tuple[Message, ...] = ()

    def of(self, type_suffix: str) -> tuple[Recorded, ...]:
        """The resources whose type ends with `type_suffix`: `:NodePool`, `iam/role:Role`."""
        return tuple(resource for resource in self.resources if resource.type.endswith(type_suffix))

    def one(self, type_suffix: str, name: str | None = None) -> Recorded:
        """The only resource of that type (and name). Raises LookupError, naming what there is."""
        found = [resource for resource in self.of(type_suffix) if name in (None, resource.name)]
        if len(found) == 1:
            return found[0]
        wanted = f"...{type_suffix}" + (f" called {name}" if name else "")
        there = [(resource.type, resource.name) for resource in found or self.resources]
        raise LookupError(f"{len(found)} resources are {wanted}; there are {there}")

    def by_urn(self) -> dict[str, Recorded]:
        return {resource.urn: resource for resource in self.resources}
