"""What one set of desired inputs changes against another: resource by resource, property by property.

It compares what two programs ask for, not what is in the cluster. Names are compared as the engine does, with
aliases; what an edit does to an object is in `replaces`, what it does to a fleet in `fleet`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .compare import changes
from .fleet import drifting_fields, nodes_at_most, refused_fields, rolls
from .karpenter_objects import NODE_POOL
from .model import Diff, PropertyChange, ResourceChange
from .paths import without_indices
from .recording import Recorded, Recording
from .replaces import effect_of

_ORDER = ("replace", "delete", "create", "update")


def compare(base: Recording, head: Recording, *, name: str) -> Diff:
    """Both recordings must have their secrets concealed (`dump.concealed`)."""
    before, after = base.by_urn(), head.by_urn()
    former = _former_names(before, after)
    found: list[ResourceChange] = []
    for urn, resource in after.items():
        old = before.get(former.get(urn, urn))
        change = _added(resource) if old is None else _changed(old, resource, before, after)
        found += [change] if change else []
    kept = {former.get(urn, urn) for urn in after}
    found += [_deleted(resource, before) for urn, resource in before.items() if urn not in kept]
    found = list(_with_their_provider(found, after))
    found.sort(key=lambda change: (_ORDER.index(change.action), change.urn))
    touched = {change.urn for change in found}
    return Diff(
        base=name,
        changes=tuple(found),
        rolls=rolls(before, after, former),
        same=sum(urn not in touched for urn in after),
    )


def _former_names(before: Mapping[str, Recorded], after: Mapping[str, Recorded]) -> dict[str, str]:
    """Present URN to the one it had in the base, where an alias connects the two."""
    found: dict[str, str] = {}
    for urn, resource in after.items():
        if urn not in before:
            match = next((alias for alias in resource.aliases if alias in before and alias not in after), None)
            if match:
                found[urn] = match
    return found


def _added(resource: Recorded) -> ResourceChange:
    return ResourceChange(action="create", urn=resource.urn, type=resource.type, name=resource.name)


def _deleted(resource: Recorded, before: Mapping[str, Recorded]) -> ResourceChange:
    reason = ""
    if resource.options.get("retainOnDelete"):
        reason = "leaves the stack but stays where it is (retainOnDelete)"
    elif resource.options.get("protect"):
        reason = "is protected, so the update stops here until the protection is taken off"
    elif resource.type.endswith(NODE_POOL):
        reason = _with_its_nodes(resource, before)
    return ResourceChange(action="delete", urn=resource.urn, type=resource.type, name=resource.name, reason=reason)


def _with_its_nodes(pool: Recorded, before: Mapping[str, Recorded]) -> str:
    nodes = nodes_at_most(pool, before)
    return f"its nodes (at most {nodes}) are drained and go with it" if nodes else "its nodes go with it"


def _changed(
    old: Recorded, new: Recorded, before: Mapping[str, Recorded], after: Mapping[str, Recorded]
) -> ResourceChange | None:
    properties = tuple(_properties(old, new, after))
    former = old.urn if old.urn != new.urn else ""
    if not properties and not former:
        return None
    forced = [one.path for one in properties if one.effect == "replace"]
    refused = [one.path for one in properties if one.effect == "refused"]
    reason = ""
    if forced:
        reason = f"replaced because of {', '.join(forced)}"
        if new.type.endswith(NODE_POOL):
            reason += f"; {_with_its_nodes(old, before)}"
    elif refused:
        reason = (
            f"the API server refuses an update of {', '.join(refused)}, and the provider does not replace the object "
            "for it; set replace_on_changes, or make a new object under another name"
        )
    elif not properties:
        reason = "only renamed; an alias keeps the object"
    return ResourceChange(
        action="replace" if forced else "update",
        urn=new.urn,
        former_urn=former,
        type=new.type,
        name=new.name,
        properties=properties,
        reason=reason,
    )


def _properties(old: Recorded, new: Recorded, after: Mapping[str, Recorded]) -> Iterator[PropertyChange]:
    ignored = tuple(str(path) for path in new.options.get("ignoreChanges", ()))
    provider = after.get(new.provider)
    drifting, refused = drifting_fields(old, new), refused_fields(old, new)
    for change in changes(old.inputs, new.inputs):
        if _ignored(change.path, ignored):
            continue
        effect = effect_of(new, change.path, provider.inputs if provider else None)
        if any(_within(change.path, field) for field in refused):
            effect = "refused"
        yield change.model_copy(
            update={
                "effect": effect,
                "drift": any(_within(change.path, field) for field in drifting),
            }
        )
    for change in changes(_compared(old), _compared(new)):
        yield change.model_copy(update={"effect": effect_of(new, change.path)})


def _compared(resource: Recorded) -> dict[str, Any]:
    """Of the options those that change what happens; a provider counts by its name."""
    left_out = ("additionalSecretOutputs", "hideDiffs", "transforms", "replaceOnChanges", "import")
    options = {key: value for key, value in resource.options.items() if key not in left_out}
    return {"options": options, **({"provider": resource.provider} if resource.custom else {})}


def _ignored(path: str, ignored: tuple[str, ...]) -> bool:
    return any(_within(path, one) or one == "*" for one in ignored)


def _within(path: str, place: str) -> bool:
    path, place = without_indices(path), without_indices(place)
    return path == place or path.startswith((f"{place}.", f"{place}["))


def _with_their_provider(found: list[ResourceChange], after: Mapping[str, Recorded]) -> Iterator[ResourceChange]:
    """A provider that is replaced takes everything it made along."""
    replaced = {one.urn for one in found if one.action == "replace" and one.type.startswith("pulumi:providers:")}
    seen: set[str] = set()
    for change in found:
        resource = after.get(change.urn)
        seen.add(change.urn)
        if change.action == "update" and resource is not None and resource.provider in replaced:
            yield change.model_copy(update={"action": "replace", "reason": "replaced with its provider"})
        else:
            yield change
    for urn, resource in after.items():
        if resource.provider in replaced and urn not in seen:
            yield ResourceChange(
                action="replace",
                urn=urn,
                type=resource.type,
                name=resource.name,
                reason="replaced with its provider",
            )
