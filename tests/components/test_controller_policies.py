from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.cloud_names import IAM_ROLE, SQS_QUEUE, cloud_name, place_of
from components.controller_policies import (
    MANAGED_POLICY_LIMIT,
    PolicyScope,
    controller_policies,
    policy_length,
    policy_problems,
)
from floodplain.problem import BrokenRulesError

LONGEST_REGIONS = ("ap-southeast-1", "ap-northeast-1", "us-gov-west-1", "us-gov-east-1", "cn-northwest-1")
# What upstream's template grants in 1.14, statement by statement, as sets of actions.
UPSTREAM = {
    "AllowScopedEC2InstanceAccessActions": {"ec2:RunInstances", "ec2:CreateFleet"},
    "AllowScopedEC2LaunchTemplateAccessActions": {"ec2:RunInstances", "ec2:CreateFleet"},
    "AllowScopedEC2InstanceActionsWithTags": {"ec2:RunInstances", "ec2:CreateFleet", "ec2:CreateLaunchTemplate"},
    "AllowScopedResourceCreationTagging": {"ec2:CreateTags"},
    "AllowScopedResourceTagging": {"ec2:CreateTags"},
    "AllowScopedDeletion": {"ec2:TerminateInstances", "ec2:DeleteLaunchTemplate"},
    "AllowPassingInstanceRole": {"iam:PassRole"},
    "AllowScopedInstanceProfileCreationActions": {"iam:CreateInstanceProfile"},
    "AllowScopedInstanceProfileTagActions": {"iam:TagInstanceProfile"},
    "AllowScopedInstanceProfileActions": {
        "iam:AddRoleToInstanceProfile",
        "iam:RemoveRoleFromInstanceProfile",
        "iam:DeleteInstanceProfile",
    },
    "AllowAPIServerEndpointDiscovery": {"eks:DescribeCluster"},
    "AllowInterruptionQueueActions": {"sqs:DeleteMessage", "sqs:GetQueueUrl", "sqs:ReceiveMessage"},
    "AllowZonalShiftStatusReadOnly": {"arc-zonal-shift:GetManagedResource"},
    "AllowRegionalReadActions": {
        "ec2:DescribeCapacityReservations",
        "ec2:DescribeImages",
        "ec2:DescribeInstances",
        "ec2:DescribeInstanceStatus",
        "ec2:DescribeInstanceTypeOfferings",
        "ec2:DescribeInstanceTypes",
        "ec2:DescribeLaunchTemplates",
        "ec2:DescribePlacementGroups",
        "ec2:DescribeSecurityGroups",
        "ec2:DescribeSpotPriceHistory",
        "ec2:DescribeSubnets",
    },
    "AllowSSMReadActions": {"ssm:GetParameter"},
    "AllowPricingReadActions": {"pricing:GetProducts"},
    "AllowUnscopedInstanceProfileListAction": {"iam:ListInstanceProfiles"},
    "AllowInstanceProfileReadActions": {"iam:GetInstanceProfile"},
}
# Actions that only look may be on every resource; of these three IAM knows no narrower one.
ON_EVERYTHING = {"AllowPricingReadActions", "AllowUnscopedInstanceProfileListAction"}
CLUSTERS = st.from_regex(r"[0-9A-Za-z][A-Za-z0-9_-]{0,99}", fullmatch=True)


def scope_of(cluster: str, region: str = "eu-central-1", queue: bool = True) -> PolicyScope:
    place = place_of(region, "123456789012")
    role = cloud_name(IAM_ROLE, f"KarpenterNodeRole-{region}", cluster)
    name = cloud_name(SQS_QUEUE, "Karpenter", cluster)
    return PolicyScope(place, cluster, place.iam(f"role/{role}"), place.regional("sqs", name) if queue else None)


def statements(scope: PolicyScope) -> list[dict[str, Any]]:
    return [statement for text in controller_policies(scope).values() for statement in json.loads(text)["Statement"]]


def as_list(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


def test_the_controller_may_do_what_upstream_grants_and_nothing_else() -> None:
    granted = {statement["Sid"]: set(as_list(statement["Action"])) for statement in statements(scope_of("prod"))}
    assert granted == UPSTREAM


def test_the_permission_that_1_12_newly_needs_is_there_before_anyone_upgrades() -> None:
    # Weak point (b) of the production files this replaces: an upgrade past 1.12 broke on it.
    documents = controller_policies(scope_of("prod"))
    assert '"ec2:DescribeInstanceStatus"' in documents["ResourceDiscovery"]


def test_there_are_six_documents_and_five_without_a_queue() -> None:
    names = ["EKSIntegration", "IAMIntegration", "Interruption", "NodeLifecycle", "ResourceDiscovery", "ZonalShift"]
    assert list(controller_policies(scope_of("prod"))) == names
    assert list(controller_policies(scope_of("prod", queue=False))) == [n for n in names if n != "Interruption"]


def test_no_action_has_a_wildcard_and_only_looking_is_allowed_on_everything() -> None:
    for statement in statements(scope_of("prod")):
        assert statement["Effect"] == "Allow"
        assert not any("*" in action or "?" in action for action in as_list(statement["Action"])), statement
        if "*" in as_list(statement["Resource"]) and "Condition" not in statement:
            assert statement["Sid"] in ON_EVERYTHING


@pytest.mark.parametrize(
    "sid",
    [
        "AllowScopedEC2LaunchTemplateAccessActions",
        "AllowScopedEC2InstanceActionsWithTags",
        "AllowScopedResourceCreationTagging",
        "AllowScopedResourceTagging",
        "AllowScopedDeletion",
        "AllowScopedInstanceProfileCreationActions",
        "AllowScopedInstanceProfileTagActions",
        "AllowScopedInstanceProfileActions",
    ],
)
def test_what_changes_something_is_bound_to_the_tags_of_this_cluster(sid: str) -> None:
    (statement,) = [found for found in statements(scope_of("prod")) if found["Sid"] == sid]
    equal = statement["Condition"]["StringEquals"]
    owners = {key: value for key, value in equal.items() if key.endswith("/kubernetes.io/cluster/prod")}
    assert owners
    assert set(owners.values()) == {"owned"}
    assert any(key.endswith(("/karpenter.sh/nodepool", "ec2nodeclass")) for key in statement["Condition"]["StringLike"])


def test_tagging_a_running_instance_is_limited_to_three_keys() -> None:
    (statement,) = [found for found in statements(scope_of("prod")) if found["Sid"] == "AllowScopedResourceTagging"]
    assert statement == {
        "Sid": "AllowScopedResourceTagging",
        "Effect": "Allow",
        "Action": "ec2:CreateTags",
        "Resource": ["arn:aws:ec2:eu-central-1:*:instance/*"],
        "Condition": {
            "StringEquals": {"aws:ResourceTag/kubernetes.io/cluster/prod": "owned"},
            "StringLike": {"aws:ResourceTag/karpenter.sh/nodepool": "*"},
            "StringEqualsIfExists": {"aws:RequestTag/eks:eks-cluster-name": "prod"},
            "ForAllValues:StringEquals": {"aws:TagKeys": ["Name", "eks:eks-cluster-name", "karpenter.sh/nodeclaim"]},
        },
    }


def test_only_the_node_role_can_be_passed_and_only_to_ec2() -> None:
    (statement,) = [found for found in statements(scope_of("prod")) if found["Action"] == "iam:PassRole"]
    assert statement["Resource"] == "arn:aws:iam::123456789012:role/KarpenterNodeRole-eu-central-1-prod"
    assert statement["Condition"] == {
        "StringEquals": {"iam:PassedToService": ["ec2.amazonaws.com", "ec2.amazonaws.com.cn"]}
    }


@pytest.mark.parametrize("region", LONGEST_REGIONS)
@pytest.mark.parametrize("cluster", ["a", "p" * 38, "p" * 100])
def test_every_document_fits_for_the_longest_names(region: str, cluster: str) -> None:
    lengths = {name: policy_length(text) for name, text in controller_policies(scope_of(cluster, region)).items()}
    assert max(lengths.values()) <= MANAGED_POLICY_LIMIT
    assert sum(lengths.values()) > MANAGED_POLICY_LIMIT or len(cluster) < 38, "one document would do"


@given(cluster=CLUSTERS, region=st.sampled_from(LONGEST_REGIONS))
@settings(max_examples=50)
def test_every_document_fits_and_is_compact_json_for_any_cluster(cluster: str, region: str) -> None:
    for text in controller_policies(scope_of(cluster, region)).values():
        assert policy_length(text) <= MANAGED_POLICY_LIMIT
        assert text == json.dumps(json.loads(text), separators=(",", ":"), sort_keys=True)
        assert text.isascii()


def test_every_document_that_is_too_long_is_refused_with_the_number() -> None:
    # No EKS cluster may have such a name; the check is for what may be added to a document one day.
    with pytest.raises(BrokenRulesError) as refused:
        controller_policies(scope_of("p" * 600))
    (error,) = refused.value.errors
    assert error.path == ("NodeLifecycle",)
    assert str(error) == (
        "makes the policy NodeLifecycle 7537 characters long, 1393 more than the 6144 that IAM allows one managed "
        "policy; use a shorter cluster name"
    )
    with pytest.raises(BrokenRulesError) as refused:
        controller_policies(scope_of("p" * 1200))
    assert [error.path for error in refused.value.errors] == [("IAMIntegration",), ("NodeLifecycle",)]


def test_length_is_counted_as_iam_counts_it_without_white_space() -> None:
    assert policy_problems({"spaced": "{ }" + " " * MANAGED_POLICY_LIMIT, "full": "x" * MANAGED_POLICY_LIMIT}) == []
    assert [problem.path for problem in policy_problems({"over": "x" * (MANAGED_POLICY_LIMIT + 1)})] == [("over",)]
