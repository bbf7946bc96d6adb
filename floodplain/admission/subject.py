"""Where a pod or a Job keeps what admission reads, and whether it has the shape of one. Not what it says there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from floodplain.problem import Problem

_LONGEST_NAME = 63


class Kind(StrEnum):
    """What can be sized."""

    POD = "Pod"
    JOB = "Job"


@dataclass(frozen=True)
class Subject:
    """A pod or a Job, as it was sent."""

    kind: Kind
    thing: Mapping[str, Any]

    @property
    def template_path(self) -> tuple[str, ...]:
        """Where what becomes a pod's metadata and spec stands."""
        return () if self.kind is Kind.POD else ("spec", "template")

    @property
    def template(self) -> Mapping[str, Any]:
        return mapping(at(self.thing, *self.template_path))

    @property
    def spec(self) -> Mapping[str, Any]:
        """Of the pod."""
        return mapping(self.template.get("spec"))

    @property
    def annotations(self) -> Mapping[str, Any]:
        """Of the object itself: a Job's own, not its template's."""
        return mapping(at(self.thing, "metadata", "annotations"))

    @property
    def template_annotations(self) -> Mapping[str, Any]:
        """Of the pod."""
        return mapping(at(self.template, "metadata", "annotations"))

    def path(self, *keys: str) -> str:
        """A place in the pod as people write it: `spec.template.spec.priorityClassName` for a Job."""
        return ".".join((*self.template_path, *keys))


def at(thing: Any, *keys: str) -> Any:
    """What stands under these keys, None where any is absent."""
    for key in keys:
        thing = thing.get(key) if isinstance(thing, Mapping) else None
    return thing


def mapping(value: Any) -> Mapping[str, Any]:
    """The map, or an empty one in place of anything else."""
    return value if isinstance(value, Mapping) else {}


def containers(spec: Mapping[str, Any], key: str = "containers") -> tuple[Mapping[str, Any], ...]:
    """The containers under a key of a pod's spec. `malformed` says whether all of them are maps."""
    found = spec.get(key)
    return tuple(one for one in found if isinstance(one, Mapping)) if isinstance(found, list | tuple) else ()


def malformed(subject: Subject) -> Iterator[Problem]:
    """What of the shape is wrong. The API server's own check comes later than admission's."""
    thing = subject.thing
    paths = {(*subject.template_path, "metadata"), (*subject.template_path, "metadata", "annotations")}
    paths |= {("metadata",), ("metadata", "annotations")}
    for keys in sorted(paths):
        value = at(thing, *keys)
        if value is not None and not isinstance(value, Mapping):
            yield Problem(".".join(keys), "is not a map", f"write the {subject.kind} anew", value)
    spec = at(thing, *subject.template_path, "spec")
    if not isinstance(spec, Mapping):
        yield Problem(subject.path("spec"), "is not a map", f"write the {subject.kind} anew", spec)
        return
    for key in ("containers", "initContainers"):
        listed = spec.get(key)
        if listed is None and key == "initContainers":
            continue
        if not isinstance(listed, list) or (key == "containers" and not listed):
            yield Problem(subject.path("spec", key), "is not a list of containers", "list at least one", listed)
            continue
        for position, one in enumerate(listed):
            container_name = at(one, "name")
            path = subject.path("spec", f"{key}[{position}]")
            if not isinstance(container_name, str):
                yield Problem(path, "is not a container with a name", "give it a name")
            elif len(container_name) > _LONGEST_NAME:
                rule = f"is longer than {_LONGEST_NAME} characters, which no container's name may be"
                yield Problem(f"{path}.name", rule, "shorten it", container_name)
