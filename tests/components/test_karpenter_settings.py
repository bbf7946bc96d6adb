from __future__ import annotations

import json
from typing import Any

import pulumi_aws as aws
import pytest

from components.karpenter_settings import KarpenterSettings, warnings
from preview.wire import UNKNOWN
from stacks.config import parse
from stacks.problems import StackProblemsError
from tests.components.karpenter_program import (
    CLUSTER,
    FARGATE,
    PROVIDER_ARN,
    Render,
    needs,
    program,
    refusals,
    release,
    values,
)
from tests.components.stack_spelling import in_stack_spelling

# Credentials and places.


def test_pod_identity_is_there_before_the_pods_that_need_it(render: Render) -> None:
    recording = render(program())
    association = recording.one(":PodIdentityAssociation")
    assert (association.inputs["namespace"], association.inputs["serviceAccount"]) == ("kube-system", "karpenter")
    assert association.inputs["roleArn"] == "arn:aws:iam::111122223333:role/KarpenterController-eu-central-1-prod"
    assert association.name in needs(recording)["karpenter-controller"]
    assert values(recording)["serviceAccount"] == {"annotations": {}, "create": True, "name": "karpenter"}


def test_on_fargate_the_controller_has_a_role_by_the_oidc_provider(render: Render) -> None:
    recording = render(program(FARGATE))
    role = recording.one(":Role", "karpenter-controller-role")
    assert json.loads(role.inputs["assumeRolePolicy"])["Statement"][0]["Principal"] == {"Federated": PROVIDER_ARN}
    assert recording.of(":PodIdentityAssociation") == ()
    assert values(recording)["serviceAccount"]["annotations"] == {
        "eks.amazonaws.com/role-arn": "arn:aws:iam::111122223333:role/KarpenterController-eu-central-1-prod"
    }
    assert values(recording)["dnsPolicy"] == "Default"


def test_an_oidc_provider_may_come_from_another_resource(render: Render) -> None:
    def run() -> None:
        cluster_issuer = aws.iam.OpenIdConnectProvider("oidc", url="https://issuer", client_id_lists=["sts"])
        program({"credentials": "Irsa", "oidc_provider_arn": cluster_issuer.arn})()

    role = render(run, apply=False).one(":Role", "karpenter-controller-role")
    assert role.inputs["assumeRolePolicy"] == UNKNOWN


def test_pod_identity_is_refused_on_fargate(render: Render) -> None:
    assert refusals(render, {"runs_on": "Fargate"}) == [
        (
            "karpenter.credentials",
            "karpenter.credentials: PodIdentity does not work on Fargate, where its agent cannot run; "
            "set credentials Irsa and give the cluster's OIDC provider",
        )
    ]


def test_a_cluster_name_of_100_characters_is_good_input(render: Render) -> None:
    name = "p" * 100
    recording = render(program({"name": name, "region": "us-gov-west-1"}))
    lengths = {
        kind: max(len(resource.inputs["name"]) for resource in recording.of(kind))
        for kind in (":Role", ":Policy", ":Queue", ":EventRule")
    }
    assert lengths == {":Role": 64, ":Policy": 128, ":Queue": 80, ":EventRule": 64}
    longest = max(len(policy.inputs["policy"]) for policy in recording.of("iam/policy:Policy"))
    assert 3600 < longest <= 6144
    assert values(recording)["settings"]["clusterName"] == name
    assert len({rule.inputs["name"] for rule in recording.of(":EventRule")}) == 5


def test_in_china_arns_and_principals_are_those_of_that_partition(render: Render) -> None:
    recording = render(program({"region": "cn-northwest-1"}))
    node = recording.one(":Role", "karpenter-node-role")
    assert "ec2.amazonaws.com.cn" in node.inputs["assumeRolePolicy"]
    texts = [json.dumps(dict(resource.inputs)) for resource in recording.resources if resource.type.startswith("aws:")]
    assert [text for text in texts if "arn:aws:" in text] == []


# Charts.


def test_charts_may_come_from_a_folder_and_images_from_a_mirror(render: Render) -> None:
    recording = render(
        program(
            {"crd_chart": "./charts/karpenter-crd", "controller_chart": "./charts/karpenter", "image_repository": "m/k"}
        )
    )
    sources = [(chart.inputs["chart"], chart.inputs.get("version")) for chart in recording.of(":Release")]
    assert sorted(sources) == [("./charts/karpenter", None), ("./charts/karpenter-crd", None)]
    assert values(recording)["controller"]["image"] == {"repository": "m/k"}


def test_settings_reach_the_chart_under_its_own_names(render: Render) -> None:
    recording = render(
        program(
            {
                "cluster_endpoint": "https://api.example",
                "feature_gates": {"node_repair": True},
                "isolated_vpc": True,
                "log_level": "debug",
                "replicas": 1,
                "reserved_enis": 1,
                "resources": {"cpu": "2", "memory": "2Gi"},
                "values": {"settings": {"batchMaxDuration": "30s"}, "podLabels": {"a": "b"}},
                "vm_memory_overhead_percent": 0.05,
                "zonal_shift": True,
            }
        )
    )
    found = values(recording)
    assert found["settings"] == {
        "batchMaxDuration": "30s",
        "clusterEndpoint": "https://api.example",
        "clusterName": "prod",
        "enableZonalShift": True,
        "featureGates": {
            "capacityBuffer": False,
            "nodeOverlay": False,
            "nodeRepair": True,
            "reservedCapacity": True,
            "spotToSpotConsolidation": False,
            "staticCapacity": False,
        },
        "interruptionQueue": "Karpenter-prod",
        "isolatedVPC": True,
        "reservedENIs": "1",
        "vmMemoryOverheadPercent": 0.05,
    }
    assert (found["logLevel"], found["replicas"], found["podLabels"]) == ("debug", 1, {"a": "b"})
    assert found["controller"]["resources"] == {
        "limits": {"memory": "2Gi"},
        "requests": {"cpu": "2", "memory": "2Gi"},
    }


def test_the_controller_chart_leaves_crds_to_theirs_and_rolls_back(render: Render) -> None:
    chart = release(render(program())).inputs
    assert {key: chart[key] for key in ("atomic", "cleanupOnFail", "skipCrds", "timeout", "version")} == {
        "atomic": True,
        "cleanupOnFail": True,
        "skipCrds": True,
        "timeout": 600,
        "version": "1.14.1",
    }


# Bad input: path, rule, what to do.

BAD = [
    (
        {"version": "latest"},
        "karpenter.version",
        "'latest' is not a release of Karpenter; write one release as three numbers",
    ),
    (
        {"version": "1.5.0"},
        "karpenter.version",
        "'1.5.0' is too old a Karpenter for Kubernetes 1.34, which needs 1.6 or newer",
    ),
    (
        {"kubernetes_version": "1.32"},
        "cluster.kubernetesVersion",
        "'1.32' is too old a Kubernetes for swap in containers",
    ),
    ({"region": "mars"}, "cluster.region", "'mars' is not an AWS region; write it as eu-central-1"),
    ({"region": "us-iso-east-1"}, "cluster.region", "'us-iso-east-1' is in a partition that is not supported"),
    ({"account_id": "12"}, "cluster.accountId", "'12' is not an AWS account id; write its 12 digits in quotes"),
    ({"name": "a b"}, "cluster.name", "'a b' is not an EKS cluster name"),
    ({"name": "p" * 101}, "cluster.name", "is not an EKS cluster name; use 1 to 100 letters"),
    (
        {"node_role_name": "arn:aws:iam::111122223333:role/nodes"},
        "karpenter.nodeRoleName",
        "is an ARN, while Karpenter compares names and makes instance profiles without end; "
        "write the role's name: nodes",
    ),
    (
        {"node_role_name": "path/nodes"},
        "karpenter.nodeRoleName",
        "'path/nodes' holds a path, while Karpenter compares names",
    ),
    ({"credentials": "Irsa"}, "karpenter.oidcProviderArn", "is required with credentials Irsa; give the ARN"),
    (
        {"credentials": "Irsa", "oidc_provider_arn": "https://issuer"},
        "karpenter.oidcProviderArn",
        "'https://issuer' is not the ARN of an IAM OIDC provider",
    ),
    (
        {"node_role_name": "nodes", "node_role_policies": {"logs": "arn:aws:iam::aws:policy/x"}},
        "karpenter.nodeRolePolicies",
        "are for a role made here, and nodes exists already; attach them where that role is made",
    ),
    (
        {"node_role_policies": {"AmazonEKS_CNI_Policy": "arn:aws:iam::111122223333:policy/mine"}},
        "karpenter.nodeRolePolicies.AmazonEKS_CNI_Policy",
        "is the name of a policy that every node's role has; remove it, or give a policy of your own another name",
    ),
    (
        {"node_role_policies": {"logs": "CloudWatchAgentServerPolicy"}},
        "karpenter.nodeRolePolicies.logs",
        "is not the ARN of an IAM policy; it looks like arn:aws:iam::111122223333:policy/NAME",
    ),
    (
        {"node_role_policies": {"logs": "arn:aws:iam::111122223333:policy/x\n"}},
        "karpenter.nodeRolePolicies.logs",
        "",
    ),
    (
        {"node_role_policies": {"logs": "arn:aws-cn:iam::aws:policy/x"}},
        "karpenter.nodeRolePolicies.logs",
        "is in the partition aws-cn, and the region eu-central-1 in aws; write arn:aws:...",
    ),
    (
        {"node_role_policies": {"a b": "arn:aws:iam::aws:policy/x"}},
        "karpenter.nodeRolePolicies",
        "'a b' is not a name for a policy; use letters, digits and",
    ),
    *(
        (
            {"node_role_policies": {"all": f"arn:aws:iam::aws:policy/{policy}"}},
            "karpenter.nodeRolePolicies.all",
            "gives the whole account to every node, and so to pods on it; write a policy of your own",
        )
        for policy in ("AdministratorAccess", "PowerUserAccess", "IAMFullAccess")
    ),
    (
        {"permissions_boundary": "arn:aws:s3:::bucket"},
        "karpenter.permissionsBoundary",
        "'arn:aws:s3:::bucket' is not the ARN of an IAM policy",
    ),
    (
        {"permissions_boundary": "arn:aws:iam::999999999999:policy/b"},
        "karpenter.permissionsBoundary",
        "is of the account 999999999999, and IAM takes only what is in the role's own, 111122223333; make it in that",
    ),
    (
        {"credentials": "Irsa", "oidc_provider_arn": "arn:aws:iam::999999999999:oidc-provider/a.example/id/A"},
        "karpenter.oidcProviderArn",
        "is of the account 999999999999, and IAM takes only what is in the role's own, 111122223333",
    ),
    (
        {"credentials": "Irsa", "oidc_provider_arn": "arn:aws:sqs::111122223333:oidc-provider/a.example"},
        "karpenter.oidcProviderArn",
        "is not the ARN of an IAM OIDC provider",
    ),
    ({"cluster_endpoint": "http://a b"}, "karpenter.clusterEndpoint", "is not the address of an API server"),
    (
        {"feature_gates": {"capacity_buffer": True}, "version": "1.13.0"},
        "karpenter.featureGates.capacityBuffer",
        "needs Karpenter 1.14.0 or newer, and version is 1.13.0; turn it off or raise version",
    ),
    ({"zonal_shift": True, "version": "1.11.0"}, "karpenter.zonalShift", "needs Karpenter 1.12.0 or newer"),
    (
        {"crd_chart": "https://charts.example"},
        "karpenter.crdChart",
        "is neither an OCI chart nor a folder; write oci://",
    ),
    (
        {"controller_chart": "oci://a/b:1.14.1"},
        "karpenter.controllerChart",
        "has a tag; leave the tag out and set the version",
    ),
    ({"namespace": "Kube System"}, "karpenter.namespace", "'Kube System' is not a Kubernetes name"),
    ({"replicas": 0}, "karpenter.replicas", "0 should be greater than or equal to 1"),
    ({"resources": {"memory": "1GB"}}, "karpenter.resources.memory", "'1GB' is not a quantity"),
    ({"vm_memory_overhead_percent": 7.5}, "karpenter.vmMemoryOverheadPercent", "7.5 should be less than 1"),
    ({"interuption": True}, "karpenter.interuption", "is not a known key; did you mean `interruption`?"),
    ({"values": {"replicas": 3}}, "karpenter.values.replicas", "is set by floodplain already"),
]


@pytest.mark.parametrize(("more", "path", "reason"), BAD, ids=[f"{path}-{i}" for i, (_, path, _) in enumerate(BAD)])
def test_bad_input_is_refused_at_its_key(render: Render, more: dict[str, Any], path: str, reason: str) -> None:
    ((found, text),) = refusals(render, more)
    assert found == path
    assert reason in text


FAULTS: dict[str, Any] = {
    "region": "mars",
    "account_id": "12",
    "kubernetes_version": "1.32",
    "version": "latest",
    "runs_on": "Fargate",
    "log_level": "loud",
    "replicas": 9,
    "resources": {"memory": "1GB"},
}


def test_all_that_is_wrong_is_told_at_once(render: Render) -> None:
    assert sorted(path for path, _ in refusals(render, FAULTS)) == [
        "cluster.accountId",
        "cluster.kubernetesVersion",
        "cluster.region",
        "karpenter.credentials",
        "karpenter.logLevel",
        "karpenter.replicas",
        "karpenter.resources.memory",
        "karpenter.version",
    ]


def test_every_thing_too_new_for_the_version_is_told_at_once(render: Render) -> None:
    gates = {"node_overlay": True, "static_capacity": True, "capacity_buffer": True}
    more = {"version": "1.7.0", "feature_gates": gates, "zonal_shift": True, "replicas": 0}
    assert sorted(path for path, _ in refusals(render, more)) == [
        "karpenter.featureGates.capacityBuffer",
        "karpenter.featureGates.nodeOverlay",
        "karpenter.featureGates.staticCapacity",
        "karpenter.replicas",
        "karpenter.zonalShift",
    ]


# In a stack file the provider is found from the cluster, so that only it may be left out there.
REFUSED_IN_STACKS = [*(more for more, _, _ in BAD if more != {"credentials": "Irsa"}), FAULTS]


@pytest.mark.parametrize("more", REFUSED_IN_STACKS, ids=str)
def test_a_stack_file_is_refused_for_all_that_the_component_would_refuse(render: Render, more: dict[str, Any]) -> None:
    pool = {"name": "a", "families": ["r6id"], "limits": {"cpu": "256", "memory": "2Ti"}}
    cluster = {key: more.get(key, value) for key, value in CLUSTER.items()}
    karpenter = {key: value for key, value in more.items() if key not in CLUSTER}
    pools = [{**pool, "ami": {"alias": "al2023@v20260714"}}]
    with pytest.raises(StackProblemsError) as refused:
        parse("prod", in_stack_spelling({"cluster": cluster, "karpenter": karpenter, "pools": pools}))
    told = [problem.path.removeprefix("floodplain:") for problem in refused.value.problems]
    assert told == [path for path, _ in refusals(render, more)]


def test_what_is_wrong_between_cluster_and_karpenter_is_told_at_once_too(render: Render) -> None:
    more = {"kubernetes_version": "1.36", "version": "1.12.0", "values": {"replicas": 3}}
    assert [path for path, _ in refusals(render, more)] == ["karpenter.version", "karpenter.values.replicas"]


def test_what_is_allowed_but_weak_is_told() -> None:
    weak = KarpenterSettings(interruption=False, replicas=1, node_role_name="nodes")
    assert [text.split(":")[0] for text in warnings(weak, "1.34")] == [
        "interruption is off",
        "replicas is 1",
        "an access entry is created for the existing role nodes",
    ]
    assert warnings(KarpenterSettings(), "1.34") == ()
