"""What the properties hold: nothing missing, nothing unknown by surprise, no secret in clear text.

Rules about what a property *should* be are the policies'.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from floodplain.problem import Problem

from .. import wire
from ..expected_unknowns import reason_for
from ..finding import Finding
from ..origin import place
from ..paths import leaves, top
from ..recording import Recorded
from ..render import OUTPUT_IN_TEXT, Rendering


def check(rendering: Rendering) -> Iterator[Finding]:
    yield from nulls(rendering)
    yield from unknowns(rendering)
    yield from secrets(rendering)
    yield from outputs_in_text(rendering)


def nulls(rendering: Rendering) -> Iterator[Finding]:
    """After a successful update no property is null: a null is an output that was read and does not exist."""
    types = {resource.urn: resource.type for resource in rendering.apply.resources}
    for resource in rendering.apply.resources:
        for path, value in leaves(resource.inputs):
            if value is not None:
                continue
            sources = resource.property_depends_on.get(top(path), ())
            missing = rendering.missing_outputs.get((resource.urn, path))
            # Helm lets a null take away a default of the chart.
            if not missing and resource.type.startswith("kubernetes:helm.sh/") and top(path) == "values":
                continue
            if missing:
                type_token, _, output = missing.rpartition(".")
                rule = f"is null: preview/outputs.py knows no output `{output}` of {type_token}"
                remedy = "add it to the table of that type's outputs"
            elif sources:
                named = ", ".join(sorted({types.get(urn, urn) for urn in sources}))
                rule = f"is null: it has no value, or preview/outputs.py lacks an output of {named}"
                remedy = "leave the key out, or add the output to the table of that type"
            else:
                rule, remedy = "is null although nothing computed feeds it", "leave the key out"
            yield _at(rendering, "error", "null", resource, path, rule, remedy)


def unknowns(rendering: Rendering) -> Iterator[Finding]:
    """Before the first update only what AWS or the cluster decides may be unknown."""
    for resource, path in rendering.unknowns:
        if reason_for(resource.type, path) is None:
            rule = "is not known before the first update, so nothing can check it beforehand"
            remedy = f"give it as a plain value, or say in preview/expected_unknowns.py why {resource.type} may"
            yield _at(rendering, "error", "unknown", resource, path, rule, remedy)


def secrets(rendering: Rendering) -> Iterator[Finding]:
    """A secret of the stack file must stay marked as one, wherever it goes."""
    for resource in rendering.apply.resources:
        for section, values in (("", resource.inputs), ("outputs", resource.outputs)):
            for path, key in _leaks(values, rendering.stackfile.secrets):
                rule = f"holds the secret {key} in clear text"
                remedy = "read it with require_secret and keep it an Output"
                yield _at(rendering, "error", "secret", resource, f"{section}.{path}".strip("."), rule, remedy)
    for path, key in _leaks(rendering.apply.outputs, rendering.stackfile.secrets):
        rule = f"exports the secret {key} in clear text"
        yield Finding("error", "secret", Problem(f"output {path}", rule, "export it with Output.secret, or not at all"))


def _leaks(values: Mapping[str, Any], secrets: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    if not secrets:
        return
    for path, value in leaves(values):
        if isinstance(value, str) and wire.SECRET not in path:
            for placeholder, key in secrets.items():
                if placeholder in value:
                    yield path, key


def outputs_in_text(rendering: Rendering) -> Iterator[Finding]:
    """An Output in an f-string becomes a paragraph of advice, silently."""
    for resource in rendering.apply.resources:
        for path, value in leaves(resource.inputs):
            if isinstance(value, str) and OUTPUT_IN_TEXT in value:
                rule, remedy = "has an Output put into a text", "use Output.format, Output.concat or apply"
                yield _at(rendering, "error", "output-in-text", resource, path, rule, remedy)


def _at(
    rendering: Rendering, severity: Any, check: str, resource: Recorded, path: str, rule: str, remedy: str
) -> Finding:
    where = place(rendering.stackfile, resource, path)
    told = f"{path} {rule}" if where else rule
    return Finding(severity, check, Problem(where or f"{resource.name}: {path}", told, remedy), resource.urn, path)
