"""What one set of desired inputs changes against another: resource by resource, property by property.

It compares what two programs ask for, not what is in the cluster. Names are compared as the engine does, with
aliases; what an edit does to an object is in `replaces`, what it does to a fleet in `fleet`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from .compare import changes
from .fleet import drifting_fields, nodes_at_most, refused_fields, rolls
from .karpenter_objects import NODE_POOL
from .model import Diff, PropertyChange, ResourceChange
from .paths import without_indices
from .recording import Recorded, Recording
from .replaces import effect_of

_ORDER = ("replace", "delete", "create", "update")
ONLY_RENAMED = "only renamed; an alias keeps the object"
ONLY_OPTIONS = "only options change; the object stays as it is"
"""Two reasons of an `update` that the engine calls `same`: its state changes, the object does not."""


def compare(base: Recording, head: Recording, *, name: str) -> Diff:
    """Both recordings must have their secrets concealed (`dump.concealed`)."""
    before, after = base.by_urn(), head.by_urn()
    former = _former_names(before, after)
    found: list[ResourceChange] = []
    for urn, resource in after.items():
        old = before.get(former.get(urn, urn))
        change = _added(resource) if old is None else _changed(old, resource, before, after, former)
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
    old: Recorded,
    new: Recorded,
    before: Mapping[str, Recorded],
    after: Mapping[str, Recorded],
    former_names: Mapping[str, str],
) -> ResourceChange | None:
    properties = (*_properties(old, new, after), *_options(old, new), *_provider(old, new, before, after, former_names))
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
        reason = ONLY_RENAMED
    elif all(one.path == "provider" or one.path.startswith("options.") for one in properties):
        reason = ONLY_OPTIONS
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


def _options(old: Recorded, new: Recorded) -> Iterator[PropertyChange]:
    left_out = ("additionalSecretOutputs", "hideDiffs", "transforms", "replaceOnChanges", "import")
    before, after = ({key: value for key, value in one.options.items() if key not in left_out} for one in (old, new))
    yield from changes({"options": before}, {"options": after})


def _provider(
    old: Recorded,
    new: Recorded,
    before: Mapping[str, Recorded],
    after: Mapping[str, Recorded],
    former: Mapping[str, str],
) -> Iterator[PropertyChange]:
    """As the engine's `providerChanged` (pkg/resource/deploy/step_generator.go).

    A provider under another name is the same one where an alias says so; where not, objects go over to it unless its
    configuration differs in what replaces a provider.
    """
    if not new.custom or old.provider == former.get(new.provider, new.provider):
        return
    one, two = before.get(old.provider), after.get(new.provider)
    replaces = (
        one is None
        or two is None
        or any(effect_of(two, change.path) == "replace" for change in changes(one.inputs, two.inputs))
    )
    yield PropertyChange(
        path="provider",
        change="changed",
        before=old.provider,
        after=new.provider,
        effect="replace" if replaces else "update",
    )


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
