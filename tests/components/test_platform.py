"""`Platform`: the parts together, in order, on the right account and cluster."""

from __future__ import annotations

import copy
import json
from typing import Any

import pulumi
import pytest
from pulumi.errors import InputPropertiesError

from components import Platform
from preview.wire import SECRET, UNKNOWN

ARGS: dict[str, Any] = {
    "cluster": {
        "name": "prod",
        "region": "eu-central-1",
        "account_id": "111122223333",
        "kubernetes_version": "1.34",
    },
    "pools": [
        {
            "name": name,
            "families": ["r6id"],
            "limits": {"cpu": "256", "memory": "2Ti"},
            "ami": {"alias": "al2023@v20260714"},
        }
        for name in ("small", "large")
    ],
}
SERVICE = f"registry.example/floodplain/service@sha256:{'a' * 64}"
CLUSTER_ARN = "arn:aws:eks:eu-central-1:111122223333:cluster/prod"


def args(**changes: Any) -> Any:
    return {**copy.deepcopy(ARGS), **changes}


def reachable(made: Any, urn: str) -> set[str]:
    """Everything that a resource depends on, directly or not."""
    edges = {
        one.urn: {*one.depends_on, *(u for urns in one.property_depends_on.values() for u in urns)}
        for one in made.resources
    }
    seen: set[str] = set()
    todo = [urn]
    while todo:
        for found in edges.get(todo.pop(), set()) - seen:
            seen.add(found)
            todo.append(found)
    return seen


def test_every_resource_of_a_cloud_goes_through_the_platforms_own_provider(render: Any) -> None:
    made = render(lambda: Platform("p", args()))
    aws, kubernetes = made.one("providers:aws").urn, made.one("providers:kubernetes").urn
    through = {one.urn: one.provider for one in made.resources if one.custom and "pulumi:providers" not in one.type}
    expected = {urn: kubernetes if "kubernetes:" in urn.split("::")[2].split("$")[-1] else aws for urn in through}
    assert through == expected


def test_the_providers_are_bound_to_the_account_and_the_cluster(render: Any) -> None:
    made = render(lambda: Platform("p", args()))
    aws, kubernetes = made.one("providers:aws").inputs, made.one("providers:kubernetes").inputs
    assert json.loads(aws["allowedAccountIds"]) == ["111122223333"]
    assert aws["region"] == "eu-central-1"
    assert kubernetes["clusterIdentifier"] == CLUSTER_ARN
    assert kubernetes["enableServerSideApply"] == "true"


def test_pools_go_before_the_controller_and_the_controller_before_its_permissions(render: Any) -> None:
    made = render(lambda: Platform("p", args()))
    controller = made.one("helm.sh/v3:Release", "p-karpenter-controller").urn
    permissions = {one.urn for one in made.of("iam/rolePolicyAttachment:RolePolicyAttachment")}
    for kind in (":NodePool", ":EC2NodeClass"):
        for pool in made.of(kind):
            assert controller in reachable(made, pool.urn)
    assert permissions <= reachable(made, controller)


def test_the_guardrails_of_a_pool_are_there_before_it_is(render: Any) -> None:
    made = render(lambda: Platform("p", args()))
    for pool in made.of(":NodePool"):
        name = pool.inputs["metadata"]["name"]
        before = {urn.rsplit("::")[-1] for urn in reachable(made, pool.urn) if "PolicyBinding" in urn}
        assert before == {f"p-{name}-{kind}-binding" for kind in ("advice", "containment")}


def test_a_kubeconfig_is_made_that_holds_no_secret(render: Any) -> None:
    kubeconfig = json.loads(render(lambda: Platform("p", args())).one("providers:kubernetes").inputs["kubeconfig"])
    (user,) = kubeconfig["users"]
    assert user["user"]["exec"]["args"][:2] == ["eks", "get-token"]
    assert "token" not in user["user"]


def test_a_kubeconfig_of_ones_own_is_used_and_stays_secret(render: Any) -> None:
    made = render(lambda: Platform("p", args(kubeconfig=pulumi.Output.secret("{}"))))
    assert made.one("providers:kubernetes").inputs["kubeconfig"] == {SECRET: "{}"}


def test_a_cluster_keeps_the_karpenter_it_has(render: Any) -> None:
    made = render(
        lambda: Platform("p", args(install_karpenter=False, karpenter={"version": "1.13.0", "node_role_name": "nodes"}))
    )
    assert made.of(":KarpenterController") == ()
    assert {one.inputs["spec"]["role"] for one in made.of(":EC2NodeClass")} == {"nodes"}


def test_on_fargate_the_controller_signs_in_through_the_clusters_own_issuer(render: Any) -> None:
    made = render(lambda: Platform("p", args(karpenter={"runs_on": "Fargate", "credentials": "Irsa"})))
    role = made.one("iam/role:Role", "p-karpenter-controller-role").inputs["assumeRolePolicy"]
    assert "arn:aws:iam::111122223333:oidc-provider/oidc.eks.eu-central-1" in role
    assert made.of("podIdentityAssociation:PodIdentityAssociation") == ()


def test_only_what_the_cloud_computes_is_unknown_in_the_plan(render: Any) -> None:
    made = render(lambda: Platform("p", args()), apply=False)
    pools = [*made.of(":NodePool"), *made.of(":EC2NodeClass"), *made.of(":ValidatingAdmissionPolicy")]
    assert not [one.urn for one in pools if UNKNOWN in json.dumps(dict(one.inputs), default=str)]


def test_tags_of_the_platform_reach_instances_beside_the_pools_own(render: Any) -> None:
    pools = [{**ARGS["pools"][0], "tags": {"team": "maps"}}]
    made = render(lambda: Platform("p", args(pools=pools, tags={"environment": "prod", "team": "all"})))
    assert made.one(":EC2NodeClass").inputs["spec"]["tags"] == {
        "environment": "prod",
        "floodplain.dev/pool": "small",
        "team": "maps",
    }
    assert made.one("sqs/queue:Queue").inputs["tags"] == {"environment": "prod", "team": "all"}


def test_without_an_image_nothing_of_sizing_is_made(render: Any) -> None:
    made = render(lambda: Platform("p", args(sizing={"namespace": "sizing"})))
    assert made.of(":SizingService") == ()
    assert not [one.name for one in made.resources if "unsized" in one.name]
    assert "sizingAddress" not in made.one(":Platform").outputs


def test_sizing_plans_for_the_platforms_pools_with_the_platforms_image(render: Any) -> None:
    settings = {"namespace": "sizing", "settings": {"daemonset_memory": "1Gi"}}
    made = render(lambda: Platform("p", args(images={"service": SERVICE}, sizing=settings)))
    files = made.one(":ConfigMap").inputs["data"]
    assert files["pools.json"] == made.one(":Platform").outputs["pools"]
    assert json.loads(files["sizing.json"]) == {"daemonsetMemory": "1Gi"}
    pods = [one.inputs["spec"]["template"]["spec"] for one in made.of(":Deployment")]
    assert {container["image"] for pod in pods for container in pod["containers"]} == {SERVICE}
    assert made.one(":Platform").outputs["sizingAddress"] == "http://floodplain-sizing.sizing.svc:8080"


def test_pods_are_sized_once_their_pools_are_there_and_demanded_to_be_once_somebody_sizes_them(render: Any) -> None:
    made = render(lambda: Platform("p", args(images={"service": SERVICE})))
    webhook = made.one(":MutatingWebhookConfiguration")
    classes = {one.urn for one in (*made.of(":RuntimeClass"), *made.of(":NodePool"))}
    assert classes <= reachable(made, webhook.urn)
    unsized = made.one(":ValidatingAdmissionPolicy", "p-sizing-guardrails-unsized")
    assert webhook.urn in reachable(made, unsized.urn)
    assert made.one(":Platform").outputs["policyNames"][-1] == "floodplain-unsized"


def test_nobody_demands_plans_where_that_is_off(render: Any) -> None:
    made = render(lambda: Platform("p", args(images={"service": SERVICE}, sizing={"guardrails": "off"})))
    assert made.one(":SizingService")
    assert not [one.name for one in made.resources if "unsized" in one.name]


def test_sizing_shares_its_namespace_with_nobody(render: Any) -> None:
    shared = args(controllers={"kueue": {"namespace": "jobs"}}, sizing={"namespace": "jobs"})
    with pytest.raises(InputPropertiesError) as caught:
        render(lambda: Platform("p", shared))
    (error,) = caught.value.errors or []
    assert error["reason"] == (
        "sizing.namespace: 'jobs' is the namespace of kueue, whose pods could not start in it; "
        "give sizing a namespace of its own"
    )


def test_a_namespace_called_floodplain_is_anybodys_where_nothing_is_sized(render: Any) -> None:
    made = render(lambda: Platform("p", args(controllers={"kueue": {"namespace": "floodplain"}})))
    assert made.of(":SizingService") == ()


def test_a_pool_that_is_added_changes_the_mounted_pools_in_place(render: Any) -> None:
    provider = render(lambda: Platform("p", args())).one("providers:kubernetes").inputs
    assert provider["enableConfigMapMutable"] == "true"


def test_warnings_are_logged_so_that_a_preview_by_the_cli_shows_them(render: Any) -> None:
    made = render(lambda: Platform("p", args(pools=[{**ARGS["pools"][0], "guardrails": "audit"}])))
    assert [message.text for message in made.messages if message.severity == "warning"] == [
        "pools[0].guardrails: 'audit' lets pods in that can get others evicted; "
        "set it to enforce once the audit is quiet"
    ]


def test_several_faults_of_several_pools_are_reported_together(render: Any) -> None:
    pools = [{**ARGS["pools"][0], "families": ["d3"]}, {**ARGS["pools"][1], "limits": {"cpu": "256"}}]
    with pytest.raises(InputPropertiesError) as caught:
        render(lambda: Platform("p", args(pools=pools)))
    assert [error["property_path"] for error in caught.value.errors or []] == [
        "pools[0].families[0]",
        "pools[1].limits.memory",
    ]
