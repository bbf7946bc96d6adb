"""Put a report together: a rendering, what the checks found in it, and perhaps a diff."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from . import wire
from .again import Again
from .checks import check
from .expected_unknowns import reason_for
from .finding import Finding, ordered
from .model import Diff, FindingEntry, Report, UnknownEntry
from .paths import leaves, without_indices
from .pools import entries
from .render import Rendering, render
from .tree import tree


def report(stack: str, root: Path, base: str | None = None, again: Again | None = None) -> Report:
    """Render twice, check and, with a `base` revision, compare. Raises PreviewError.

    `again` is another process that renders the second time; without it this one does.
    """
    rendering = render(stack, root, twice=True, again=again)
    findings = check(rendering)
    diff = None
    if base:
        from .against import against

        diff, more = against(rendering, root, base)
        findings = ordered([*findings, *more])
    return build(rendering, findings, diff)


def build(rendering: Rendering, findings: Iterable[Finding], diff: Diff | None = None) -> Report:
    return Report(
        project=rendering.stackfile.project,
        stack=rendering.stack,
        file=rendering.stackfile.path,
        resources=len(rendering.apply.resources),
        tree=tree(rendering.apply),
        pools=tuple(entries(rendering)),
        unknowns=tuple(_unknowns(rendering)),
        findings=tuple(
            FindingEntry(
                severity=finding.severity,
                check=finding.check,
                place=finding.problem.path,
                message=str(finding.problem),
                urn=finding.urn,
                property=finding.property,
            )
            for finding in findings
        ),
        diff=diff,
    )


def _unknowns(rendering: Rendering) -> Iterator[UnknownEntry]:
    """Properties that are known only after the update and may be, counted by type and place."""
    counted: dict[tuple[str, str], int] = {}
    for resource in rendering.plan.resources:
        for path, value in leaves(wire.reveal(dict(resource.inputs))):
            if value == wire.UNKNOWN:
                key = (resource.type, without_indices(path))
                counted[key] = counted.get(key, 0) + 1
    for (type_token, path), number in sorted(counted.items()):
        why = reason_for(type_token, path)
        if why is not None:
            yield UnknownEntry(type=type_token, property=path, why=why, resources=number)
