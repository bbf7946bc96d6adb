"""A fleet's bill in words for a terminal, and as a document for programs. Pure; every figure is the bill's own."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from floodplain.byte_amount import mib
from floodplain.quantity import GIB
from floodplain.raster.bill import Bill, Fleet
from floodplain.raster.memory_price import MemoryPrice
from floodplain.raster.sized_worker import ESTIMATE_SHARE
from floodplain.raster.worker_told import document as worker_document
from floodplain.sizing.explain import Explanation, Row, Section

NO_PRICE = "no price of memory is known: give --price, or run `floodplain catalogue refresh --prices`"
_MOST_NAMES = 5


def told(bill: Bill, price: MemoryPrice | None, higher: Bill | None = None) -> Explanation:
    """Both ways with memory-hours, wall time and money; how tasks were routed, and what to beware of.

    `higher` is the same history at a higher threshold, for comparison.
    """
    sized, wall = bill.sized, bill.wall_seconds
    sections = (
        Section("How", _how(bill)),
        Section("The history", sized.remarks),
        Section("Beware", (*_unsafe(bill), *sized.warnings)),
    )
    shares = (
        "cost nothing, as one fleet does"
        if not bill.one.gib_hours
        else f"take {bill.share * 100:.0f} % of one fleet's memory"
    )
    return Explanation(
        headline=f"Two pools {shares}: {_hours(bill.gib_hours)} against {_hours(bill.one.gib_hours)}",
        rows=(
            Row("One fleet", _hours(bill.one.gib_hours), _fleet(bill.one, f"each slot for {mib(sized.largest_bytes)}")),
            Row("Two pools", _hours(bill.gib_hours), "each until its own last task ends"),
            Row("  small", _hours(bill.small.gib_hours), _fleet(bill.small, f"each slot for {_slot(bill)}")),
            Row("  big", _hours(bill.big.gib_hours), _fleet(bill.big, "serial")),
            Row("  both kept up", _hours(bill.kept_gib_hours), "if neither is taken down before the other ends"),
            *_money(bill, price),
            Row("Wall time", _time(wall), f"one fleet {_time(bill.one.wall_seconds)}; {_last(bill)}"),
            *_balance(bill),
            *_higher(higher),
        ),
        sections=tuple(section for section in sections if section.sentences),
    )


def document(bill: Bill, price: MemoryPrice | None, higher: Bill | None = None) -> dict[str, Any]:
    """Everything, in bytes, seconds, GiB hours and US dollars, with snake_case keys."""
    hourly = price.usd if price else None
    return {
        "share": bill.share,
        "gib_hours": bill.gib_hours,
        "kept_gib_hours": bill.kept_gib_hours,
        "balanced_gib_hours": bill.balanced_gib_hours,
        "usd": None if hourly is None else bill.gib_hours * hourly,
        "one_fleet_usd": None if hourly is None else bill.one.gib_hours * hourly,
        "usd_per_gib_hour": hourly,
        "price_source": price.source if price else None,
        "wall_seconds": bill.wall_seconds,
        "balanced_replicas": bill.balanced_replicas,
        "balanced_seconds": bill.balanced_seconds,
        "one": _fleet_document(bill.one),
        "small": _fleet_document(bill.small),
        "big": _fleet_document(bill.big),
        "routed_by_estimate": bill.routed_by_estimate,
        "unknown_demand": bill.unknown_demand,
        "over_slot": list(bill.over_slot),
        "assumed_seconds": bill.assumed_seconds,
        "higher_threshold": None if higher is None else _higher_document(higher),
        "worker": worker_document(bill.sized),
    }


def _higher_document(higher: Bill) -> dict[str, Any]:
    return {
        "threshold_bytes": higher.sized.pools.threshold_bytes,
        "share": higher.share,
        "gib_hours": higher.gib_hours,
        "wall_seconds": higher.wall_seconds,
        "over_slot": list(higher.over_slot),
    }


def _fleet_document(fleet: Fleet) -> dict[str, Any]:
    return {**asdict(fleet), "gib_hours": fleet.gib_hours}


def _fleet(fleet: Fleet, what: str) -> str:
    slots = f"{fleet.slots} slot{'s' if fleet.slots != 1 else ''}"
    size = f"{fleet.workers} x {fleet.limit_bytes / GIB:,.1f} GiB with {slots} for {_time(fleet.wall_seconds)}"
    return f"{size}: {_tasks(fleet.tasks)}, {what}"


def _slot(bill: Bill) -> str:
    return (
        f"{bill.sized.peak.name} {mib(bill.sized.peak.bytes)}, with headroom {mib(bill.sized.pools.slot_budget_bytes)}"
    )


def _last(bill: Bill) -> str:
    if bill.big.wall_seconds > bill.small.wall_seconds:
        return (
            f"the big pool is serial and ends {_time(bill.big.wall_seconds - bill.small.wall_seconds)} after the small"
        )
    return "the small pool ends last"


def _balance(bill: Bill) -> tuple[Row, ...]:
    if bill.balanced_replicas == 1 or not bill.small.tasks:  # a small pool that runs nothing ends at once
        return ()
    many = f"{bill.balanced_replicas} big workers end with the small pool, in {_time(bill.balanced_seconds)}"
    return (Row("Balanced", str(bill.balanced_replicas), f"{many}; both kept up: {_hours(bill.balanced_gib_hours)}"),)


def _higher(higher: Bill | None) -> tuple[Row, ...]:
    if higher is None:
        return ()
    over = _tasks(len(higher.over_slot)) if higher.over_slot else "no task"
    remark = (
        f"with --threshold {ESTIMATE_SHARE:g}: {higher.share * 100:.0f} % of one fleet's memory, "
        f"{_time(higher.wall_seconds)}, {over} over its slot"
    )
    return (Row("Compare", _hours(higher.gib_hours), remark),)


def _money(bill: Bill, price: MemoryPrice | None) -> tuple[Row, ...]:
    if price is None:
        return (Row("Money", "unknown", NO_PRICE),)
    source = f"at {price.usd:.4g} USD a GiB hour ({price.source})"
    one = bill.one.gib_hours * price.usd
    return (Row("Money", _usd(bill.gib_hours * price.usd), f"one fleet {_usd(one)}; {source}"),)


def _how(bill: Bill) -> tuple[str, ...]:
    total, by_estimate = len(bill.tasks), bill.routed_by_estimate
    by_peak = total - by_estimate
    threshold = mib(bill.sized.pools.threshold_bytes)
    if by_peak == 0:
        routed = "by estimate"
    elif by_estimate == 0:
        routed = "by what they really held, as no record has an estimate: a router knows less"
    else:
        routed = f"{by_estimate:,} by estimate, {by_peak:,} by what they really held, since they have none"
    said = [f"tasks above the threshold of {threshold} go to the big pool, {routed}"]
    if bill.unknown_demand:
        said.append(f"of these {_tasks(bill.unknown_demand)} whose demand is not known, whatever the estimate")
    if bill.assumed_seconds is not None:
        lacking = sum(task.record.seconds is None for task in bill.tasks)
        rest = "a minute" if lacking == total else f"{bill.assumed_seconds:g} s, the median of the others,"
        only = "; only ratios mean something" if lacking == total else ""
        said.append(f"without a time on record: {_tasks(lacking)}; {rest} is taken for each{only}")
    return tuple(said)


def _unsafe(bill: Bill) -> tuple[str, ...]:
    over = bill.over_slot
    if not over:
        return ()
    names = ", ".join(over[:_MOST_NAMES]) + (" ..." if len(over) > _MOST_NAMES else "")
    return (
        f"{_tasks(len(over))} held more than a slot although estimated below the threshold ({names}): this may"
        " be killed, and is counted once more in the big pool; calibrate the estimates of this layer",
    )


def _tasks(count: int) -> str:
    return f"{count:,} task{'' if count == 1 else 's'}"


def _usd(amount: float) -> str:
    return f"{amount:,.2f} USD" if amount >= 1 or not amount else f"{amount:.3g} USD"


def _hours(count: float) -> str:
    return f"{count:,.1f} GiB h" if count >= 10 else f"{count:,.3g} GiB h"


def _time(seconds: float) -> str:
    if seconds >= 3600:
        return f"{seconds / 3600:,.1f} h"
    return f"{seconds / 60:,.1f} min" if seconds >= 60 else f"{seconds:.3g} s"
