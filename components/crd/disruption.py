"""When Karpenter may take nodes away of its own accord: consolidation and budgets, and how many may go at once.

Budgets bind drift, consolidation and emptiness only; expiry, interruption and node repair pass them by.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from floodplain.problem import RuleError

from .amounts import budget_duration, duration_or_never
from .model import CrdModel, Raw, counted, has
from .scalars import INT32_MAX, listed, one_of, text
from .schedule import cron_schedule
from .violation import RuntimeRuleError

POLICIES = ("WhenEmpty", "WhenEmptyOrUnderutilized", "Balanced")
REASONS = ("Underutilized", "Empty", "Drifted")
BUDGETS_MOST = 50
DEFAULT_NODES = "10%"


def _nodes(value: str) -> Iterator[RuleError]:
    if not re.fullmatch(r"(100|[0-9]{1,2})%|[0-9]+", value):
        yield RuleError("is neither a count nor a percentage from 0% to 100%", 'write "2" or "10%"', value=value)
    elif not value.endswith("%") and int(value) > INT32_MAX:
        yield RuntimeRuleError("overflows Karpenter's counter", f"write {INT32_MAX} or less", value=value)


def _both_or_none(raw: Raw) -> Iterator[RuleError]:
    for one, other in (("schedule", "duration"), ("duration", "schedule")):
        if has(raw, one) and not has(raw, other):
            yield RuleError(f"is required with {one}", f"set {other} too, or leave both out", (other,))


def _reasons_differ(raw: Raw) -> Iterator[RuleError]:
    reasons = raw.get("reasons")
    if reasons is None:
        return
    if not reasons:
        yield RuntimeRuleError(
            "are empty, so that the budget never binds", "leave reasons out for all of them", ("reasons",)
        )
    for position, reason in enumerate(reasons):
        if reason in reasons[:position]:
            yield RuleError("is listed twice", "leave one out", ("reasons", position), reason)


class Budget(CrdModel):
    """How many nodes of a pool may go at once; the strictest active budget of a reason counts."""

    rules = (_both_or_none, _reasons_differ, counted("reasons", 50))

    nodes: Annotated[str | None, text(_nodes)] = None
    schedule: Annotated[str | None, text(cron_schedule)] = None
    duration: Annotated[str | None, text(budget_duration)] = None
    reasons: Annotated[tuple[Annotated[str, one_of(*REASONS)], ...] | None, listed] = None


class Disruption(CrdModel):
    """When nodes may be consolidated, and the budgets."""

    rules = (counted("budgets", BUDGETS_MOST),)
    elsewhere = {"expireAfter": "it stands in spec.template.spec.expireAfter since karpenter.sh/v1"}

    consolidation_policy: Annotated[str | None, one_of(*POLICIES)] = None
    consolidate_after: Annotated[str, text(duration_or_never)]
    budgets: Annotated[tuple[Budget, ...] | None, listed] = None


@dataclass(frozen=True)
class Rolling:
    """How many nodes may go at once.

    `at_most` holds at any time, `within_schedules` while every schedule named in `schedules` is active.
    """

    at_most: int
    within_schedules: int
    schedules: tuple[str, ...] = ()


def nodes_at_most(budgets: Sequence[Mapping[str, Any] | Budget] | None, nodes: int, reason: str = "Drifted") -> Rolling:
    """How many of a pool's `nodes` may go at once for `reason` (Drifted, Empty or Underutilized).

    `budgets` as in spec.disruption: None stands for the default of 10 %, an empty list for no budget at all.
    Percentages are rounded up, so 10 % of 5 nodes is one (karpenter pkg/apis/v1/nodepool.go). Schedules are
    taken as inactive for `at_most` and reported. Raises ValueError for an unknown reason.
    """
    if reason not in REASONS:
        raise ValueError(f"{reason!r} is not one of {', '.join(REASONS)}")
    always = scheduled = nodes
    schedules: list[str] = []
    for given in [{}] if budgets is None else budgets:
        budget = given.fragment() if isinstance(given, Budget) else given
        reasons = budget.get("reasons")
        if reasons is not None and reason not in reasons:
            continue
        allowed = _scaled(budget.get("nodes") or DEFAULT_NODES, nodes)
        scheduled = min(scheduled, allowed)
        if budget.get("schedule"):
            schedules.append(f"{budget['schedule']} for {budget.get('duration')}")
        else:
            always = min(always, allowed)
    return Rolling(always, min(always, scheduled), tuple(schedules))


def _scaled(nodes: str, count: int) -> int:
    if nodes.endswith("%"):
        return -(-count * int(nodes[:-1]) // 100)
    return int(nodes)
