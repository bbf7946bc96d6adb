"""What happens to a pod or a Job on its way into the cluster: left alone, explained, sized or refused. Pure.

No state and no call: the same object with the same pools gets the same answer, in a dry run too. What an earlier plan
wrote is taken off before a new one is made, so that asking again changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from floodplain.admission import limit_ranger, record
from floodplain.admission.annotations import PLAN, Request, asks, read
from floodplain.admission.decision import Decision, Mode, Outcome
from floodplain.admission.extent import too_many
from floodplain.admission.patch import patch
from floodplain.admission.places import contradiction, narrowed
from floodplain.admission.pod import PodReading, gets_no_swap, read_pod
from floodplain.admission.sized import sized
from floodplain.admission.subject import Kind, Subject, containers, malformed, mapping
from floodplain.admission.unsaid import unsaid
from floodplain.admission.written import Written, without
from floodplain.pools import PoolDocument
from floodplain.problem import Problem
from floodplain.sizing.fit import amount
from floodplain.sizing.plan import Plan
from floodplain.sizing.planner import make_plan
from floodplain.sizing.settings import SizingSettings
from floodplain.sizing.workload import Engine

NO_POOLS = Problem(
    "the pools",
    "are not known, so that nothing can be sized",
    "mount the pool documents (ConfigMap floodplain-pools, key pools.json), or label the namespace"
    " floodplain.dev/sizing=observe until they are there",
)
_LONGEST_MESSAGE = 2000


def decide(
    thing: Mapping[str, Any], kind: Kind, pools: Sequence[PoolDocument], settings: SizingSettings, mode: Mode
) -> Decision:
    """The decision on an object that is being created."""
    subject = Subject(kind, thing)
    if not asks(subject):
        return Decision(True, Outcome.IGNORED, warnings=read(subject).warnings)
    shape = tuple(too_many(subject)) or tuple(malformed(subject))
    if shape:
        # There is nowhere to write an annotation to.
        return _refused_input(subject, shape, ()) if mode is Mode.ENFORCE else _passed(shape)
    written = record.written_in(subject.template_annotations.get(PLAN, subject.annotations.get(PLAN)))
    reading = read(subject, recorded=written.container if written else None)
    request = reading.request
    if request is None:
        return _told(subject, reading.problems, reading.warnings, written, mode)

    before = without(subject.template, written)
    base = Subject(kind, _with_template(subject, before))
    defaults = limit_ranger.defaults(subject.template_annotations.get(limit_ranger.ANNOTATION))
    pod = read_pod(base, request.container, defaults)
    left, nowhere = narrowed(base, _held(subject, written, pools)) if pools else ((), NO_POOLS)
    torn = contradiction(base, request.workload.capacity_type)
    problems = [*pod.problems, *(one for one in (torn, nowhere) if one is not None)]
    if problems:
        return _told(subject, problems, reading.warnings, written, mode)
    plan = make_plan(request.workload, left, settings=settings, rest=pod.rest, given=pod.given)
    if plan.swap_grant_bytes and gets_no_swap(base.spec):
        rule = "makes the pod critical, and kubelet grants those no swap"
        problem = Problem(base.path("spec", "priorityClassName"), rule, "use another priority class, or none")
        return _told(subject, [problem], reading.warnings, written, mode)
    container = next(one for one in containers(base.spec) if one["name"] == request.container)
    hidden = unsaid(container, request.workload.options) if request.workload.engine is Engine.ODM else ()
    pod = replace(pod, notes=(*pod.notes, *hidden))
    warnings = (*reading.warnings, *hidden)
    if mode is Mode.OBSERVE:
        return _explained(subject, plan, pod, warnings, written)
    if not plan.feasible:
        return _refused_infeasible(subject, plan, warnings)
    return _sized(subject, before, request, plan, pod, left, settings, warnings)


def _held(subject: Subject, written: Written | None, pools: Sequence[PoolDocument]) -> Sequence[PoolDocument]:
    """The pools, or the one alone whose RuntimeClass the API server has worked into the pod already."""
    if written is None or written.runtime_class is None or not subject.spec.get("overhead"):
        return pools
    return [pool for pool in pools if pool.runtime_class == written.runtime_class] or pools


def _explained(
    subject: Subject, plan: Plan, pod: PodReading, warnings: tuple[str, ...], written: Written | None
) -> Decision:
    """Observe: the annotation and nothing else. What was written earlier stays on record."""
    text = record.render(Mode.OBSERVE, plan=plan, notes=pod.notes, written=written)
    if not plan.feasible:
        warnings = (*warnings, f"floodplain would refuse this {subject.kind}: {plan.reasons[0]}")
    operations = patch(subject.thing, _annotated(subject.kind, subject.thing, text))
    outcome = Outcome.EXPLAINED if operations else Outcome.UNCHANGED
    return Decision(True, outcome, patch=operations, warnings=warnings, plan=plan)


def _sized(
    subject: Subject,
    before: Mapping[str, Any],
    request: Request,
    plan: Plan,
    pod: PodReading,
    pools: Sequence[PoolDocument],
    settings: SizingSettings,
    warnings: tuple[str, ...],
) -> Decision:
    pool = next(one for one in pools if one.name == plan.pool)
    made = sized(before, subject.template, plan, request.container, pod, pool, settings)
    notes = (*pod.notes, *made.notes)
    text = record.render(Mode.ENFORCE, plan=plan, notes=notes, written=made.written)
    operations = patch(subject.thing, _annotated(subject.kind, _with_template(subject, made.template), text))
    outcome = Outcome.SIZED if operations else Outcome.UNCHANGED
    if plan.compatibility is not None:
        warnings = (*warnings, *(note for note in plan.notes if note.startswith(f"as {plan.compatibility.value} ")))
    return Decision(True, outcome, patch=operations, warnings=warnings, plan=plan)


def _told(
    subject: Subject,
    problems: Sequence[Problem],
    warnings: tuple[str, ...],
    written: Written | None,
    mode: Mode,
) -> Decision:
    """Problems, in the annotation or as a refusal."""
    if mode is Mode.ENFORCE:
        return _refused_input(subject, problems, warnings)
    text = record.render(mode, problems=problems, written=written)
    operations = patch(subject.thing, _annotated(subject.kind, subject.thing, text))
    outcome = Outcome.EXPLAINED if operations else Outcome.UNCHANGED
    found = (*warnings, *(f"floodplain cannot size this: {problem}" for problem in problems))
    return Decision(True, outcome, patch=operations, warnings=found, problems=tuple(problems))


def _passed(problems: Sequence[Problem]) -> Decision:
    found = tuple(f"floodplain cannot size this: {problem}" for problem in problems)
    return Decision(True, Outcome.UNREADABLE, warnings=found, problems=tuple(problems))


def _refused_input(subject: Subject, problems: Sequence[Problem], warnings: tuple[str, ...]) -> Decision:
    told = " / ".join(str(problem) for problem in problems)
    message = _short(f"floodplain cannot size this {subject.kind}: {told}")
    if NO_POOLS in problems:
        return Decision(False, Outcome.ERROR, message, 503, warnings=warnings, problems=tuple(problems))
    return Decision(False, Outcome.REFUSED_INPUT, message, 400, warnings=warnings, problems=tuple(problems))


def _refused_infeasible(subject: Subject, plan: Plan, warnings: tuple[str, ...]) -> Decision:
    images = "" if plan.images is None else f"{plan.images} images, "
    peak = f"{images}a peak of {amount(plan.peak_bytes)}"
    message = f"floodplain has no place for this {subject.kind} ({peak}): {' / '.join(plan.reasons)}"
    if plan.advice:
        message = f"{_short(message)}. What helps: {plan.advice[0]}"
    return Decision(False, Outcome.REFUSED_INFEASIBLE, _short(message), 422, warnings=warnings, plan=plan)


def _with_template(subject: Subject, template: Mapping[str, Any]) -> Mapping[str, Any]:
    """The object around another template."""
    if subject.kind is Kind.POD:
        return {**subject.thing, **template}
    return {**subject.thing, "spec": {**mapping(subject.thing.get("spec")), "template": template}}


def _annotated(kind: Kind, thing: Mapping[str, Any], text: str) -> Mapping[str, Any]:
    """The object with the plan's annotation, a Job's template as well: its pods carry it then."""
    metadata = mapping(thing.get("metadata"))
    noted = {**thing, "metadata": {**metadata, "annotations": {**mapping(metadata.get("annotations")), PLAN: text}}}
    if kind is Kind.POD:
        return noted
    subject = Subject(kind, noted)
    return _with_template(subject, _annotated(Kind.POD, subject.template, text))


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST_MESSAGE else f"{text[: _LONGEST_MESSAGE - 3]}..."
