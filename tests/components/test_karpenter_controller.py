from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import pulumi
import yaml
from pulumi.provider.experimental.component import ComponentProvider
from pulumi_kubernetes.apiextensions import CustomResource

from components.karpenter_controller import KarpenterController
from components.karpenter_settings import SpotServiceLinkedRole
from preview.recording import Recording
from preview.wire import UNKNOWN
from tests.components.karpenter_program import Render, needs, program, release, values


def unknowns(value: Any, path: str = "") -> Iterable[str]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from unknowns(item, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from unknowns(item, f"{path}[{index}]")
    elif value == UNKNOWN:
        yield path


def readable(value: Any) -> Any:
    """Policies as objects rather than one long line."""
    if isinstance(value, Mapping):
        return {key: readable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [readable(item) for item in value]
    if isinstance(value, str) and value.startswith("{"):
        return json.loads(value)
    return value


def rendered(recording: Recording) -> str:
    shown: list[dict[str, Any]] = [
        {
            "name": resource.name,
            "type": resource.type,
            "dependsOn": sorted(urn.rsplit("::", 1)[-1] for urn in resource.depends_on),
            # The provider's version is the SDK's, and changes with it.
            "options": {key: value for key, value in resource.options.items() if key != "version"},
            "inputs": readable(resource.inputs),
        }
        for resource in recording.resources
        if not resource.type.startswith("pulumi:providers")
    ]
    shown = [{key: value for key, value in one.items() if value} for one in shown]
    shown.append({"outputs": dict(recording.one("KarpenterController").outputs)})
    return yaml.safe_dump_all(shown, sort_keys=False, width=120)


def test_the_whole_controller_as_an_update_would_make_it(render: Render, golden: Any) -> None:
    golden.check("components/golden/karpenter-controller.yaml", rendered(render(program())))


def test_a_second_render_is_the_same_to_the_byte(render: Render) -> None:
    assert rendered(render(program())) == rendered(render(program()))


def test_a_preview_knows_everything_but_what_aws_makes_up(render: Render) -> None:
    found = {
        (resource.type.rsplit(":", 1)[-1], path)
        for resource in render(program(), apply=False).resources
        for path in unknowns(resource.inputs)
    }
    assert found == {("RolePolicyAttachment", "policyArn"), ("QueuePolicy", "queueUrl")}


def test_every_resource_goes_to_the_provider_it_was_given(render: Render) -> None:
    recording = render(program({"spot_service_linked_role": "Create"}))
    providers = {
        resource.type.partition(":")[0]: resource.provider.rsplit("::", 1)[-1]
        for resource in recording.resources
        if resource.custom and not resource.type.startswith("pulumi:")
    }
    assert providers == {"aws": "aws", "kubernetes": "k8s"}


def test_everything_that_takes_tags_has_them(render: Render) -> None:
    recording = render(program({"tags": {"team": "maps"}, "spot_service_linked_role": "Create"}))
    untagged = {
        resource.type.rsplit(":", 1)[-1]
        for resource in recording.resources
        if resource.type.startswith("aws:") and resource.inputs.get("tags") != {"team": "maps"}
    }
    assert untagged == {"EventTarget", "QueuePolicy", "RolePolicyAttachment", "ServiceLinkedRole"}


# Order: pools, controller, permissions.


def test_the_controller_goes_before_everything_it_needs_to_clean_up(render: Render) -> None:
    recording = render(program({"spot_service_linked_role": "Create"}))
    everything = {resource.name for resource in recording.resources if resource.type.startswith("aws:")}
    assert everything - needs(recording)["karpenter-controller"] == set()
    assert "karpenter-crds" in needs(recording)["karpenter-controller"]


def test_what_depends_on_the_component_goes_before_the_controller_and_its_permissions(render: Render) -> None:
    def pool(controller: KarpenterController) -> None:
        CustomResource(
            "pool",
            api_version="karpenter.sh/v1",
            kind="NodePool",
            opts=pulumi.ResourceOptions(depends_on=[controller]),
        )

    recording = render(program(then=pool))
    first = needs(recording)["pool"]
    assert {"karpenter-controller", "karpenter-crds", "karpenter-node-access", "karpenter-pod-identity"} <= first
    assert {r.name for r in recording.resources if r.type.startswith("aws:")} <= first


def test_crds_stay_when_their_release_goes(render: Render) -> None:
    crds = release(render(program()), "karpenter-crds").inputs
    assert crds["values"] == {"additionalAnnotations": {"helm.sh/resource-policy": "keep"}}
    assert crds["atomic"] is False


def test_the_controller_never_runs_on_nodes_it_manages(render: Render) -> None:
    node = values(render(program()))["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert node == {
        "nodeSelectorTerms": [
            {"matchExpressions": [{"key": "karpenter.sh/nodepool", "operator": "DoesNotExist"}]},
        ]
    }


# The node role.


def test_nodes_have_the_four_policies_and_those_one_adds(render: Render) -> None:
    boundary = "arn:aws:iam::111122223333:policy/boundary"
    more = {"logs": "arn:aws:iam::aws:policy/CloudWatchAgentServerPolicy"}
    recording = render(program({"node_role_policies": more, "permissions_boundary": boundary}))
    attached = {
        resource.inputs["policyArn"].rsplit("/", 1)[-1]
        for resource in recording.of(":RolePolicyAttachment")
        if resource.name.startswith("karpenter-node-role-")
    }
    assert attached == {
        "AmazonEC2ContainerRegistryPullOnly",
        "AmazonEKSWorkerNodePolicy",
        "AmazonEKS_CNI_Policy",
        "AmazonSSMManagedInstanceCore",
        "CloudWatchAgentServerPolicy",
    }
    assert {role.inputs["permissionsBoundary"] for role in recording.of(":Role")} == {boundary}


def test_an_existing_node_role_is_used_by_name_and_left_alone(render: Render) -> None:
    recording = render(program({"node_role_name": "nodes", "create_access_entry": False}))
    assert [role.name for role in recording.of(":Role")] == ["karpenter-controller-role"]
    assert recording.of(":AccessEntry") == ()
    passing = json.loads(recording.one("iam/policy:Policy", "karpenter-policy-IAMIntegration").inputs["policy"])
    assert passing["Statement"][0]["Resource"] == "arn:aws:iam::111122223333:role/nodes"
    assert recording.one("KarpenterController").outputs["nodeRoleName"] == "nodes"


def test_nodes_may_join_by_an_access_entry(render: Render) -> None:
    entry = render(program()).one(":AccessEntry").inputs
    assert (entry["type"], entry["principalArn"]) == (
        "EC2_LINUX",
        "arn:aws:iam::111122223333:role/KarpenterNodeRole-eu-central-1-prod",
    )


# The Spot role.


def test_the_spot_role_is_made_only_on_demand_and_outlives_the_stack(render: Render) -> None:
    assert render(program()).of(":ServiceLinkedRole") == ()
    role = render(program({"spot_service_linked_role": SpotServiceLinkedRole.CREATE})).one(":ServiceLinkedRole")
    assert (role.inputs["awsServiceName"], role.options["retainOnDelete"]) == ("spot.amazonaws.com", True)


def test_nothing_is_looked_up_while_deploying(render: Render) -> None:
    recording = render(program({"spot_service_linked_role": "Create"}))
    assert (recording.invokes, recording.reads) == ((), ())


# What is published. That arguments and models agree is tested for all components together.


def test_the_component_is_publishable_with_a_description_for_every_property() -> None:
    schema = json.loads(str(ComponentProvider([KarpenterController], "floodplain", None, "0.0.0").schema))
    component = schema["resources"]["floodplain:index:KarpenterController"]
    settings = schema["types"]["floodplain:index:KarpenterArgs"]
    properties = {**component["properties"], **component["inputProperties"], **settings["properties"]}
    assert [key for key, about in properties.items() if not about.get("description")] == []
    assert sorted(component["requiredInputs"]) == ["cluster"]
    assert {key for key, about in settings["properties"].items() if not about.get("plain")} == {
        "clusterEndpoint",
        "oidcProviderArn",
        "permissionsBoundary",
    }
    assert sorted(component["properties"]) == sorted(
        [
            *("controllerRoleArn", "controllerRoleName", "namespace", "nodeRoleArn", "nodeRoleName", "policyArns"),
            *("queueArn", "queueName", "queueUrl", "ruleNames", "serviceAccount", "version"),
        ]
    )
