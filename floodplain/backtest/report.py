"""A replay as a script and a person read it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from floodplain.backtest.replay import Replayed, Verdict
from floodplain.backtest.totals import Reserved, Totals
from floodplain.byte_amount import amount, counted
from floodplain.problem import Problem

SCHEMA_VERSION = 1
MEANINGS: dict[Verdict, str] = {
    Verdict.KEPT: "ran, and would have run",
    Verdict.KILLED: "ran, and would have been killed: known peak above limit and swap",
    Verdict.SAVED: "died, and would have run: known peak held",
    Verdict.CLEARS_BOUND: "died, and would have had more than it died with; whether enough is not known",
    Verdict.STILL_DIES: "died, and would have died again",
    Verdict.UNDECIDABLE: "what is known does not say",
    Verdict.INFEASIBLE: "no pool takes it: enforcement would have refused it",
}


@dataclass(frozen=True)
class Input:
    """Where the jobs came from, and what of it could not be used."""

    source: str
    problems: tuple[Problem, ...] = ()
    bad: int = 0
    """Lines or objects that are no job."""
    remarks: tuple[str, ...] = ()


def document(given: Input, replayed: Sequence[Replayed], sums: Totals, pools: Iterable[str]) -> dict[str, Any]:
    """Everything, as `--json` prints it."""
    return {
        "schema_version": SCHEMA_VERSION,
        "source": given.source,
        "pools": list(pools),
        "jobs": sums.jobs,
        "bad": given.bad,
        "verdicts": {verdict.value: count for verdict, count in sums.verdicts.items()},
        "memory_gib": _reserved(sums.memory_gib),
        "memory_gib_hours": _reserved(sums.memory_gib_hours),
        "problems": [str(problem) for problem in given.problems],
        "remarks": list(given.remarks),
        "replayed": [_entry(one) for one in replayed],
    }


def _reserved(one: Reserved) -> dict[str, Any]:
    figures = {"theirs": one.theirs, "ours": one.ours, "saved": one.saved, "added": one.added}
    return {"jobs": one.jobs, **{key: round(value, 3) for key, value in figures.items()}}


def _entry(one: Replayed) -> dict[str, Any]:
    job, plan = one.job, one.plan
    return {
        "id": job.name,
        "images": job.workload.images,
        "options": list(job.workload.options.texts),
        "outcome": job.outcome.value,
        "peak_bytes": job.peak_bytes,
        "had": {"request_bytes": job.request_bytes, "limit_bytes": job.limit_bytes, "swap_bytes": job.swap_bytes},
        "ours": {
            "pool": plan.pool,
            "peak_bytes": plan.peak_bytes,
            "request_bytes": plan.request_bytes,
            "limit_bytes": plan.limit_bytes,
            "swap_bytes": plan.swap_grant_bytes,
        },
        "verdict": one.verdict.value,
        "reason": one.reason,
    }


def sentences(sums: Totals) -> list[str]:
    """What it comes to, for a person. A bound that was cleared is never called a job saved."""
    count = sums.verdicts
    found = []
    for reserved, unit in ((sums.memory_gib, "GiB"), (sums.memory_gib_hours, "GiB-hours")):
        if reserved.jobs:
            change = (reserved.ours - reserved.theirs) / reserved.theirs * 100 if reserved.theirs else 0
            found.append(
                f"Memory reserved by {counted(reserved.jobs, 'job')}: {reserved.theirs:,.1f} {unit} then,"
                f" {reserved.ours:,.1f} {unit} by our plans ({change:+.0f} %; less by {reserved.saved:,.1f} and more by"
                f" {reserved.added:,.1f} over single jobs)."
            )
    if not sums.memory_gib_hours.jobs and sums.jobs:
        found.append("How long the jobs ran is not known, so that memory-hours are not counted.")
    died = sum(count[verdict] for verdict in (Verdict.SAVED, Verdict.CLEARS_BOUND, Verdict.STILL_DIES))
    if died:
        found.append(
            f"Of {counted(died, 'job')} that died, our plans would have saved {count[Verdict.SAVED]} whose peak is"
            f" known; {count[Verdict.CLEARS_BOUND]} would at least have had more than they died with."
        )
    killed = count[Verdict.KILLED]
    found.append(
        f"Our plans would have killed {counted(killed, 'job')} that ran."
        if killed
        else "Of no job that ran is it known that our plan would have killed it."
    )
    if count[Verdict.UNDECIDABLE]:
        found.append(
            f"{counted(count[Verdict.UNDECIDABLE], 'job')} cannot be decided: measured peaks (peak_bytes) would tell."
        )
    return found


def first(replayed: Sequence[Replayed], most: int) -> list[Replayed]:
    """The jobs that a person should see first, in their order where they are alike."""
    order = [
        Verdict.KILLED,
        Verdict.INFEASIBLE,
        Verdict.STILL_DIES,
        Verdict.SAVED,
        Verdict.CLEARS_BOUND,
        Verdict.UNDECIDABLE,
        Verdict.KEPT,
    ]
    return sorted(replayed, key=lambda one: order.index(one.verdict))[:most]


def row(one: Replayed) -> tuple[str, ...]:
    """A line of the table: job, images, how it ended, its peak, what it had and what we give.

    A job without a limit had its node.
    """
    job = one.job
    memory = _known(job.memory_bytes) if job.limit_bytes is not None or job.memory_bytes is None else "node"
    had = f"{memory} + {_known(job.swap_bytes)}"
    ours = f"{_known(one.plan.limit_bytes)} + {_known(one.plan.swap_grant_bytes)}"
    images = "-" if job.workload.images is None else f"{job.workload.images:,}"
    return job.name, images, job.outcome.value, _known(job.peak_bytes), had, ours


def _known(value: int | None) -> str:
    return "?" if value is None else amount(value) if value else "0"
