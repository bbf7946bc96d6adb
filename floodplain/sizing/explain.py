"""A plan in words: what it gives, why that holds, and what to change. Pure text, for a terminal, a page or a log.

Computes nothing of its own: every figure is the plan's.
"""

from __future__ import annotations

from dataclasses import dataclass

from floodplain.quantity import GIB, MIB, from_bytes
from floodplain.sizing.plan import MonthlyCost, Plan

NO_PRICES = "no prices: run `floodplain catalogue refresh --prices`"
_UNPRICED = "the table of prices has none for these types and this capacity type"


@dataclass(frozen=True)
class Row:
    """One figure of a plan."""

    name: str
    value: str
    remark: str = ""


@dataclass(frozen=True)
class Section:
    """Sentences under a heading."""

    heading: str
    sentences: tuple[str, ...]


@dataclass(frozen=True)
class Explanation:
    """A plan for people."""

    headline: str
    rows: tuple[Row, ...]
    sections: tuple[Section, ...]
    """Only those that have something to say."""


def explain(plan: Plan, *, priced: bool = False) -> Explanation:
    """The plan in words. `priced` says whether it was made with a table of prices."""
    verdict = f"fits pool {plan.pool}" if plan.feasible else "fits no pool as it is"
    if plan.compatibility is not None:
        verdict += f", sized as {plan.compatibility.value} does it"
    options = f" with {', '.join(plan.options)}" if plan.options else ""
    sections = (
        Section("Why not", plan.reasons),
        Section("What to change" if not plan.feasible else "Better", plan.advice),
        Section("Notes", plan.notes),
    )
    return Explanation(
        headline=f"{plan.engine.value} {_job(plan)}{options}: {verdict}",
        rows=(*_memory_rows(plan), *_place_rows(plan), *_margin_rows(plan), *_cost_rows(plan, priced)),
        sections=tuple(section for section in sections if section.sentences),
    )


def memory(count: int) -> str:
    """Bytes for people, rounded down so that no margin looks larger than it is: GiB with one decimal, or whole MiB."""
    sign = "-" if count < 0 else ""
    if abs(count) >= GIB:
        tenths = abs(count * 10 // GIB)
        return f"{sign}{tenths // 10:,}.{tenths % 10} GiB"
    return f"{sign}{abs(count // MIB)} MiB"


def _job(plan: Plan) -> str:
    if plan.images is None:
        return f"with a peak of {memory(plan.peak_bytes)}"
    return f"of {plan.images:,} image{'' if plan.images == 1 else 's'}"


def _memory_rows(plan: Plan) -> tuple[Row, ...]:
    swap = f"{plan.swap_grant_bytes:,} bytes that kubelet grants" if plan.swap_grant_bytes else "a pool without swap"
    confidence = f"confidence {plan.confidence.value}: {plan.confidence_reason}"
    return (
        Row("Peak", memory(plan.peak_bytes), f"{plan.peak_source}; {confidence}"),
        Row("Hot set", memory(plan.hot_bytes), f"must stay in memory; {plan.hot_source}"),
        Row("Memory limit", from_bytes(plan.limit_bytes), memory(plan.limit_bytes)),
        Row("Memory request", from_bytes(plan.request_bytes), _request_remark(plan)),
        Row("Swap grant", memory(plan.swap_grant_bytes), swap),
    )


def _request_remark(plan: Plan) -> str:
    below = plan.limit_bytes - plan.request_bytes
    if below == MIB:
        return "1 MiB below the limit: the scheduler packs by it, and kubelet grants swap where the two differ"
    return f"{memory(below)} below the limit"


def _place_rows(plan: Plan) -> tuple[Row, ...]:
    limit = "no CPU limit" if plan.cpu_limit is None else f"limit {plan.cpu_limit}"
    concurrency = "" if plan.max_concurrency is None else f"; --max-concurrency {plan.max_concurrency}"
    return (
        Row("CPU request", plan.cpu, f"{limit}{concurrency}"),
        Row("Ephemeral storage", from_bytes(plan.ephemeral_bytes), memory(plan.ephemeral_bytes)),
        Row("Pool", plan.pool, f"RuntimeClass {plan.runtime_class}, {plan.capacity_type}"),
        Row("Instance types", str(len(plan.instance_types) or "none"), ", ".join(plan.instance_types)),
    )


def _margin_rows(plan: Plan) -> tuple[Row, ...]:
    spare = plan.containment_margin_bytes
    if plan.smallest_allocatable_bytes is None or not plan.instance_types:
        contained = "what the largest node lacks" if spare < 0 else "no node takes it"
    elif spare < 0:
        contained = "by so much the limits of the pod pass what is reserved for them"
    else:
        allocatable = memory(plan.smallest_allocatable_bytes)
        contained = f"left on {plan.instance_types[0]} ({allocatable} for pods) beside the pod and DaemonSets"
    held = f"limit and grant beyond the peak: they hold {plan.holds_times_peak:.2f} x peak"
    return (
        Row("Containment margin", memory(spare), contained),
        Row("Completion margin", memory(plan.completion_margin_bytes), held),
    )


def _cost_rows(plan: Plan, priced: bool) -> tuple[Row, ...]:
    if not priced:
        return (Row("A month", "unknown", NO_PRICES),)
    ours, ram = plan.monthly_cost, plan.peak_as_ram_cost
    rows = (_cost_row("A month", ours), _cost_row("With the peak as RAM", ram))
    if ours is None or ram is None or ours.usd <= 0:
        return rows
    times = f"{ram.usd / ours.usd:.1f} times as much; {rows[1].remark}"
    return rows[0], Row(rows[1].name, rows[1].value, times)


def _cost_row(name: str, cost: MonthlyCost | None) -> Row:
    if cost is None:
        return Row(name, "unknown", _UNPRICED)
    return Row(
        name, f"${cost.usd:,.2f}", f"the pod's share of {cost.instance_type}, {cost.capacity_type}, {cost.priced}"
    )
