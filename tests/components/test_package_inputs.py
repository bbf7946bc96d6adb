"""In any Pulumi language a misspelt, misshapen or computed input is refused, never dropped."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from pulumi import Output

from components.package import package_schema
from components.package_inputs import input_problems

GOOD: dict[str, Any] = {
    "pool": {
        "name": "batch",
        "families": ["r6id"],
        "limits": {"cpu": "64", "memory": "512Gi"},
        "ami": {"alias": "al2023@v20260714"},
        "subnets": [{"id": "subnet-0a"}],
    },
    "cluster": {"name": "theirs", "kubernetesVersion": "1.34"},
    "nodeRoleName": "nodes",
}
COMPUTED = "is computed by another resource, or secret; give a plain value, so that preview can check it"


def told(path: str = "", value: Any = None) -> list[str]:
    inputs: Any = copy.deepcopy(GOOD)
    *parents, last = path.split(".")
    place = inputs
    for parent in parents:
        place = place[parent]
    if path:
        place[last] = value
    schema = package_schema()
    properties = schema["resources"]["floodplain:index:SwapNodePool"]["inputProperties"]
    return [str(problem) for problem in input_problems(inputs, properties, schema["types"])]


CASES: list[tuple[str, Any, list[str]]] = [
    (
        "bogus",
        1,
        ["bogus: is not a known key; known here: cluster, nodeRoleName, pool, protected, securityGroupIds, subnetIds"],
    ),
    ("pool.familys", [], ["pool.familys: is not a known key; did you mean `families`?"]),
    ("pool.swap", {"ration": 1}, ["pool.swap.ration: is not a known key; did you mean `ratio`?"]),
    ("pool.swap", "x", ["pool.swap: 'x' should be a map; write its keys"]),
    ("pool.kubelet", [], ["pool.kubelet: [] should be a map; write its keys"]),
    ("pool.tags", 5, ["pool.tags: 5 should be a map; write its keys"]),
    ("pool.families", "r6id", ["pool.families: 'r6id' should be a list; write a list, also for one item"]),
    ("pool.subnets", [5], ["pool.subnets[0]: 5 should be a map; write its keys"]),
    ("subnetIds", 5, ["subnetIds: 5 should be a list; write a list, also for one item"]),
    ("pool.architecture", "arm64", []),
    ("pool.kubeletConfig", {"anything": {"goes": 1}}, []),
]


@pytest.mark.parametrize(("path", "value", "lines"), CASES, ids=[case[0] for case in CASES])
def test_the_shape_of_an_input_is_checked_at_every_depth(path: str, value: Any, lines: list[str]) -> None:
    assert told(path, value) == lines


@pytest.mark.parametrize("path", ["pool", "pool.disruption", "pool.longestJob", "pool.families", "cluster"])
def test_a_computed_value_is_refused_where_preview_must_see_a_plain_one(path: str) -> None:
    assert told(path, Output.from_input("later")) == [f"{path}: {COMPUTED}"]


@pytest.mark.parametrize("path", ["nodeRoleName", "subnetIds"])
def test_a_computed_value_is_taken_where_another_resource_may_make_it(path: str) -> None:
    assert told(path, Output.from_input("later")) == []


def test_good_inputs_have_no_problem() -> None:
    assert told() == []
