"""What our plan would have done to a job that ran. Pure: a past job and a plan in, a verdict out.

Never more than the evidence carries: a plan that clears a bound is not a job saved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum

from floodplain.backtest.past_job import Outcome, PastJob, evidence
from floodplain.sizing.plan import Plan
from floodplain.sizing.workload import Workload
from floodplain.swap import page_floor


class Verdict(StrEnum):
    """Each job gets one."""

    KEPT = "kept"
    """Ran, and would have."""
    KILLED = "killed"
    """Ran, and would have been killed: its known peak is above what our plan holds."""
    SAVED = "saved"
    """Died, and would have run: our plan holds its known peak."""
    CLEARS_BOUND = "clears-bound"
    """Died, and our plan holds more than it had when it died. Whether that would have been enough is not known."""
    STILL_DIES = "still-dies"
    """Died, and would have again."""
    UNDECIDABLE = "undecidable"
    """What is known does not say."""
    INFEASIBLE = "infeasible"
    """No pool takes it: enforcement would have refused it, with advice."""


@dataclass(frozen=True)
class Replayed:
    """A past job beside its plan."""

    job: PastJob
    plan: Plan
    verdict: Verdict
    reason: str

    @property
    def holds_bytes(self) -> int:
        return holds_bytes(self.plan)


def holds_bytes(plan: Plan) -> int:
    """What a container of this plan can hold: its limit in whole pages, and its swap."""
    return page_floor(plan.limit_bytes) + plan.swap_grant_bytes


def replay(jobs: Iterable[PastJob], plan_of: Callable[[Workload], Plan]) -> tuple[Replayed, ...]:
    """Every job with its plan, in their order; jobs of the same workload share one."""
    plans: dict[Workload, Plan] = {}
    found = []
    for job in jobs:
        plan = plans.get(job.workload) or plans.setdefault(job.workload, plan_of(job.workload))
        found.append(Replayed(job, plan, *judge(job, plan)))
    return tuple(found)


def judge(job: PastJob, plan: Plan) -> tuple[Verdict, str]:
    """The verdict, and why in a few words."""
    if not plan.feasible:
        return Verdict.INFEASIBLE, "; ".join(plan.reasons)
    if job.outcome is Outcome.FAILED:
        return Verdict.UNDECIDABLE, "it failed for another reason than memory, or for one that is not known"
    return _judge_run(job, holds_bytes(plan)) if job.outcome is Outcome.SUCCEEDED else _judge_death(job, plan)


def _judge_run(job: PastJob, holds: int) -> tuple[Verdict, str]:
    known = evidence(job)
    if known.exact is not None:
        if holds >= known.exact:
            return Verdict.KEPT, "its peak is known, and held"
        return Verdict.KILLED, "its peak is known, and above limit and swap"
    if known.at_most is None:
        return Verdict.UNDECIDABLE, "neither its peak nor all it could hold is known"
    if holds >= known.at_most:
        return Verdict.KEPT, "it ran with no more than our plan holds"
    return Verdict.UNDECIDABLE, "it had more than our plan holds, and how much of it it needed is not known"


def _judge_death(job: PastJob, plan: Plan) -> tuple[Verdict, str]:
    known, holds = evidence(job), holds_bytes(plan)
    if known.exact is not None:
        if holds >= known.exact:
            return Verdict.SAVED, "its peak is known, and held"
        return Verdict.STILL_DIES, "its peak is known, and above limit and swap"
    if known.above is not None and holds <= known.above:
        return Verdict.STILL_DIES, "our plan holds no more than what it had passed when it died"
    if known.reached is not None and holds > known.reached:
        return Verdict.CLEARS_BOUND, "our plan at least clears the bound: more than it had when it died"
    if job.outcome is Outcome.EVICTED:
        return Verdict.UNDECIDABLE, "it was evicted for the node's sake; how much it needed is not known"
    return Verdict.UNDECIDABLE, "how much it could hold when it died is not known"
