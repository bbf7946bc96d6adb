"""Put a report together: a rendering, what the checks found in it, and perhaps a diff."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from .checks import check, check_apply, check_rest
from .expected_unknowns import reason_for
from .finding import Finding, ordered
from .model import Diff, FindingEntry, Report, UnknownEntry
from .paths import without_indices
from .pools import entries
from .redaction import Redactor
from .render import Rendering, render_elsewhere, render_twice
from .tree import tree
from .workers import worker_entries


def report(stack: str, root: Path, base: str | None = None, *, elsewhere: bool = False) -> Report:
    """Render twice, check and, with a `base` revision, compare. Raises PreviewError.

    `elsewhere` starts another process for the second time; without it a copy of this one does.
    """
    if elsewhere:
        rendering = render_elsewhere(stack, root)
        findings = check(rendering)
    else:
        rendering, found = render_twice(stack, root, check_apply)
        findings = ordered([*found, *check_rest(rendering)])
    diff = None
    if base:
        from .against import against

        diff, more = against(rendering, root, base)
        findings = ordered([*findings, *more])
    return build(rendering, findings, diff)


def build(rendering: Rendering, findings: Iterable[Finding], diff: Diff | None = None) -> Report:
    """The report, with what is secret taken out of all of it."""
    redactor = Redactor((rendering.apply, rendering.plan))
    made = Report(
        project=rendering.stackfile.project,
        stack=rendering.stack,
        file=rendering.stackfile.path,
        resources=len(rendering.apply.resources),
        tree=tree(rendering.apply),
        pools=tuple(entries(rendering)),
        workers=tuple(worker_entries(rendering)),
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
            for finding in map(redactor.finding, findings)
        ),
        diff=diff,
    )
    return redactor.report(made)


def _unknowns(rendering: Rendering) -> Iterator[UnknownEntry]:
    """Properties that are known only after the update and may be, counted by type and place."""
    counted = Counter((resource.type, without_indices(path)) for resource, path in rendering.unknowns)
    for (type_token, path), number in sorted(counted.items()):
        why = reason_for(type_token, path)
        if why is not None:
            yield UnknownEntry(type=type_token, property=path, why=why, resources=number)
