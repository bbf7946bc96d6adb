"""Is a NodePool bounded, closed to others, and gentle with jobs?"""

from __future__ import annotations

import re
from collections.abc import Iterator

from pulumi_policy import Policy, ResourceValidationArgs, Severity

from floodplain import quantity
from floodplain.quantity import QuantityError

from .kinds import is_node_pool
from .proxies import Unknowns, each, get, shown, text, texts
from .rule import About, of_type, resource_rule
from .swap_pools import asks_for_swap

_DURATION = re.compile(r"([0-9]+(s|m|h))+")


def without_limits(args: ResourceValidationArgs) -> Iterator[str]:
    """No ceiling for CPU or memory (for nodes in a static pool), or one that is no quantity."""
    wanted = ("nodes",) if get(args.props, "spec", "replicas") is not None else ("cpu", "memory")
    unknowns = Unknowns()
    for resource in wanted:
        with unknowns:
            value = get(args.props, "spec", "limits", resource)
            if value is None:
                yield f"spec.limits.{resource}: is missing; one mistaken job could launch nodes without end; set it"
            elif not _is_quantity(value):
                yield f"spec.limits.{resource}: {shown(value)} is not a quantity above zero; write one, such as 2304Gi"
    unknowns.raise_first()


def _is_quantity(value: object) -> bool:
    if isinstance(value, bool):
        return False
    if isinstance(value, int | float):
        return value > 0
    try:
        return quantity.exact(text(value) or "") > 0
    except QuantityError:
        return False


def without_taint(args: ResourceValidationArgs) -> Iterator[str]:
    """No taint that keeps pods away. Startup taints are taken off again and do not count."""
    unknowns = Unknowns()
    for taint in each(get(args.props, "spec", "template", "spec", "taints")):
        with unknowns:
            if text(get(taint, "effect")) in ("NoSchedule", "NoExecute") and text(get(taint, "key")):
                return
    unknowns.raise_first()
    yield "spec.template.spec.taints: has no NoSchedule or NoExecute taint, so any pod may land there; add one"


def without_times(args: ResourceValidationArgs) -> Iterator[str]:
    """Expiry and grace left to defaults: 30 days, and no bound."""
    unknowns = Unknowns()
    with unknowns:
        expiry = get(args.props, "spec", "template", "spec", "expireAfter")
        if expiry is None:
            yield "spec.template.spec.expireAfter: is missing, so nodes and their jobs end after 720h; set it, or Never"
        elif text(expiry) == "Never" and any(True for _ in each(_startup_taints(args))):
            yield (
                "spec.template.spec.expireAfter: is Never, but a startup taint that nobody takes off keeps a node "
                "for ever; set a duration"
            )
        elif text(expiry) != "Never" and not _DURATION.fullmatch(text(expiry) or ""):
            yield f"spec.template.spec.expireAfter: {shown(expiry)} is no duration; write one, such as 720h, or Never"
    with unknowns:
        grace = get(args.props, "spec", "template", "spec", "terminationGracePeriod")
        if grace is None:
            yield (
                "spec.template.spec.terminationGracePeriod: is missing, so a node that must go may wait for ever; "
                "set it to the longest job and some"
            )
        elif not _DURATION.fullmatch(text(grace) or ""):
            yield f"spec.template.spec.terminationGracePeriod: {shown(grace)} is no duration; write one, such as 49h"
    unknowns.raise_first()


def _startup_taints(args: ResourceValidationArgs) -> object:
    return get(args.props, "spec", "template", "spec", "startupTaints")


def without_drift_budget(args: ResourceValidationArgs) -> Iterator[str]:
    """No budget that bounds how many drifted nodes go at a time. A user data edit drifts the whole fleet."""
    unknowns = Unknowns()
    for budget in each(get(args.props, "spec", "disruption", "budgets")):
        with unknowns:
            reasons = texts(get(budget, "reasons"))
            if (not reasons or "Drifted" in reasons) and text(get(budget, "nodes")) not in (None, "100%"):
                return
    unknowns.raise_first()
    yield (
        "spec.disruption.budgets: has none for Drifted, so one edit may roll many nodes at once; add nodes: '1', "
        "reasons: [Drifted]"
    )


def moves_jobs(args: ResourceValidationArgs) -> Iterator[str]:
    """A swap pool that Karpenter may empty to save money."""
    if not asks_for_swap(args.props):
        return
    policy = get(args.props, "spec", "disruption", "consolidationPolicy")
    if text(policy) != "WhenEmpty":
        yield f"spec.disruption.consolidationPolicy: is {shown(policy)}, which ends running jobs; write WhenEmpty"


POLICIES: list[Policy] = [
    resource_rule(
        About(
            name="node-pool-has-limits",
            description="A NodePool has a ceiling for CPU and memory (for nodes, if static).",
            remedy="Set spec.limits. Karpenter counts whole nodes, not requests: allow for the largest type.",
        ),
        of_type(is_node_pool),
        without_limits,
    ),
    resource_rule(
        About(
            name="node-pool-has-a-taint",
            description="A NodePool is tainted, so that only pods that are prepared for it land there.",
            remedy="Add a taint with effect NoSchedule to spec.template.spec.taints.",
        ),
        of_type(is_node_pool),
        without_taint,
    ),
    resource_rule(
        About(
            name="node-pool-lets-jobs-finish",
            description="A NodePool says when nodes expire, how long they may drain and how many drifted ones go at "
            "a time; a swap pool is consolidated only when empty.",
            remedy="Set expireAfter, terminationGracePeriod, a budget for Drifted, and WhenEmpty.",
            severity=Severity.MEDIUM,
        ),
        of_type(is_node_pool),
        without_times,
        without_drift_budget,
        moves_jobs,
    ),
]
