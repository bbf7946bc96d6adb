"""`SwapNodePool` as it goes over the wire."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pulumi
import pytest
import yaml
from pulumi.errors import InputPropertiesError
from pulumi_aws import iam
from pulumi_kubernetes.core.v1 import ConfigMap

from components import SwapNodePool
from floodplain import pools
from preview.wire import UNKNOWN

ARGS: dict[str, Any] = {
    "pool": {
        "name": "swap",
        "families": ["m6id", "r6id"],
        "vcpus": [4, 8],
        "limits": {"cpu": "64", "memory": "512Gi"},
        "ami": {"alias": "al2023@v20260714"},
        "longest_job": "24h",
    },
    "cluster": {"name": "prod", "kubernetes_version": "1.34"},
    "node_role_name": "nodes",
}


def args(**changes: Any) -> Any:
    return {**copy.deepcopy(ARGS), **changes}


def pool(**changes: Any) -> Any:
    return args(pool={**copy.deepcopy(ARGS["pool"]), **changes})


def test_the_objects_of_a_pool(render: Any, golden: Any) -> None:
    made = render(lambda: SwapNodePool("p", args()))
    shown = {one.name: one.inputs for one in made.resources}
    golden.check("components/golden/swap-node-pool.yaml", yaml.safe_dump(shown, sort_keys=True, width=120))


def test_the_pool_document_is_what_tools_read(render: Any) -> None:
    made = render(lambda: pulumi.export("document", SwapNodePool("p", args()).pool_document))
    (document,) = pools.read(made.outputs["document"].encode())
    assert document.name == "swap"
    assert [one.name for one in document.types] == ["m6id.xlarge", "m6id.2xlarge", "r6id.xlarge", "r6id.2xlarge"]
    assert made.outputs["document"].encode() == pools.dump([document])


def test_the_outputs_name_what_jobs_need(render: Any) -> None:
    def program() -> None:
        made = SwapNodePool("p", args())
        for key in ("pool_name", "runtime_class_name", "priority_class_name", "headroom_daemon_set_name", "taint"):
            pulumi.export(key, getattr(made, key))

    assert render(program).outputs == {
        "pool_name": "swap",
        "runtime_class_name": "floodplain-swap",
        "priority_class_name": "floodplain-swap",
        "headroom_daemon_set_name": "floodplain-headroom-swap",
        "taint": "floodplain.dev/pool=swap:NoSchedule",
    }


def test_what_the_component_depends_on_outlives_its_karpenter_objects(render: Any) -> None:
    def program() -> None:
        controller = ConfigMap("controller")
        SwapNodePool("p", args(), pulumi.ResourceOptions(depends_on=[controller]))

    made = render(program)
    controller = made.one(":ConfigMap").urn
    node_class = made.one(":EC2NodeClass")
    node_pool = made.one(":NodePool")
    assert controller in node_class.depends_on
    assert {controller, node_class.urn} <= set(node_pool.depends_on)


def test_deleting_a_pool_may_take_as_long_as_its_longest_job(render: Any) -> None:
    made = render(lambda: SwapNodePool("p", args()))
    for kind in (":NodePool", ":EC2NodeClass"):
        assert made.one(kind).options["customTimeouts"] == {"delete": "26h"}


def test_a_role_of_the_same_program_is_unknown_in_the_plan_and_nothing_else_is(render: Any) -> None:
    def program() -> None:
        role = iam.Role("nodes", assume_role_policy="{}")
        SwapNodePool("p", args(node_role_name=role.name))

    spec = render(program, apply=False).one(":EC2NodeClass").inputs["spec"]
    assert [key for key, value in spec.items() if UNKNOWN in json.dumps(value, default=str)] == ["role"]


def test_ids_of_subnets_of_the_same_program_take_the_place_of_tags(render: Any) -> None:
    made = render(lambda: SwapNodePool("p", args(subnet_ids=["subnet-0a", "subnet-0b"])))
    assert made.one(":EC2NodeClass").inputs["spec"]["subnetSelectorTerms"] == [{"id": "subnet-0a"}, {"id": "subnet-0b"}]


def test_jobs_may_use_another_taint_and_labels(render: Any) -> None:
    made = render(
        lambda: SwapNodePool("p", pool(taint={"key": "dedicated", "value": "batch"}, labels={"team": "maps"}))
    )
    taint = {"key": "dedicated", "value": "batch", "effect": "NoSchedule"}
    template = made.one(":NodePool").inputs["spec"]["template"]
    assert template["spec"]["taints"] == [taint]
    assert template["metadata"]["labels"] == {"floodplain.dev/pool": "swap", "team": "maps"}
    assert made.one(":RuntimeClass").inputs["scheduling"]["tolerations"] == [{"operator": "Equal", **taint}]
    headroom = made.one(":DaemonSet").inputs["spec"]["template"]["spec"]
    assert headroom["tolerations"] == [{"operator": "Equal", **taint}]


REFUSALS: list[tuple[str, Callable[[], Any], list[tuple[str, str]]]] = [
    (
        "a role given as ARN",
        lambda: args(node_role_name="arn:aws:iam::111122223333:role/nodes"),
        [
            (
                "nodeRoleName",
                "nodeRoleName: 'arn:aws:iam::111122223333:role/nodes' is an ARN, while Karpenter compares names "
                "and makes instance profiles without end; write the role's name: nodes",
            )
        ],
    ),
    (
        "inputs of the wrong kind",
        lambda: args(node_role_name=5, subnet_ids="subnet-1", security_group_ids=["sg-1", None]),
        [
            ("nodeRoleName", "nodeRoleName: 5 should be text; write it in quotes"),
            ("subnetIds", "subnetIds: 'subnet-1' should be a list of at least one; write a list, also for one item"),
            ("securityGroupIds[1]", "securityGroupIds[1]: None should be text; write it in quotes"),
        ],
    ),
    (
        "no role",
        lambda: args(node_role_name=None),
        [("nodeRoleName", "nodeRoleName: is required; set it")],
    ),
    (
        "an unpinned image in a protected stack",
        lambda: {**pool(ami={"alias": "al2023@latest"}), "protected": True},
        [
            (
                "pool.ami.alias",
                "pool.ami.alias: 'al2023@latest' follows the newest image, so the fleet would roll whenever AWS "
                "publishes one; pin it in a protected stack, for example al2023@v20260714",
            )
        ],
    ),
    (
        "no limits",
        lambda: pool(limits=None),
        [("pool.limits", "pool.limits: is required; set it")],
    ),
    (
        "a Kubernetes without swap",
        lambda: args(cluster={"name": "prod", "kubernetes_version": "1.32"}),
        [
            (
                "cluster.kubernetesVersion",
                "cluster.kubernetesVersion: '1.32' is too old a Kubernetes for swap in containers: 1.33 is the oldest "
                "supported; upgrade the control plane and nodes; 1.34 is recommended",
            )
        ],
    ),
    (
        "user data over the limit of EC2",
        lambda: pool(extra_scripts=["#!/bin/sh\n" + "echo much ado about very little\n" * 400]),
        [
            (
                "pool.extraScripts",
                "pool.extraScripts: take 12874 bytes of the 4096 that the boot text has room for; "
                "shorten them, or fetch the rest at boot",
            )
        ],
    ),
]


@pytest.mark.parametrize(("wrong", "problems"), [case[1:] for case in REFUSALS], ids=[case[0] for case in REFUSALS])
def test_a_component_refuses_by_property_path(
    render: Any, wrong: Callable[[], Any], problems: list[tuple[str, str]]
) -> None:
    with pytest.raises(InputPropertiesError) as caught:
        render(lambda: SwapNodePool("p", wrong()))
    found = [(error["property_path"], error["reason"]) for error in caught.value.errors or []]
    assert found == problems


def test_a_computed_value_where_preview_must_see_one_is_refused(render: Any) -> None:
    with pytest.raises(InputPropertiesError) as caught:
        render(lambda: SwapNodePool("p", pool(longest_job=pulumi.Output.from_input("24h"))))
    assert str(caught.value) == (
        "SwapNodePoolSettings has 1 problem(s):\n"
        "  pool.longestJob: is computed by another resource; give a plain value, so that preview can check it"
    )
