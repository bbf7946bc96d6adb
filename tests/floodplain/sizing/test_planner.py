"""From a job to its plan: which pool, what is said, and other planners' ways."""

from __future__ import annotations

from typing import Any

import pytest

from floodplain.problem import RuleError
from floodplain.quantity import GIB, MIB
from floodplain.sizing.cost import Prices
from floodplain.sizing.given import Given
from floodplain.sizing.plan import MonthlyCost, Plan
from floodplain.sizing.planner import make_plan
from floodplain.sizing.prediction import Confidence, Prediction
from floodplain.sizing.settings import SizingSettings
from floodplain.sizing.workload import Workload
from tests.floodplain.sizing.example_pools import LARGE, NOTHING_BESIDE, SMALL, kind, pool


def known(peak_gib: float) -> Prediction:
    return Prediction(
        int(peak_gib * GIB), "a test", Confidence.HIGH, "it was written down", ("a note of the predictor",)
    )


def planned(peak_gib: float, *pools: Any, **options: Any) -> Plan:
    workload = Workload(images=100, options="dsm,pc-quality=high")
    values = {"settings": NOTHING_BESIDE, "prediction": known(peak_gib), **options}
    return make_plan(workload, pools or [pool()], **values)


def test_a_plan_says_everything() -> None:
    assert planned(32).model_dump(mode="json") == {
        "schema_version": 1,
        "engine": "odm",
        "images": 100,
        "options": ["dsm", "pc-quality=high"],
        "compatibility": None,
        "peak_bytes": 32 * GIB,
        "peak_source": "a test",
        "confidence": "high",
        "confidence_reason": "it was written down",
        "hot_bytes": 16 * GIB,
        "hot_source": "hot share 0.5 of pool swap",
        "pool": "swap",
        "runtime_class": "floodplain-swap",
        "capacity_type": "spot",
        "request_bytes": 16 * GIB - MIB,
        "limit_bytes": 16 * GIB,
        "swap_grant_bytes": 32 * GIB - 2 * MIB,
        "cpu": "4",
        "cpu_limit": None,
        "max_concurrency": None,
        "ephemeral_bytes": 10 * GIB,
        "instance_types": ["a.small", "a.middle", "a.large"],
        "smallest_allocatable_bytes": 16 * GIB,
        "containment_margin_bytes": 0,
        "completion_margin_bytes": 16 * GIB - 2 * MIB,
        "feasible": True,
        "reasons": [],
        "advice": [],
        "notes": ["a note of the predictor"],
        "monthly_cost": None,
        "peak_as_ram_cost": None,
    }


def test_the_pool_that_reserves_least_takes_the_job() -> None:
    pools = [pool("dry", swap_ratio=0.0), pool("wet"), pool("wetter", hot_share=0.1, swap_ratio=3.0)]
    assert planned(32, *pools).pool == "wetter"


def test_a_pool_that_fits_goes_before_one_that_reserves_less() -> None:
    pools = [pool("tight", SMALL, hot_share=0.1), pool("roomy", LARGE)]
    assert planned(60, *pools).pool == "roomy"


def test_pools_that_are_alike_are_chosen_by_name() -> None:
    assert planned(10, pool("b"), pool("a")).pool == "a"


def test_a_limit_of_the_users_that_no_pool_can_do_with_is_told_by_the_pool_with_swap() -> None:
    pools = [pool("dry", swap_ratio=0.0), pool("wet")]
    plan = planned(10, *pools, given=Given(limit_bytes=4 * GIB + 4 * MIB))
    assert plan.reasons == ("the limit of 4100 MiB is below the hot set of 5120 MiB, which cannot be swapped",)


def test_without_a_pool_there_is_no_plan() -> None:
    with pytest.raises(RuleError) as caught:
        make_plan(Workload(images=1), [])
    assert caught.value.path == ("pools",)


def test_concurrency_is_told_where_a_cpu_limit_hides_the_nodes_cores() -> None:
    given = Given(cpu_limit_millicores=3500)
    assert (planned(10, given=given).cpu_limit, planned(10, given=given).max_concurrency) == ("3500m", 3)
    own = make_plan(Workload(images=1, options="max-concurrency=2"), [pool()], given=given, prediction=known(10))
    assert own.max_concurrency is None
    assert planned(10, given=Given(cpu_limit_millicores=500)).max_concurrency == 1


def test_a_users_limit_is_kept_and_said() -> None:
    plan = planned(10, given=Given(limit_bytes=12 * GIB))
    assert plan.limit_bytes == 12 * GIB
    assert plan.notes[-1] == "the memory limit of 12.0 GiB is the user's and stands"


SCALEODM = SizingSettings(compatibility="scaleodm")


def test_scaleodms_plan_is_reproduced_and_its_breach_is_said() -> None:
    plan = make_plan(Workload(images=1000), [pool()], settings=SCALEODM)
    assert (plan.peak_bytes, plan.request_bytes, plan.limit_bytes) == (58 * GIB, 29696 * MIB, 35636 * MIB)
    assert plan.feasible
    assert plan.instance_types == ("a.middle", "a.large")
    assert plan.notes == (
        "as scaleodm does it: the limits of the pod's containers are 34.8 GiB and 29.0 GiB is reserved for them:"
        " with others on the node they pass what it has",
    )
    assert plan.containment_margin_bytes == 29697 * MIB - 35636 * MIB


def test_scaleodms_plan_that_no_node_takes_is_not_feasible() -> None:
    plan = make_plan(Workload(images=12_000), [pool()], settings=SCALEODM)
    assert not plan.feasible
    assert plan.reasons[0].startswith("the pod requests 400.0 GiB")


def test_scaleodm_knows_no_raster_tasks_and_the_plan_says_so() -> None:
    task = Workload(engine="raster", peak="3Gi")
    plan = make_plan(task, [pool()], settings=SCALEODM)
    ours = make_plan(task, [pool()], settings=SizingSettings())
    said = "scaleodm knows no raster tasks: sized by floodplain's own rule"
    assert plan == ours.model_copy(update={"notes": (said, *ours.notes)})
    assert (ours.compatibility, ours.peak_bytes, ours.confidence) == (None, 3 * GIB, Confidence.MEDIUM)


@pytest.mark.parametrize("share", [0.1, 0.5, 1.0])
def test_all_of_a_raster_tasks_peak_is_hot_whatever_the_pool_says_of_its_jobs(share: float) -> None:
    """Its limit is its peak; swap holds the margin."""
    plan = make_plan(Workload(engine="raster", peak="3Gi"), [pool("swap", hot_share=share)])
    assert (plan.hot_bytes, plan.limit_bytes) == (3 * GIB, 3 * GIB)
    assert plan.swap_grant_bytes > 0
    assert plan.hot_source == "hot share 1 of raster tasks"


def test_a_workload_is_honest_about_what_its_engine_has() -> None:
    with pytest.raises(ValueError, match="a job of engine raster has no images"):
        _ = Workload(engine="raster", peak="3Gi").image_count
    with pytest.raises(ValueError, match="a job of engine odm carries no peak"):
        _ = Workload(images=5).peak_bytes


PRICES = Prices(
    region="eu-west-1",
    day="2026-08-01",
    hourly={
        ("a.small", "spot"): 0.10,
        ("a.middle", "spot"): 0.22,
        ("r6id.2xlarge", "spot"): 0.30,
        ("m6id.4xlarge", "spot"): 0.36,
    },
)


def test_the_months_cost_is_that_of_the_share_of_the_cheapest_type() -> None:
    plan = planned(32, pool(), prices=PRICES)
    assert plan.monthly_cost == MonthlyCost(
        instance_type="a.small", capacity_type="spot", usd=73.0, priced="eu-west-1, 2026-08-01"
    )
    # 38.4 of the 58 GiB or so that an r6id.2xlarge offers.
    assert plan.peak_as_ram_cost is not None
    assert plan.peak_as_ram_cost.instance_type == "r6id.2xlarge"
    assert 140 < plan.peak_as_ram_cost.usd < 150


def test_types_without_a_price_are_passed_over() -> None:
    odd = pool("odd", kind("z.odd", 33, 8))
    assert planned(32, odd, prices=PRICES).monthly_cost is None
