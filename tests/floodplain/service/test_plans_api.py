"""POST /v1/plans and its neighbours: what is answered, and what is said of bad input."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from floodplain.pools import dump
from floodplain.problem import Problem
from floodplain.service.workloads import AskedError, read_workloads
from floodplain.sizing.default_pool import default_pool
from floodplain.sizing.plan import Plan
from floodplain.sizing.planner import make_plan
from floodplain.sizing.workload import CapacityType, Workload

EXAMPLE = {
    "engine": "odm",
    "images": 1200,
    "options": ["dsm"],
    "megapixels": 20,
    "capacity_type": "on-demand",
    "deadline_seconds": 3600,
}
WORKLOAD = Workload(
    images=1200, options="dsm", megapixels=20, capacity_type=CapacityType.ON_DEMAND, deadline_seconds=3600
)


def test_a_plan_over_http_is_the_planners(app: Any) -> None:
    assert app.plan(EXAMPLE) == json.loads(make_plan(WORKLOAD, [default_pool()]).model_dump_json())


@pytest.mark.parametrize(
    "body",
    [
        {"images": 1200, "options": "dsm", "megapixels": 20, "capacityType": "on-demand", "deadlineSeconds": 3600},
        {**EXAMPLE, "options": {"dsm": True}},
        {**EXAMPLE, "images": "1200", "options": ["--dsm"]},
    ],
    ids=["camelCase", "options as a map", "texts as annotations have them"],
)
def test_the_same_job_may_be_written_in_several_ways(app: Any, body: Any) -> None:
    assert app.plan(body) == app.plan(EXAMPLE)


def test_a_raster_task_is_planned_for_the_peak_it_carries(app: Any) -> None:
    plan = app.plan({"engine": "raster", "peak": "3Gi", "estimate": "warp chunk 2Gi"})
    assert (plan["engine"], plan["images"], plan["peak_bytes"]) == ("raster", None, 3 << 30)
    assert plan["peak_source"] == "an estimate that came with the job: warp chunk 2Gi"
    assert "raster with a peak of 3.0 GiB: fits pool example" in app.client.get("/").text


def test_a_list_gets_a_list_in_its_order(app: Any) -> None:
    counts = [5000, 40, 1200, 40]
    assert [plan["images"] for plan in app.plan([{"images": images} for images in counts])] == counts
    assert [plan["images"] for plan in app.plan([{"images": 7}])] == [7]


def test_a_job_that_no_pool_takes_is_answered_with_reasons_and_advice(app: Any) -> None:
    plan = Plan.model_validate(app.plan({"images": 900_000}))
    assert not plan.feasible
    assert plan.reasons
    assert plan.advice
    assert app.counted("floodplain_plans_total", feasible="false") == 1


ONE_TO_A_MILLION = "is not from 1 to 1000000"
HOW_MANY = "write how many images the job reads"
NO_COUNT = {"rule": "is not a count of images", "remedy": "write a whole number from 1 to 1000000"}
IN_QUOTES = 'send JSON such as {"images": 5000}'


@pytest.mark.parametrize(
    ("body", "problems"),
    [
        ({}, [{"path": "images", "rule": "is required", "remedy": "set it"}]),
        ({"images": 0}, [{"path": "images", "value": 0, "rule": ONE_TO_A_MILLION, "remedy": HOW_MANY}]),
        ({"images": -3}, [{"path": "images", "value": -3, "rule": ONE_TO_A_MILLION, "remedy": HOW_MANY}]),
        (
            {"images": 10**30},
            [{"path": "images", "value": "1.000000e+30", "rule": ONE_TO_A_MILLION, "remedy": HOW_MANY}],
        ),
        (
            {"images": 2.5},
            [{"path": "images", "value": 2.5, "rule": "is not a whole number", "remedy": "leave the fraction out"}],
        ),
        ({"images": "many"}, [{"path": "images", "value": "many", **NO_COUNT}]),
        (
            {"images": 5, "megapixel": 20},
            [{"path": "megapixel", "rule": "is not a known key", "remedy": "did you mean `megapixels`?"}],
        ),
        (
            [{"images": 5}, {"images": 0}, 7],
            [
                {"path": "[1].images", "value": 0, "rule": ONE_TO_A_MILLION, "remedy": HOW_MANY},
                {
                    "path": "[2]",
                    "value": 7,
                    "rule": "is no workload",
                    "remedy": 'send an object such as {"images": 5000}, or a list of such',
                },
            ],
        ),
        ([], [{"path": "body", "rule": "is an empty list", "remedy": "send at least one workload"}]),
        (
            [{"images": 5}] * 1001,
            [{"path": "body", "rule": "has 1001 workloads", "remedy": "send at most 1000 at once"}],
        ),
    ],
    ids=["no count", "zero", "negative", "huge", "fraction", "text", "unknown key", "in a list", "empty", "too many"],
)
def test_bad_input_is_told_with_path_value_rule_and_remedy(app: Any, body: Any, problems: Any) -> None:
    answer = app.client.post("/v1/plans", json=body)
    assert (answer.status_code, answer.json()) == (422, {"problems": problems})


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b'{"images": 5, "options": ["\\ud800"]}',
        b"[" * 100_000,
        b'{"images": NaN}',
        b'{"images":' + b"9" * 5000 + b"}",
        b'{"a":' * 50_000,
    ],
    ids=["empty", "cut off", "not UTF-8", "half a character", "nested lists", "NaN", "5000 digits", "nested maps"],
)
def test_what_is_not_json_is_told_and_breaks_nothing(app: Any, body: bytes) -> None:
    answer = app.client.post("/v1/plans", content=body)
    (problem,) = answer.json()["problems"]
    assert (answer.status_code, problem["path"], problem["remedy"]) == (422, "body", IN_QUOTES)


def test_what_was_sent_comes_back_shortened(app: Any) -> None:
    answer = app.client.post("/v1/plans", json={"images": 5, "capacity_type": "x" * 100_000})
    (problem,) = answer.json()["problems"]
    assert problem["value"] == "x" * 197 + "..."


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["zzz"] * 201, {"path": "options", "rule": "has 201 entries", "remedy": "send at most 200"}),
        ("a," * 4000, {"path": "options", "rule": "has 4001 entries", "remedy": "send at most 200"}),
        (
            {"gcp": "x" * 10_000},
            {"path": "options", "rule": "is longer than 10,000 characters", "remedy": "write fewer options"},
        ),
    ],
    ids=["a list", "a text", "a long value"],
)
def test_more_options_than_odm_has_are_not_judged_one_by_one(app: Any, options: Any, problem: Any) -> None:
    answer = app.client.post("/v1/plans", json={"images": 5, "options": options})
    assert answer.json() == {"problems": [problem]}


@pytest.mark.parametrize(
    ("body", "rule"),
    [
        ({f"key{number}": 1 for number in range(10_000)}, "has 10000 keys"),
        ({"images" * 10_000: 1}, "has a key of over 100 characters"),
    ],
    ids=["many keys", "a long key"],
)
def test_keys_without_end_are_not_judged_one_by_one(app: Any, body: Any, rule: str) -> None:
    answer = app.client.post("/v1/plans", json=body)
    (problem,) = answer.json()["problems"]
    assert problem == {
        "path": "body",
        "rule": rule,
        "remedy": "keep those of a workload: engine, images, options, megapixels, peak, estimate, capacity_type,"
        " deadline_seconds",
    }


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("engine", "pix4d", "engine: 'pix4d' should be 'odm' or 'raster'; write odm or raster, or leave it out"),
        ("images", True, "images: True should be a whole number; write a whole number from 1 to 1000000"),
        (
            "megapixels",
            -1,
            "megapixels: -1 should be greater than 0; write the megapixels of one image, such as 20, or leave it out",
        ),
        (
            "deadlineSeconds",
            "24h",
            "deadline_seconds: '24h' should be a whole number; write whole seconds, such as 86400, or leave it out",
        ),
    ],
)
def test_where_a_rule_alone_is_broken_it_is_told_what_to_do(key: str, value: Any, told: str) -> None:
    for body, start in (({"images": 5, key: value}, ""), ([{"images": 5, key: value}], "[0].")):
        with pytest.raises(AskedError) as caught:
            read_workloads(json.dumps(body).encode())
        assert str(caught.value) == f"{start}{told}"


def test_after_fifty_problems_no_more_workloads_are_looked_at() -> None:
    with pytest.raises(AskedError) as caught:
        read_workloads(json.dumps([{"images": 0}] * 60).encode())
    assert len(caught.value.problems) == 51
    assert caught.value.problems[-1] == Problem(
        "body", "the 10 workloads after [49] were not looked at", "mend these first"
    )


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)
KEYS = st.sampled_from(["engine", "images", "options", "megapixels", "capacity_type", "deadlineSeconds", "x"])


@given(body=JSON | st.dictionaries(KEYS, JSON, max_size=6) | st.lists(st.dictionaries(KEYS, JSON), max_size=3))
def test_any_json_is_either_workloads_or_problems_that_say_what_to_do(body: Any) -> None:
    try:
        asked = read_workloads(json.dumps(body).encode())
    except AskedError as error:
        assert all(problem.path and problem.rule and problem.remedy for problem in error.problems)
        assert error.problems
    else:
        assert asked.many == isinstance(body, list)


@given(body=st.binary(max_size=200))
def test_any_bytes_are_either_workloads_or_problems(body: bytes) -> None:
    try:
        read_workloads(body)
    except AskedError as error:
        assert error.problems


def test_the_pools_come_as_the_bytes_that_were_read(in_process: Callable[..., Any], tmp_path: Path) -> None:
    file = tmp_path / "pools.json"
    file.write_bytes(dump([default_pool()]))
    assert in_process(pools=str(file)).client.get("/v1/pools").content == file.read_bytes()


@pytest.mark.parametrize(
    ("method", "path", "status", "problem"),
    [
        (
            "POST",
            "/v9/plans",
            404,
            {
                "path": "/v9/plans",
                "rule": "asks for version v9 of the API",
                "remedy": "there is v1: POST /v1/plans",
            },
        ),
        (
            "GET",
            "/v1beta1/pools",
            404,
            {
                "path": "/v1beta1/pools",
                "rule": "asks for version v1beta1 of the API",
                "remedy": "there is v1: POST /v1/plans",
            },
        ),
        ("GET", "/v1/plans", 405, {"path": "/v1/plans", "rule": "does not take GET", "remedy": "use POST"}),
        ("DELETE", "/v1/pools", 405, {"path": "/v1/pools", "rule": "does not take DELETE", "remedy": "use GET"}),
    ],
)
def test_an_address_that_there_is_not_says_which_there_are(
    app: Any, method: str, path: str, status: int, problem: Any
) -> None:
    answer = app.client.request(method, path)
    assert (answer.status_code, answer.json()) == (status, {"problems": [problem]})


def test_an_unknown_address_lists_the_known_ones(app: Any) -> None:
    answer = app.client.get("/plans")
    (problem,) = answer.json()["problems"]
    assert (answer.status_code, problem["path"]) == (404, "/plans")
    assert "POST /v1/plans" in problem["remedy"]
