"""Who catches a wrong configuration before apply: floodplain's preview, run here on the case's stack file or objects.

The objects of a case are those that the `hotosm` stack renders, edited; the checks are those of
`python -m preview report`, none more and none less.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

import yaml

from preview import wire, yamlfile
from preview.checks import check
from preview.finding import Finding
from preview.karpenter_objects import NODE_CLASS, NODE_POOL
from preview.problems import PreviewError
from preview.recording import Recorded, Recording
from preview.render import Rendering, render

from .cases import BASE_STACK, Case, Objects, edited, edited_text

ROOT = Path(__file__).resolve().parent.parent

Outcome = Literal["refuses", "warns", "accepts"]


@dataclass(frozen=True)
class Judgement:
    """The outcome and what was said, one line each."""

    outcome: Outcome
    lines: tuple[str, ...]


@cache
def base() -> Rendering:
    """The stack that every case changes, rendered once."""
    return render(BASE_STACK, ROOT)


@cache
def _quiet() -> frozenset[str]:
    """What the preview says of the unchanged stack: known warnings, which are no verdict on a case."""
    return frozenset(str(finding.problem) for finding in check(base()))


def floodplain(case: Case, folder: Path) -> Judgement:
    """The preview's verdict: on the stack file where the case has one, else on its objects."""
    if case.stack is not None:
        return _of_stack(case.stack, folder)
    assert case.objects is not None, case.name
    return _judged(check(with_objects(case.objects)))


def _of_stack(stack: dict[str, Any] | str, folder: Path) -> Judgement:
    root = program(folder)
    path = root / "stacks" / f"Pulumi.{BASE_STACK}.yaml"
    if isinstance(stack, str):
        path.write_text(stack, encoding="utf-8")
    else:
        given = yamlfile.read(ROOT / "stacks" / path.name, path.name).content
        path.write_text(yaml.safe_dump({"config": edited(given["config"], stack)}), encoding="utf-8")
    try:
        return _judged(check(render(BASE_STACK, root)))
    except PreviewError as error:
        return Judgement("refuses", tuple(error.lines))


def program(folder: Path) -> Path:
    """The program of this checkout in `folder`, with no stack yet."""
    (folder / "stacks").mkdir(parents=True, exist_ok=True)
    for name in ("Pulumi.yaml", "__main__.py"):
        shutil.copyfile(ROOT / name, folder / name)
    return folder


def _judged(findings: tuple[Finding, ...]) -> Judgement:
    new = [finding for finding in findings if str(finding.problem) not in _quiet()]
    errors = tuple(str(finding.problem) for finding in new if finding.severity == "error")
    warnings = tuple(str(finding.problem) for finding in new if finding.severity == "warning")
    outcome: Outcome = "refuses" if errors else "warns" if warnings else "accepts"
    return Judgement(outcome, errors + warnings)


def with_objects(objects: Objects) -> Rendering:
    """The base rendering with the case's edits in its resources."""
    return replace(base(), apply=_edited_recording(base().apply, objects), plan=_edited_recording(base().plan, objects))


def _edited_recording(recording: Recording, objects: Objects) -> Recording:
    return replace(
        recording,
        resources=tuple(
            _edited_resource(resource, objects) for resource in recording.resources if resource.name not in objects.drop
        ),
    )


def _edited_resource(resource: Recorded, objects: Objects) -> Recorded:
    if resource.type.endswith(NODE_POOL):
        return replace(resource, inputs=edited(resource.inputs, objects.node_pool))
    if resource.type.endswith(NODE_CLASS):
        inputs = edited(resource.inputs, objects.node_class)
        if objects.user_data:
            inputs["spec"]["userData"] = edited_text(inputs["spec"]["userData"], objects.user_data)
        return replace(resource, inputs=inputs)
    inputs = edited(resource.inputs, objects.others.get(resource.name, {}))
    if resource.name in objects.policies:
        inputs["policy"] = edited_text(inputs["policy"], objects.policies[resource.name])
    return replace(resource, inputs=inputs)


def manifests(objects: Objects) -> list[dict[str, Any]]:
    """The NodePool and the EC2NodeClass of the case, as kubectl would send them."""
    recording = with_objects(objects).apply
    return [wire.reveal(dict(one.inputs)) for kind in (NODE_CLASS, NODE_POOL) for one in recording.of(kind)]
