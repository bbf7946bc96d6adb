"""The verdict on each kind of past job, for a plan of 10 GiB and 20 GiB of swap; and that all adds up."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from floodplain.backtest.past_job import Evidence, Outcome, PastJob, evidence, with_swap_ratio
from floodplain.backtest.replay import Replayed, Verdict, judge, replay
from floodplain.backtest.totals import Reserved, Totals, totals
from floodplain.quantity import GIB
from floodplain.sizing.plan import Plan
from floodplain.sizing.workload import Workload
from tests.floodplain.backtest.plans import WORKLOAD, plan

PLAN = plan(10, 20)


def job(outcome: Outcome, **known: float | None) -> PastJob:
    """`limit=8, swap=0` and so on in GiB."""
    names = {
        "request": "request_bytes",
        "limit": "limit_bytes",
        "peak": "peak_bytes",
        "swap": "swap_bytes",
        "node": "node_memory_bytes",
    }
    found: dict[str, Any] = {
        names[key]: None if value is None else int(value * GIB) for key, value in known.items() if key in names
    }
    if "seconds" in known:
        found["seconds"] = known["seconds"]
    return PastJob("j", WORKLOAD, outcome, **found)


OK, OOM, EVICTED, FAILED = Outcome.SUCCEEDED, Outcome.OOM, Outcome.EVICTED, Outcome.FAILED
VERDICTS: dict[str, tuple[PastJob, Verdict]] = {
    "ran, peak held to the byte": (job(OK, peak=30, limit=40), Verdict.KEPT),
    "ran, peak above": (replace(job(OK, limit=40), peak_bytes=30 * GIB + 1), Verdict.KILLED),
    "ran within what we hold": (job(OK, limit=30, swap=0), Verdict.KEPT),
    "ran within limit and swap that we hold": (job(OK, limit=10, swap=20), Verdict.KEPT),
    "ran with more than we hold": (job(OK, limit=31, swap=0), Verdict.UNDECIDABLE),
    "ran with swap that nobody knows": (job(OK, limit=8), Verdict.UNDECIDABLE),
    "ran without a limit on a small node": (job(OK, node=16, swap=0), Verdict.KEPT),
    "ran without a limit anywhere": (job(OK, swap=0), Verdict.UNDECIDABLE),
    "killed with less than we hold": (job(OOM, limit=8, swap=0), Verdict.CLEARS_BOUND),
    "killed with exactly what we hold": (job(OOM, limit=30, swap=0), Verdict.STILL_DIES),
    "killed with more": (job(OOM, limit=40, swap=0), Verdict.STILL_DIES),
    "killed, its swap not used up perhaps": (job(OOM, limit=20, swap=20), Verdict.UNDECIDABLE),
    "killed with swap that nobody knows": (job(OOM, limit=8), Verdict.UNDECIDABLE),
    "killed at a measured point below": (job(OOM, limit=8, swap=4, peak=12), Verdict.CLEARS_BOUND),
    "killed at a measured point above": (job(OOM, limit=40, swap=0, peak=40), Verdict.STILL_DIES),
    "killed, peak known of another run and held": (job(OOM, limit=8, swap=0, peak=25), Verdict.SAVED),
    "killed, peak known of another run and above": (job(OOM, limit=8, swap=0, peak=31), Verdict.STILL_DIES),
    "evicted, nothing measured": (job(EVICTED, limit=81, swap=81), Verdict.UNDECIDABLE),
    "evicted at a measured point": (job(EVICTED, limit=81, swap=81, peak=28.2), Verdict.CLEARS_BOUND),
    "evicted at a measured point above": (job(EVICTED, limit=81, swap=81, peak=30), Verdict.STILL_DIES),
    "evicted, peak known of another run": (job(EVICTED, limit=8, swap=0, peak=25), Verdict.SAVED),
    "failed for another reason": (job(FAILED, limit=8, swap=0, peak=40), Verdict.UNDECIDABLE),
}


@pytest.mark.parametrize(("past", "verdict"), VERDICTS.values(), ids=VERDICTS)
def test_each_past_job_gets_the_verdict_that_its_evidence_carries(past: PastJob, verdict: Verdict) -> None:
    assert judge(past, PLAN)[0] is verdict


def test_a_job_that_no_pool_takes_is_neither_kept_nor_killed() -> None:
    none = plan(10, 20, feasible=False, reasons=("too large", "too long"))
    assert judge(job(OK, peak=1, limit=1), none) == (Verdict.INFEASIBLE, "too large; too long")


@pytest.mark.parametrize(
    "past", [VERDICTS["killed with less than we hold"][0], VERDICTS["evicted at a measured point"][0]]
)
def test_a_bound_that_is_cleared_is_said_to_be_no_more_than_that(past: PastJob) -> None:
    assert judge(past, PLAN) == (
        Verdict.CLEARS_BOUND,
        "our plan at least clears the bound: more than it had when it died",
    )


EVIDENCE: dict[str, tuple[PastJob, Evidence]] = {
    "ran": (job(OK, limit=8, swap=4), Evidence(at_most=12 * GIB)),
    "ran, measured": (job(OK, limit=8, swap=4, peak=5), Evidence(exact=5 * GIB)),
    "killed": (job(OOM, limit=8, swap=4), Evidence(above=8 * GIB, reached=12 * GIB)),
    "killed, measured": (job(OOM, limit=8, swap=4, peak=9), Evidence(above=9 * GIB, reached=12 * GIB)),
    "killed, measured below its limit": (job(OOM, limit=8, peak=3), Evidence(above=8 * GIB, reached=8 * GIB)),
    "evicted": (job(EVICTED, limit=8, swap=4), Evidence()),
}


@pytest.mark.parametrize(("past", "expected"), EVIDENCE.values(), ids=EVIDENCE)
def test_how_a_job_ended_bounds_its_peak(past: PastJob, expected: Evidence) -> None:
    assert evidence(past) == expected


@pytest.mark.parametrize(
    ("past", "ratio", "swap"),
    [
        (job(OK, request=4), 2.0, 8),
        (job(OK, limit=4), 2.0, 8),
        (job(OK, request=4), None, None),
        (job(OK, request=4, swap=1), 2.0, 1),
        (job(OK), 2.0, None),
        (job(OK), 0.0, 0),
    ],
)
def test_swap_that_nobody_noted_follows_the_request_where_a_ratio_is_given(
    past: PastJob, ratio: float | None, swap: int | None
) -> None:
    assert with_swap_ratio(past, ratio).swap_bytes == (None if swap is None else swap * GIB)


def test_jobs_of_one_workload_are_planned_once() -> None:
    asked: list[Workload] = []

    def plan_of(workload: Workload) -> Plan:
        asked.append(workload)
        return PLAN

    other = replace(job(OK, peak=1), workload=Workload(images=7))
    found = replay([job(OK, peak=1), other, job(OK, peak=31)], plan_of)
    assert [one.verdict for one in found] == [Verdict.KEPT, Verdict.KEPT, Verdict.KILLED]
    assert asked == [WORKLOAD, Workload(images=7)]


def test_totals_are_those_of_a_small_replay() -> None:
    past = [
        job(OK, request=40, limit=40, peak=20, seconds=3600),
        job(OK, request=5, limit=5, swap=0, seconds=7200),
        job(OOM, request=8, limit=8, swap=0),
        job(OK, limit=8, swap=0),
    ]
    assert totals(replay(past, lambda workload: PLAN)) == Totals(
        jobs=4,
        verdicts={
            Verdict.KEPT: 3,
            Verdict.KILLED: 0,
            Verdict.SAVED: 0,
            Verdict.CLEARS_BOUND: 1,
            Verdict.STILL_DIES: 0,
            Verdict.UNDECIDABLE: 0,
            Verdict.INFEASIBLE: 0,
        },
        memory_gib=Reserved(3, theirs=53, ours=30, saved=30, added=7),
        memory_gib_hours=Reserved(2, theirs=50, ours=30, saved=30, added=10),
    )


SIZES = st.none() | st.integers(0, 1 << 40)
JOBS = st.builds(
    PastJob,
    name=st.just("j"),
    workload=st.just(WORKLOAD),
    outcome=st.sampled_from(Outcome),
    request_bytes=SIZES,
    limit_bytes=SIZES,
    peak_bytes=SIZES,
    swap_bytes=SIZES,
    node_memory_bytes=SIZES,
    seconds=st.none() | st.floats(0, 1e6),
)
PLANS = st.builds(plan, st.floats(0, 500), st.floats(0, 500), feasible=st.sampled_from([True, True, False]))


@given(st.lists(st.tuples(JOBS, PLANS), max_size=30))
def test_totals_add_up(pairs: list[tuple[PastJob, Plan]]) -> None:
    replayed = [Replayed(past, made, *judge(past, made)) for past, made in pairs]
    sums = totals(replayed)
    assert (sums.jobs, sum(sums.verdicts.values())) == (len(pairs), len(pairs))
    for reserved in (sums.memory_gib, sums.memory_gib_hours):
        assert reserved.theirs - reserved.ours == pytest.approx(reserved.saved - reserved.added, abs=1e-3)
        assert min(reserved.saved, reserved.added) >= 0
        assert reserved.jobs <= len(pairs)


@given(JOBS, PLANS)
def test_nobody_is_saved_or_killed_but_by_a_known_peak(past: PastJob, made: Plan) -> None:
    verdict, _ = judge(past, made)
    if verdict in (Verdict.SAVED, Verdict.KILLED):
        exact = evidence(past).exact
        assert exact is not None
        assert (exact <= made.limit_bytes + made.swap_grant_bytes) == (verdict is Verdict.SAVED)
    died = past.outcome in (Outcome.OOM, Outcome.EVICTED)
    if verdict in (Verdict.SAVED, Verdict.CLEARS_BOUND, Verdict.STILL_DIES):
        assert died
    if verdict in (Verdict.KEPT, Verdict.KILLED):
        assert past.outcome is Outcome.SUCCEEDED


@given(JOBS, st.floats(0, 500), st.floats(0, 500), st.floats(0, 100))
def test_more_memory_never_turns_a_kept_job_into_a_lost_one(
    past: PastJob, limit: float, swap: float, more: float
) -> None:
    good = (Verdict.KEPT, Verdict.SAVED, Verdict.CLEARS_BOUND)
    if judge(past, plan(limit, swap))[0] in good:
        assert judge(past, plan(limit + more, swap))[0] in good
