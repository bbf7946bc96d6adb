"""Is a grant seen where IAM would see one, and nowhere else? And does a call need what AWS says it needs?"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from testbed.aws.calls import Call
from testbed.aws.needs import Account, needs, tags_by_kind
from testbed.aws.permissions import Need, Verdict, verdict

ARN = "arn:aws:ec2:us-west-2:1:instance/i-1"
NEED = Need("ec2:TerminateInstances", ARN)


def document(**changes: Any) -> str:
    statement = {"Sid": "One", "Effect": "Allow", "Action": NEED.action, "Resource": ARN, **changes}
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


@pytest.mark.parametrize(
    ("changes", "granted"),
    [
        ({}, True),
        ({"Action": ["ec2:RunInstances", "EC2:terminateinstances"]}, True),
        ({"Action": "ec2:Terminate*"}, True),
        ({"Action": "ec2:RunInstances"}, False),
        ({"Action": "*"}, True),
        ({"Resource": "*"}, True),
        ({"Resource": "arn:aws:ec2:us-west-2:*:instance/*"}, True),
        ({"Resource": "arn:aws:ec2:us-west-2:*:volume/*"}, False),
        ({"Resource": "arn:aws:ec2:us-west-2:1:instance/i-?"}, True),
        ({"Resource": "arn:aws:ec2:us-west-2:1:instance/i-[0-9]"}, False),
        ({"Resource": []}, False),
    ],
)
def test_action_and_resource_are_matched_as_iam_matches_them(changes: dict[str, Any], granted: bool) -> None:
    assert verdict([document(**changes)], NEED).granted is granted


def test_a_denial_wins() -> None:
    found = verdict([document(), document(Sid="Two", Effect="Deny", Resource="*")], NEED)
    assert (found.granted, found.denied_by) == (False, ("Two",))


TAGGED = {"StringEquals": {"aws:RequestTag/owner": "us"}}


@pytest.mark.parametrize(
    ("condition", "need", "expected"),
    [
        (TAGGED, Need(NEED.action, ARN, {"owner": "us"}), Verdict(("One",))),
        (TAGGED, Need(NEED.action, ARN, {"owner": "them"}), Verdict()),
        (TAGGED, Need(NEED.action, ARN, {}), Verdict()),
        (TAGGED, Need(NEED.action, ARN, None), Verdict(("One",), unsettled=("aws:RequestTag/owner",))),
        (
            {"StringLike": {"aws:ResourceTag/pool": "*"}},
            Need(NEED.action, ARN, {}, {"pool": ""}),
            Verdict(("One",)),
        ),
        ({"StringLike": {"aws:ResourceTag/pool": "*"}}, Need(NEED.action, ARN, {}, {}), Verdict()),
        (
            {"StringEqualsIfExists": {"aws:RequestTag/owner": "us"}},
            Need(NEED.action, ARN, {}),
            Verdict(("One",)),
        ),
        (
            {"ForAllValues:StringEquals": {"aws:TagKeys": ["a", "b"]}},
            Need(NEED.action, ARN, {"a": "1"}),
            Verdict(("One",)),
        ),
        (
            {"ForAllValues:StringEquals": {"aws:TagKeys": ["a", "b"]}},
            Need(NEED.action, ARN, {"a": "1", "c": "2"}),
            Verdict(),
        ),
        (
            {"StringEquals": {"aws:RequestedRegion": "us-west-2"}},
            Need(NEED.action, ARN, facts={"aws:RequestedRegion": "eu-west-1"}),
            Verdict(),
        ),
        (
            {"StringEquals": {"ec2:Owner": "1"}},
            NEED,
            Verdict(("One",), unsettled=("ec2:Owner",)),
        ),
        (
            {"StringEquals": {"ec2:Owner": "1", "aws:RequestTag/owner": "us"}},
            Need(NEED.action, ARN, {"owner": "them"}),
            Verdict(),
        ),
    ],
)
def test_conditions_that_the_request_settles_are_evaluated(
    condition: Mapping[str, Any], need: Need, expected: Verdict
) -> None:
    assert verdict([document(Condition=condition)], need) == expected


def test_a_statement_that_settles_it_stands_for_one_that_does_not() -> None:
    unsettled = document(Condition={"StringEquals": {"ec2:Owner": "1"}})
    assert verdict([unsettled, document(Sid="Two")], NEED) == Verdict(("Two",))


def test_an_unknown_operator_is_an_error_and_not_a_grant() -> None:
    with pytest.raises(ValueError, match="NumericLessThan"):
        verdict(
            [document(Condition={"NumericLessThan": {"aws:RequestedRegion": "1"}})],
            Need(NEED.action, ARN, facts={"aws:RequestedRegion": "x"}),
        )


ACCOUNT = Account("111122223333", "us-west-2", "node-role")


def asked(service: str, action: str, **parameters: Any) -> list[tuple[str, str]]:
    call = Call(
        "karpenter", service, action, {key.replace("__", "."): v for key, v in parameters.items()}, 200, "", False, 1
    )
    return [(need.action, need.resource) for need in needs(call, ACCOUNT)]


def test_a_fleet_needs_all_that_it_creates_refers_to_and_tags() -> None:
    found = asked(
        "ec2",
        "CreateFleet",
        LaunchTemplateConfigs__1__LaunchTemplateSpecification__LaunchTemplateName="t",
        TagSpecification__1__ResourceType="instance",
        TagSpecification__1__Tag__1__Key="a",
        TagSpecification__1__Tag__1__Value="b",
        TargetCapacitySpecification__DefaultTargetCapacityType="spot",
    )
    prefix = "arn:aws:ec2:us-west-2:111122223333"
    referred = ["arn:aws:ec2:us-west-2::image/any", f"{prefix}:security-group/any", f"{prefix}:subnet/any"]
    assert sorted(found) == sorted(
        [
            *(("ec2:CreateFleet", arn) for arn in (*referred, f"{prefix}:launch-template/t", f"{prefix}:fleet/new")),
            *(("ec2:RunInstances", arn) for arn in (*referred, f"{prefix}:launch-template/t")),
            *(
                ("ec2:RunInstances", f"{prefix}:{kind}/new")
                for kind in ("instance", "network-interface", "volume", "spot-instances-request")
            ),
            ("ec2:CreateTags", f"{prefix}:instance/new"),
            ("iam:PassRole", "arn:aws:iam::111122223333:role/node-role"),
        ]
    )


@pytest.mark.parametrize(
    ("service", "action", "parameters", "expected"),
    [
        (
            "ec2",
            "TerminateInstances",
            {"InstanceId.1": "i-1"},
            [("ec2:TerminateInstances", "arn:aws:ec2:us-west-2:111122223333:instance/i-1")],
        ),
        (
            "ec2",
            "CreateTags",
            {"ResourceId.1": "i-1", "Tag.1.Key": "a", "Tag.1.Value": "b"},
            [("ec2:CreateTags", "arn:aws:ec2:us-west-2:111122223333:instance/i-1")],
        ),
        (
            "iam",
            "CreateInstanceProfile",
            {"InstanceProfileName": "p", "Path": "/k/", "Tags.member.1.Key": "a", "Tags.member.1.Value": "b"},
            [
                ("iam:CreateInstanceProfile", "arn:aws:iam::111122223333:instance-profile/k/p"),
                ("iam:TagInstanceProfile", "arn:aws:iam::111122223333:instance-profile/k/p"),
            ],
        ),
        (
            "iam",
            "AddRoleToInstanceProfile",
            {"InstanceProfileName": "p", "RoleName": "r"},
            [
                ("iam:AddRoleToInstanceProfile", "arn:aws:iam::111122223333:instance-profile/p"),
                ("iam:PassRole", "arn:aws:iam::111122223333:role/r"),
            ],
        ),
        (
            "sqs",
            "ReceiveMessage",
            {"QueueUrl": "http://127.0.0.1:1/111122223333/q"},
            [("sqs:ReceiveMessage", "arn:aws:sqs:us-west-2:111122223333:q")],
        ),
        (
            "ssm",
            "GetParameter",
            {"Name": "/aws/service/eks/x"},
            [("ssm:GetParameter", "arn:aws:ssm:us-west-2::parameter/aws/service/eks/x")],
        ),
        (
            "ssm",
            "GetParameter",
            {"Name": "/own"},
            [("ssm:GetParameter", "arn:aws:ssm:us-west-2:111122223333:parameter/own")],
        ),
        (
            "eks",
            "DescribeCluster",
            {"name": "c"},
            [("eks:DescribeCluster", "arn:aws:eks:us-west-2:111122223333:cluster/c")],
        ),
        ("kms", "SomethingNew", {}, [("kms:SomethingNew", "*")]),
    ],
)
def test_calls_need_what_the_service_authorization_reference_says(
    service: str, action: str, parameters: dict[str, Any], expected: list[tuple[str, str]]
) -> None:
    assert asked(service, action, **parameters) == expected


def test_tags_are_read_for_each_kind_of_resource() -> None:
    form = {
        "TagSpecification.2.ResourceType": "volume",
        "TagSpecification.2.Tag.1.Key": "a",
        "TagSpecification.2.Tag.1.Value": "",
        "TagSpecification.1.ResourceType": "fleet",
        "TagSpecification.10.ResourceType": "instance",
        "TagSpecification.10.Tag.1.Key": "b",
        "TagSpecification.10.Tag.1.Value": "c",
    }
    assert tags_by_kind(form) == {"fleet": {}, "volume": {"a": ""}, "instance": {"b": "c"}}
