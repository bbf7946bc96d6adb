"""Which pools, and which of their nodes, a pod may go to."""

from __future__ import annotations

from typing import Any

import pytest

from floodplain.admission.places import narrowed
from floodplain.admission.subject import Kind, Subject
from floodplain.pools import PoolTaint
from tests.floodplain.admission.objects import job, pod
from tests.floodplain.sizing.example_pools import LARGE, MIDDLE, SMALL, pool

SWAP = pool("swap")
GRAVITON = pool("graviton", SMALL, MIDDLE, architecture="arm64", capacity_types=("spot",))
ELSEWHERE = pool("elsewhere", LARGE, node_selector={"team": "maps"}, taint=PoolTaint(key="team", value="maps"))
POOLS = (SWAP, GRAVITON, ELSEWHERE)


def names(**spec: Any) -> list[str]:
    left, problem = narrowed(Subject(Kind.POD, pod(**spec)), POOLS)
    assert bool(left) != bool(problem)
    return [one.name for one in left]


def required(*terms: list[tuple[str, str, list[str] | None]]) -> dict[str, Any]:
    listed = [
        {
            "matchExpressions": [
                {"key": key, "operator": operator, **({} if values is None else {"values": values})}
                for key, operator, values in term
            ]
        }
        for term in terms
    ]
    node = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": listed}}
    return {"affinity": {"nodeAffinity": node}}


ALL = ["swap", "graviton", "elsewhere"]


@pytest.mark.parametrize(
    ("spec", "wanted"),
    [
        ({}, ALL),
        ({"runtimeClassName": "floodplain-graviton"}, ["graviton"]),
        ({"runtimeClassName": ""}, ALL),
        ({"runtimeClassName": "gvisor"}, []),
        ({"nodeSelector": {"floodplain.dev/pool": "swap"}}, ["swap"]),
        ({"nodeSelector": {"team": "maps"}}, ["elsewhere"]),
        ({"nodeSelector": {"team": "roads"}}, []),
        ({"nodeSelector": {"kubernetes.io/arch": "arm64"}}, ["graviton"]),
        ({"nodeSelector": {"kubernetes.io/os": "windows"}}, []),
        ({"nodeSelector": {"karpenter.sh/nodepool": "swap"}}, ["swap"]),
        ({"nodeSelector": {"karpenter.sh/capacity-type": "on-demand"}}, ["swap", "elsewhere"]),
        ({"nodeSelector": {"node.kubernetes.io/instance-type": "a.middle"}}, ["swap", "graviton"]),
        ({"nodeSelector": {"topology.kubernetes.io/zone": "eu-central-1a"}}, ALL),
        ({"nodeSelector": {"floodplain.dev/pool": "swap", "kubernetes.io/arch": "arm64"}}, []),
        ({"nodeSelector": {}}, ALL),
        ({"nodeSelector": None, "affinity": None}, ALL),
        ({"runtimeClassName": "floodplain-swap", "nodeSelector": {"team": "maps"}}, []),
        (required([("kubernetes.io/arch", "In", ["arm64", "amd64"])]), ALL),
        (required([("kubernetes.io/arch", "NotIn", ["arm64"])]), ["swap", "elsewhere"]),
        (required([("team", "Exists", None)]), ["elsewhere"]),
        (required([("team", "DoesNotExist", None)]), ["swap", "graviton"]),
        (required([("team", "NotIn", ["maps"])]), ["swap", "graviton"]),
        (required([("unknown", "DoesNotExist", None)]), ALL),
        (required([("karpenter.k8s.aws/instance-cpu", "Gt", ["4"])]), ALL),
        (required([("team", "Exists", None)], [("kubernetes.io/arch", "In", ["arm64"])]), ["graviton", "elsewhere"]),
        (
            {
                "nodeSelector": {"kubernetes.io/arch": "amd64"},
                **required([("team", "Exists", None)], [("kubernetes.io/arch", "In", ["arm64"])]),
            },
            ["elsewhere"],
        ),
        ({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": []}}}, ALL),
        ({"affinity": "x", "nodeSelector": ["x"]}, ALL),
    ],
)
def test_a_pod_goes_where_it_may(spec: Any, wanted: list[str]) -> None:
    assert names(**spec) == wanted


def test_a_pool_is_narrowed_to_the_types_and_capacity_that_the_pod_selects() -> None:
    spec = {
        "nodeSelector": {"karpenter.sh/capacity-type": "spot"},
        **required([("node.kubernetes.io/instance-type", "NotIn", ["a.small"])]),
    }
    left, _ = narrowed(Subject(Kind.POD, pod(**spec)), (SWAP,))
    assert left == (SWAP.model_copy(update={"types": (MIDDLE, LARGE), "capacity_types": ("spot",)}),)


@pytest.mark.parametrize(
    ("selector", "terms", "wanted"),
    [
        ({}, [{}], []),
        ({}, [{"matchExpressions": []}, None], []),
        ({}, [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["node-1"]}]}], ALL),
        ({"floodplain.dev/pool": "swap"}, [{}], []),
        ({"floodplain.dev/pool": "swap"}, None, ["swap"]),
        ({"floodplain.dev/pool": "swap"}, [], ["swap"]),
    ],
)
def test_an_alternative_without_expressions_selects_no_node(selector: Any, terms: Any, wanted: list[str]) -> None:
    node = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    assert names(nodeSelector=selector, affinity={"nodeAffinity": node}) == wanted


def test_a_foreign_runtime_class_is_told_with_those_there_are() -> None:
    _, problem = narrowed(Subject(Kind.JOB, job(runtimeClassName="gvisor")), POOLS)
    assert str(problem) == (
        "spec.template.spec.runtimeClassName: 'gvisor' is the RuntimeClass of no pool; leave it out, or write one of"
        " floodplain-elsewhere, floodplain-graviton, floodplain-swap"
    )


def test_a_selector_that_no_pool_satisfies_is_told_with_the_pools() -> None:
    _, problem = narrowed(Subject(Kind.POD, pod(nodeSelector={"team": "roads"})), POOLS)
    assert str(problem) == (
        "spec.nodeSelector and spec.affinity: select no node that a pool can have; leave them out, or select nodes that"
        " one of the pools has: swap, graviton, elsewhere"
    )
