from __future__ import annotations

from typing import Any

import pytest

from preview.monitor import Request
from preview.outputs import Apply, Plan

ACCOUNT = "111122223333"


def answer(
    type_token: str, inputs: dict[str, Any], name: str = "it", region: str = "eu-west-1"
) -> tuple[str, dict[str, Any]]:
    identity, outputs = Apply().resource(Request(type_token, name, inputs, region))
    return identity, dict(outputs)


def test_a_plan_knows_nothing() -> None:
    assert Plan().resource(Request("aws:iam/role:Role", "it", {})) == ("", {})
    assert Plan().invoke(Request("aws:eks/getCluster:getCluster", "", {"name": "c"})) is None


@pytest.mark.parametrize(
    ("type_token", "inputs", "identity", "some"),
    [
        (
            "aws:iam/role:Role",
            {"name": "r", "path": "/team/"},
            "r",
            {"arn": f"arn:aws:iam::{ACCOUNT}:role/team/r", "name": "r"},
        ),
        (
            "aws:iam/policy:Policy",
            {"name": "p"},
            f"arn:aws:iam::{ACCOUNT}:policy/p",
            {"arn": f"arn:aws:iam::{ACCOUNT}:policy/p"},
        ),
        (
            "aws:sqs/queue:Queue",
            {},
            f"https://sqs.eu-west-1.amazonaws.com/{ACCOUNT}/it",
            {"arn": f"arn:aws:sqs:eu-west-1:{ACCOUNT}:it", "name": "it"},
        ),
        (
            "aws:cloudwatch/eventRule:EventRule",
            {"name": "e"},
            "e",
            {"arn": f"arn:aws:events:eu-west-1:{ACCOUNT}:rule/e"},
        ),
        (
            "aws:iam/serviceLinkedRole:ServiceLinkedRole",
            {"awsServiceName": "spot.amazonaws.com"},
            f"arn:aws:iam::{ACCOUNT}:role/aws-service-role/spot.amazonaws.com/AWSServiceRoleForEC2Spot",
            {"name": "AWSServiceRoleForEC2Spot"},
        ),
        ("aws:eks/addon:Addon", {"clusterName": "c", "addonName": "a"}, "c:a", {}),
        (
            "aws:eks/accessEntry:AccessEntry",
            {"clusterName": "c", "principalArn": "arn:x"},
            "c:arn:x",
            {"userName": "arn:x"},
        ),
        (
            "kubernetes:helm.sh/v3:Release",
            {"chart": "oci://r/karpenter", "name": "k", "namespace": "n", "version": "1.2.3"},
            "n/k",
            {"name": "k"},
        ),
        ("kubernetes:core/v1:ConfigMap", {"metadata": {"name": "c", "namespace": "n"}}, "n/c", {}),
        ("kubernetes:node.k8s.io/v1:RuntimeClass", {"metadata": {"name": "c"}}, "c", {}),
        ("other:index:Thing", {"name": "n"}, "n", {}),
    ],
)
def test_outputs_follow_from_the_inputs(
    type_token: str, inputs: dict[str, Any], identity: str, some: dict[str, Any]
) -> None:
    got, outputs = answer(type_token, inputs)
    assert got == identity
    assert some.items() <= outputs.items()
    assert answer(type_token, inputs) == (got, outputs)


@pytest.mark.parametrize(
    ("region", "arn", "url"),
    [
        ("us-gov-west-1", f"arn:aws-us-gov:sqs:us-gov-west-1:{ACCOUNT}:q", "https://sqs.us-gov-west-1.amazonaws.com/"),
        ("cn-north-1", f"arn:aws-cn:sqs:cn-north-1:{ACCOUNT}:q", "https://sqs.cn-north-1.amazonaws.com.cn/"),
    ],
)
def test_other_partitions_have_their_own_arns_and_domains(region: str, arn: str, url: str) -> None:
    _, outputs = answer("aws:sqs/queue:Queue", {"name": "q"}, region=region)
    assert outputs["arn"] == arn
    assert outputs["url"].startswith(url)


def test_a_cluster_can_be_looked_up() -> None:
    cluster = Apply().invoke(Request("aws:eks/getCluster:getCluster", "", {"name": "c"}, "eu-west-1"))
    assert cluster is not None
    assert cluster["arn"] == f"arn:aws:eks:eu-west-1:{ACCOUNT}:cluster/c"
    assert cluster["endpoint"].endswith(".gr7.eu-west-1.eks.amazonaws.com")
    assert cluster["certificateAuthorities"] == [{"data": "ZXhhbXBsZQ=="}]
    assert cluster["identities"][0]["oidcs"][0]["issuer"].startswith("https://oidc.eks.eu-west-1.amazonaws.com/id/")


@pytest.mark.parametrize(
    ("token", "key", "value"),
    [
        ("aws:index/getCallerIdentity:getCallerIdentity", "accountId", ACCOUNT),
        ("aws:index/getPartition:getPartition", "partition", "aws-us-gov"),
        ("aws:index/getRegion:getRegion", "region", "us-gov-west-1"),
        ("aws:iam/getRoles:getRoles", "arns", []),
    ],
)
def test_the_account_can_be_asked_about(token: str, key: str, value: Any) -> None:
    result = Apply().invoke(Request(token, "", {}, "us-gov-west-1"))
    assert result is not None
    assert result[key] == value
