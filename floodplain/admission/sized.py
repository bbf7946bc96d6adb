"""A pod, or a Job's template, as a plan makes it: resources, place, annotations. Decides nothing any more.

What the user set stands. What is written is recorded (`written`), so that it can be told from the user's next time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from floodplain.admission.concurrency import addition
from floodplain.admission.figures import CPU, DISK, LIMITS, MEMORY, REQUESTS, same_quantity
from floodplain.admission.places import CAPACITY_LABEL
from floodplain.admission.pod import PodReading
from floodplain.admission.subject import at, mapping
from floodplain.admission.written import Written
from floodplain.pools import PoolDocument
from floodplain.quantity import from_bytes
from floodplain.sizing.plan import Plan
from floodplain.sizing.settings import Placement, SizingSettings

DO_NOT_DISRUPT = "karpenter.sh/do-not-disrupt"
"""Karpenter then waits for the pod before it replaces a drifted node (docs/how-to/run-a-job.md)."""


@dataclass(frozen=True)
class Sized:
    """The template with the plan in it, but for the plan's own annotation."""

    template: Mapping[str, Any]
    written: Written
    notes: tuple[str, ...]


def sized(
    before: Mapping[str, Any],
    now: Mapping[str, Any],
    plan: Plan,
    container: str,
    reading: PodReading,
    pool: PoolDocument,
    settings: SizingSettings,
) -> Sized:
    """`before` is the template without what an earlier plan wrote, `now` as it stands, whose spelling is kept."""
    # Only what changes is copied: `patch` passes over what is the same object, and a pod may have megabytes.
    template: dict[str, Any] = dict(before)
    spec = template["spec"] = dict(before["spec"])
    position = next(index for index, one in enumerate(spec["containers"]) if one["name"] == container)
    spec["containers"] = list(spec["containers"])
    mine = spec["containers"][position] = dict(spec["containers"][position])
    standing = now["spec"]["containers"][position]
    notes: list[str] = []

    resources, replaced = _resources(mine, standing, plan, reading)
    added = addition(mine, plan.max_concurrency)
    if added.args:
        mine["args"] = [*_list(mine.get("args")), *added.args]
        notes.append(f"{' '.join(added.args)} is added, by {added.rule}")
    notes += [added.why_not] if added.why_not else []

    selector, tolerations, runtime_class = _placed(spec, plan, pool, settings)
    if selector:
        spec["nodeSelector"] = {**mapping(spec.get("nodeSelector")), **selector}
    if tolerations:
        wanted = [*_list(spec.get("tolerations")), *tolerations]
        there = _list(at(now, "spec", "tolerations"))
        # In the order in which they stand, so that a plan that is there already changes nothing.
        spec["tolerations"] = [one for one in there if one in wanted] + [one for one in wanted if one not in there]
    if runtime_class is not None:
        spec["runtimeClassName"] = runtime_class
    if settings.placement is Placement.SELECTOR and spec.get("runtimeClassName") is None:
        notes.append("without a RuntimeClass nothing pays for the 1 MiB that the limit lies above the request")

    metadata = template["metadata"] = dict(mapping(template.get("metadata")))
    annotations = metadata["annotations"] = dict(mapping(metadata.get("annotations")))
    if annotations.setdefault(DO_NOT_DISRUPT, "true") != "true":
        notes.append(f"{DO_NOT_DISRUPT} is the user's and stands: Karpenter may move the job")
    written = Written(container, resources, replaced, added.args, runtime_class, selector, tolerations)
    return Sized(template, written, tuple(notes))


Amounts = dict[str, dict[str, str]]


def _resources(
    container: dict[str, Any], standing: Mapping[str, Any], plan: Plan, reading: PodReading
) -> tuple[Amounts, Amounts]:
    """Set the plan's amounts in a container; what was set, and what of the user's it took the place of."""
    wanted: Amounts = {REQUESTS: {MEMORY: from_bytes(plan.request_bytes)}, LIMITS: {}}
    given = reading.given
    if given.limit_bytes is None:
        wanted[LIMITS][MEMORY] = from_bytes(plan.limit_bytes)
    if given.cpu_millicores is None:
        wanted[REQUESTS][CPU] = plan.cpu
    if (LIMITS, DISK) not in reading.own and plan.ephemeral_bytes:
        wanted[LIMITS][DISK] = from_bytes(plan.ephemeral_bytes)
        if given.ephemeral_bytes is None:
            wanted[REQUESTS][DISK] = from_bytes(plan.ephemeral_bytes)

    resources = container["resources"] = dict(mapping(container.get("resources")))
    wrote: Amounts = {}
    replaced: Amounts = {}
    for kind, amounts in wanted.items():
        if not amounts:
            continue
        there = resources[kind] = dict(mapping(resources.get(kind)))
        for resource, amount in amounts.items():
            previous = there.get(resource)
            own = (kind, resource) in reading.own
            if own and same_quantity(previous, amount):
                continue
            if own:
                replaced.setdefault(kind, {})[resource] = str(previous)
            wrote.setdefault(kind, {})[resource] = amount
            spelt = mapping(at(standing, "resources", kind)).get(resource)
            there[resource] = spelt if same_quantity(spelt, amount) else amount
    return wrote, replaced


def _placed(
    spec: Mapping[str, Any], plan: Plan, pool: PoolDocument, settings: SizingSettings
) -> tuple[dict[str, str], tuple[dict[str, Any], ...], str | None]:
    """Node labels, tolerations and the RuntimeClass to add."""
    has = mapping(spec.get("nodeSelector"))
    selector: dict[str, str] = {}
    if settings.capacity_selector and CAPACITY_LABEL not in has:
        selector[CAPACITY_LABEL] = plan.capacity_type
    # A pod with overhead has been through its RuntimeClass, and cannot leave it any more.
    if settings.placement is Placement.RUNTIME_CLASS or spec.get("overhead"):
        return selector, (), None if spec.get("runtimeClassName") else pool.runtime_class
    selector |= {key: value for key, value in pool.node_selector.items() if key not in has}
    taint = pool.taint
    toleration: dict[str, Any] = {"key": taint.key, "operator": "Exists", "effect": taint.effect}
    if taint.value:
        toleration |= {"operator": "Equal", "value": taint.value}
    tolerated = any(_tolerates(mapping(one), pool) for one in _list(spec.get("tolerations")))
    return selector, () if tolerated else (toleration,), None


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _tolerates(toleration: Mapping[str, Any], pool: PoolDocument) -> bool:
    """core/v1 Toleration: no effect means any, no key with Exists any, no operator Equal."""
    taint = pool.taint
    if toleration.get("effect") not in (None, "", taint.effect):
        return False
    exists = toleration.get("operator") == "Exists"
    if not toleration.get("key"):
        return exists
    return toleration["key"] == taint.key and (exists or (toleration.get("value") or "") == taint.value)
