"""What an earlier plan wrote into a pod, and the pod as it was before. Not what is written now: that is `sized`.

A webhook may be called again in one request, an object may be made again from one that was sized, and a Job's template
becomes pods. Whatever still stands as the plan's own annotation records it is ours and may be planned anew; what
differs is somebody's wish and stays.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from floodplain.admission.figures import CPU, DISK, LIMITS, MEMORY, REQUESTS, same_quantity
from floodplain.admission.subject import at, mapping

Resources = Mapping[str, Mapping[str, str]]
"""`requests` and `limits`, each from resource to quantity."""


@dataclass(frozen=True)
class Written:
    """What a plan wrote. Quantities and labels as texts; nothing of it is trusted before it has been compared."""

    container: str
    resources: Resources = field(default_factory=dict)
    replaced: Resources = field(default_factory=dict)
    """What the user had in the place of some of them."""
    args: tuple[str, ...] = ()
    """Added at the end of the container's own."""
    runtime_class: str | None = None
    node_selector: Mapping[str, str] = field(default_factory=dict)
    tolerations: tuple[Mapping[str, Any], ...] = ()

    def to_json(self) -> dict[str, Any]:
        """As the annotation holds it; `of_json` reads it."""
        mine = {**self.resources, **({"args": list(self.args)} if self.args else {})}
        placed: dict[str, Any] = {}
        if self.runtime_class is not None:
            placed["runtimeClassName"] = self.runtime_class
        if self.node_selector:
            placed["nodeSelector"] = dict(self.node_selector)
        if self.tolerations:
            placed["tolerations"] = [dict(one) for one in self.tolerations]
        parts = {"wrote": mine, "replaced": self.replaced}
        found: dict[str, Any] = {key: {self.container: part} for key, part in parts.items() if part}
        return {"container": self.container, **found, **({"placed": placed} if placed else {})}


def of_json(loaded: Any) -> Written | None:
    """What an annotation records. Anybody can write one: parts that are no such record are left out."""
    container = at(loaded, "container")
    if not isinstance(container, str):
        return None
    placed = mapping(at(loaded, "placed"))
    mine = mapping(at(loaded, "wrote", container))
    runtime_class, tolerations, args = placed.get("runtimeClassName"), placed.get("tolerations"), mine.get("args")
    return Written(
        container,
        _resources(mine),
        _resources(mapping(at(loaded, "replaced", container))),
        tuple(one for one in args if isinstance(one, str)) if isinstance(args, list) else (),
        runtime_class if isinstance(runtime_class, str) else None,
        _texts(mapping(placed.get("nodeSelector"))),
        tuple(one for one in tolerations if isinstance(one, Mapping)) if isinstance(tolerations, list) else (),
    )


def _resources(part: Mapping[str, Any]) -> Resources:
    found: dict[str, dict[str, str]] = {}
    for kind in (REQUESTS, LIMITS):
        amounts = _texts(mapping(part.get(kind)))
        known = {
            resource: amounts[resource]
            for resource in (CPU, DISK, MEMORY)
            if same_quantity(amounts.get(resource), amounts.get(resource))
        }
        if known:
            found[kind] = known
    return found


def _texts(part: Mapping[str, Any]) -> dict[str, str]:
    return {key: value for key, value in part.items() if isinstance(key, str) and isinstance(value, str)}


def without(template: Mapping[str, Any], written: Written | None) -> dict[str, Any]:
    """A pod (or a template) of sound shape as it was before the plan, as far as what was written still stands."""
    before: dict[str, Any] = dict(template)
    if written is None:
        return before
    spec = before["spec"] = dict(before["spec"])
    spec["containers"] = [
        _restored(one, written) if one["name"] == written.container else one for one in spec["containers"]
    ]
    if written.runtime_class is not None and spec.get("runtimeClassName") == written.runtime_class:
        del spec["runtimeClassName"]
    selector = spec.get("nodeSelector")
    if isinstance(selector, dict):
        ours = written.node_selector
        spec["nodeSelector"] = {key: value for key, value in selector.items() if key not in ours or ours[key] != value}
    if isinstance(spec.get("tolerations"), list):
        spec["tolerations"] = [one for one in spec["tolerations"] if one not in written.tolerations]
    return before


def _restored(standing: Mapping[str, Any], written: Written) -> dict[str, Any]:
    container = dict(standing)
    resources = container.get("resources")
    if isinstance(resources, Mapping):
        resources = container["resources"] = dict(resources)
    for kind, amounts in written.resources.items():
        there = mapping(resources).get(kind)
        if not isinstance(there, dict):
            continue
        there = container["resources"][kind] = dict(there)
        for resource, amount in amounts.items():
            if not same_quantity(there.get(resource), amount):
                continue
            was = mapping(written.replaced.get(kind)).get(resource)
            if was is None:
                del there[resource]
            else:
                there[resource] = was
    args, added = container.get("args"), list(written.args)
    if added and isinstance(args, list) and args[-len(added) :] == added:
        container["args"] = args[: -len(added)]
    return container
