"""The earlier names of a resource, as complete URNs.

The engine looks for the old state under each of them. A resource also had other names when its parent had: an
alias of a component is inherited by everything below it, by the engine's rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from pulumi.runtime.proto import alias_pb2, resource_pb2

from .urn import Urn, child, parse


def alias_urns(
    request: resource_pb2.RegisterResourceRequest, urn: str, parent: str, parent_aliases: Sequence[str]
) -> tuple[str, ...]:
    """Every earlier URN of the resource `urn` below `parent` (""), sorted, without its present one."""
    now = parse(urn)
    own = {*request.aliasURNs, *(alias.urn or _of_spec(alias.spec, now, parent) for alias in request.aliases)}
    inherited = set(_inherited([now, *map(parse, own)], parent, parent_aliases))
    return tuple(sorted((own | inherited) - {urn}))


def _of_spec(spec: alias_pb2.Alias.Spec, now: Urn, parent: str) -> str:
    """What a specification leaves out is as it is now."""
    above = "" if spec.noParent else (spec.parentUrn or parent)
    return child(
        above,
        spec.type or now.type,
        spec.name or now.name,
        stack=spec.stack or now.stack,
        project=spec.project or now.project,
    )


def _inherited(names: Iterable[Urn], parent: str, parent_aliases: Sequence[str]) -> Iterable[str]:
    """The same resource below its parent's earlier names.

    Children are named after their parent by convention, so a name that starts with the parent's follows it.
    """
    for former in map(parse, parent_aliases):
        for one in names:
            name = one.name
            if name.startswith(parse(parent).name):
                name = former.name + name.removeprefix(parse(parent).name)
            yield str(replace(former, types=(*former.types, one.type), name=name))
