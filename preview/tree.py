"""The resources of a stack as a tree: components and what they make."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from . import wire
from .model import ResourceNode
from .recording import Recorded, Recording


def tree(recording: Recording) -> tuple[ResourceNode, ...]:
    """Top-level resources with everything below them, providers first, then by type and name."""
    below: dict[str, list[Recorded]] = {}
    for resource in recording.resources:
        below.setdefault(resource.parent, []).append(resource)
    return tuple(_nodes("", below))


def _nodes(parent: str, below: Mapping[str, list[Recorded]]) -> Iterator[ResourceNode]:
    for resource in sorted(below.get(parent, ()), key=_order):
        yield ResourceNode(
            urn=resource.urn,
            type=resource.type,
            name=resource.name,
            detail=detail(resource),
            children=tuple(_nodes(resource.urn, below)),
        )


def _order(resource: Recorded) -> tuple[bool, bool, str, str]:
    return (not resource.type.startswith("pulumi:"), resource.custom, resource.type, resource.name)


def detail(resource: Recorded) -> str:
    """What tells this resource from its siblings, where the name given by the program does not."""
    inputs = wire.conceal(dict(resource.inputs))
    if resource.type.endswith((":Release", ":Chart")):
        version = f" {inputs['version']}" if inputs.get("version") else ""
        return f"{inputs.get('chart', '')}{version}"
    metadata = inputs.get("metadata")
    if isinstance(metadata, Mapping) and metadata.get("name"):
        named = "/".join(str(metadata[key]) for key in ("namespace", "name") if metadata.get(key))
        return named if named != resource.name else ""
    for key in ("name", "policyArn", "roleArn", "principalArn"):
        value = inputs.get(key)
        if isinstance(value, str) and value != resource.name:
            return value.rsplit("/", 1)[-1] if key.endswith("Arn") else value
    return ""
