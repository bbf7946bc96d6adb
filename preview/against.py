"""A rendered stack against another revision: the diff, and what is wrong with the step from there to here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from floodplain.problem import Problem

from .base_revision import render_base
from .diff import compare
from .dump import concealed
from .finding import Finding
from .model import Diff, ResourceChange
from .origin import place
from .recording import Recorded, Recording
from .render import Rendering


def against(rendering: Rendering, root: Path, revision: str) -> tuple[Diff, tuple[Finding, ...]]:
    """Raises PreviewError when the revision cannot be had; one without a program gives a diff with a note."""
    base = render_base(root, revision, rendering.stack)
    head = concealed(rendering.apply)
    before = base.recording or Recording(())
    diff = compare(before, head, name=base.name)
    findings = tuple(step_findings(rendering, diff, before, head))
    return diff.model_copy(update={"note": base.note}), findings


def step_findings(rendering: Rendering, diff: Diff, before: Recording, after: Recording) -> Iterator[Finding]:
    """What an update from the base would stumble over."""
    old, new = before.by_urn(), after.by_urn()
    yield from _refused(rendering, diff, new)
    yield from _renamed_without_alias(diff, old, new)


def _refused(rendering: Rendering, diff: Diff, new: Mapping[str, Recorded]) -> Iterator[Finding]:
    for change in diff.changes:
        paths = [one.path for one in change.properties if one.effect == "refused"]
        if change.action == "update" and paths:
            where = place(rendering.stackfile, new[change.urn], paths[0]) or change.name
            problem = Problem(where, f"{', '.join(paths)} of {change.type}: {change.reason}")
            yield Finding("error", "refused-edit", problem, change.urn, paths[0])


def _renamed_without_alias(diff: Diff, old: Mapping[str, Recorded], new: Mapping[str, Recorded]) -> Iterator[Finding]:
    """The same object under another resource name: its creation fails, or the trailing delete removes it."""
    gone = {_identity(old[one.urn]): one for one in diff.changes if one.action == "delete"}
    for change in diff.changes:
        if change.action != "create":
            continue
        identity = _identity(new[change.urn])
        twin: ResourceChange | None = gone.get(identity) if identity else None
        if twin is not None:
            rule = f"is the same object as {twin.urn}, which goes away, so it would be created while it exists"
            remedy = f"add aliases=[Alias(name={twin.name!r})] (and its parent, if that changed)"
            yield Finding("error", "alias", Problem(change.urn, rule, remedy), change.urn)


def _identity(resource: Recorded) -> tuple[str, ...] | None:
    """What an object is called where it lives, if the program says so."""
    metadata = resource.inputs.get("metadata")
    if isinstance(metadata, Mapping):
        name = metadata.get("name")
        return (resource.type, str(metadata.get("namespace", "")), str(name)) if name else None
    name = resource.inputs.get("name")
    return (resource.type, "", str(name)) if resource.custom and isinstance(name, str) else None
