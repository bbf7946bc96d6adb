"""Raster workers in a platform: what the other parts say of them, and in which order they come."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from pulumi.errors import InputPropertiesError

from components import Platform
from tests.components.guardrails.api_server import Request, admitted, judge

IMAGE = f"registry.example/tiles:1.2@sha256:{'a' * 64}"
POOL: dict[str, Any] = {
    "name": "swap",
    "families": ["r6id"],
    "vcpus": [4],
    "limits": {"cpu": "256", "memory": "2Ti"},
    "ami": {"alias": "al2023@v20260714"},
}
TILES: dict[str, Any] = {
    "name": "tiles",
    "image": IMAGE,
    "small": {"memory": "8Gi"},
    "big": {"memory": "24Gi", "swap_pool": "swap"},
}
ARGS: dict[str, Any] = {
    "cluster": {
        "name": "prod",
        "region": "eu-central-1",
        "account_id": "111122223333",
        "kubernetes_version": "1.34",
    },
    "pools": [POOL],
    "worker_pools": [TILES],
}


def args(**changes: Any) -> Any:
    return {**copy.deepcopy(ARGS), **changes}


def workers(**changes: Any) -> dict[str, Any]:
    return {**copy.deepcopy(TILES), **changes}


def reasons(render: Any, given: Any) -> list[str]:
    with pytest.raises(InputPropertiesError) as caught:
        render(lambda: Platform("p", given))
    return [error["reason"] for error in caught.value.errors or []]


def test_workers_go_through_the_platforms_provider_and_their_figures_are_an_output(render: Any) -> None:
    made = render(lambda: Platform("p", args(worker_pools=[TILES, workers(name="layers", big={"memory": "9Gi"})])))
    components = made.of(":WorkerPools")
    assert [one.name for one in components] == ["p-layers-workers", "p-tiles-workers"]
    own = [one for one in made.resources if one.parent in {found.urn for found in components}]
    assert {one.provider for one in own} == {made.one("providers:kubernetes").urn}
    figures = made.one(":Platform").outputs["workerPools"]
    assert {name: json.loads(text)["big_limit_bytes"] >> 30 for name, text in figures.items()} == {
        "layers": 9,
        "tiles": 24,
    }


def test_without_workers_there_are_none(render: Any) -> None:
    made = render(lambda: Platform("p", args(worker_pools=[])))
    assert made.of(":WorkerPools") == ()
    assert made.one(":Platform").outputs["workerPools"] == {}


def test_the_big_pool_comes_after_the_runtime_class_that_it_names(render: Any) -> None:
    made = render(lambda: Platform("p", args()))
    names = {urn.rsplit("::")[-1] for urn in made.one(":StatefulSet").depends_on}
    assert {"p-swap-runtimeclass", "p-swap-priorityclass", "p-swap-nodepool"} <= names


def test_the_guardrails_of_the_swap_pool_let_the_big_worker_in_without_a_word(render: Any) -> None:
    made = render(lambda: Platform("p", args()))
    template = made.one(":StatefulSet").inputs["spec"]["template"]
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {**template["metadata"], "name": "tiles-big-0", "namespace": "tiles"},
        "spec": template["spec"],
    }
    rules = [dict(one.inputs) for one in made.resources if "ValidatingAdmissionPolicy" in one.type]
    verdict = judge(rules, Request(admitted(pod, [dict(made.one(":RuntimeClass").inputs)])))
    assert verdict.complaints == ()
    pod["spec"]["containers"][0]["resources"]["limits"]["memory"] = "25Gi"
    assert judge(rules, Request(admitted(pod, [dict(made.one(":RuntimeClass").inputs)]))).refusals


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        (
            {"worker_pools": [TILES, TILES]},
            ["workerPools[1].name: 'tiles' is the name of workerPools[0] too; give each its own name"],
        ),
        (
            {"worker_pools": [TILES, workers(name="layers", namespace="tiles")]},
            [
                "workerPools[1].namespace: 'tiles' is made for workerPools[0] already; leave it out, or set"
                " makeNamespace: false here"
            ],
        ),
        (
            {"worker_pools": [workers(big={"memory": "24Gi", "swap_pool": "swapp"})]},
            ["workerPools[0].big.swapPool: 'swapp' is none of the stack's pools; did you mean `swap`?"],
        ),
        (
            {"worker_pools": [workers(big={"memory": "32Gi", "swap_pool": "swap", "longest_task": "72h"})]},
            [
                "workerPools[0].big.memory: '32Gi' makes a limit of 32,768 MiB, and the largest node of pool swap has"
                " 28,633 MiB for one pod; lower it, or add larger sizes to the pool",
                "workerPools[0].big.longestTask: '72h' is longer than the longest job of pool swap (48h), whose nodes"
                " may end then; raise the pool's longestJob to 72h",
            ],
        ),
        (
            {"worker_pools": [workers(scratch="100Gi")]},
            [
                "workerPools[0].scratch: '100Gi' is, with 1 GiB for logs, more than pool swap gives the big worker's"
                " memory, 24,575 MiB of disk; lower it to 23551Mi, or raise the pool's disk.perMemory"
            ],
        ),
        (
            {"worker_pools": [workers(namespace="kueue-system")], "controllers": {"kueue": {}}},
            [
                "workerPools[0].namespace: 'kueue-system' is the namespace of kueue; give the workers a namespace of"
                " their own"
            ],
        ),
        (
            {"worker_pools": [workers(image="registry.example/tiles:1.2")], "protected": True},
            [
                "workerPools[0].image: 'registry.example/tiles:1.2' is not named by digest, so that a protected stack"
                " would run what somebody pushes later; append @sha256:... of the version"
            ],
        ),
        (
            {"worker_pools": [workers(gdal={"cache": 512}), workers(name="layers", small={"memory": "90Mi"})]},
            [
                "workerPools[0].gdal.cache: 512 has no unit: GDAL reads it as 536,870,912 bytes, and Kubernetes and"
                " rasterio.Env as 512; write the unit, such as 512Mi",
                "workerPools[1].small.memory: '90Mi' leaves nothing for 8 tasks at once: "
                "136 MiB = 1 x (baseline 120 MiB + cache"
                " 16 MiB) are taken before the first; raise it, or have fewer slots or processes, or a smaller cache",
            ],
        ),
    ],
)
def test_workers_that_do_not_go_with_the_rest_are_refused(render: Any, changes: Any, told: list[str]) -> None:
    assert reasons(render, args(**changes)) == told
