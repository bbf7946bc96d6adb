"""What is remembered of plans and charts, and for how long."""

from __future__ import annotations

from dataclasses import replace

import pytest

from floodplain.problem import RuleError
from floodplain.service.planning import remembered_charts, remembered_plans
from floodplain.service.snapshot import Snapshot
from floodplain.sizing.default_pool import default_pool
from floodplain.sizing.planner import make_plan
from floodplain.sizing.settings import Compatibility, SizingSettings
from floodplain.sizing.workload import Workload

SMALL = default_pool().model_copy(update={"name": "small", "types": default_pool().types[:3]})
SNAPSHOT = Snapshot((default_pool(), SMALL), SizingSettings(), None, read_at=1.0)
JOB = Workload(images=500, options="dsm")


def test_an_equal_job_is_planned_once_whatever_the_age_of_the_files() -> None:
    plans = remembered_plans()
    first = plans.of(JOB, SNAPSHOT)
    assert first == make_plan(JOB, SNAPSHOT.pools)
    assert plans.of(Workload(images="500", options=["--dsm"]), replace(SNAPSHOT, read_at=2.0, problem="x")) is first


def test_other_content_forgets_every_plan() -> None:
    plans = remembered_plans()
    first = plans.of(JOB, SNAPSHOT)
    theirs = SizingSettings(compatibility=Compatibility.SCALEODM)
    assert plans.of(JOB, replace(SNAPSHOT, settings=theirs)) == make_plan(JOB, SNAPSHOT.pools, settings=theirs)
    assert plans.of(JOB, SNAPSHOT) == first


def test_one_pool_may_be_named_and_must_be_there() -> None:
    plans = remembered_plans()
    assert plans.of(JOB, SNAPSHOT, "small").pool == "small"
    assert plans.of(JOB, SNAPSHOT, "example").pool == "example"
    with pytest.raises(RuleError) as caught:
        plans.of(JOB, SNAPSHOT, "large")
    assert str(caught.value) == "is no pool here; there are example, small"


def test_a_chart_marks_the_plan_of_the_pool_that_is_named() -> None:
    charts = remembered_charts()
    chart = charts.of(JOB, SNAPSHOT, "small")
    assert "Marked: 500 images" in chart
    assert charts.of(JOB, SNAPSHOT, "small") is chart
    assert charts.of(JOB, SNAPSHOT) != chart
