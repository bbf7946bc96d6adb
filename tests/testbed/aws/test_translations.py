"""Are requests and answers translated right? Pure functions of the front, without moto."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any
from xml.etree import ElementTree

import pytest

from testbed.aws import calls, fleet, images, interruption, prices, query, rest
from testbed.aws.account import Account
from testbed.aws.corrections import user_data
from testbed.aws.interruption import Rule


def request(*pools: tuple[int, str, str, str]) -> dict[str, str]:
    """A CreateFleet form: (template, type, zone, priority) of each pool."""
    found = {"Action": "CreateFleet", "TargetCapacitySpecification.DefaultTargetCapacityType": "spot"}
    for number, (config, kind, zone, priority) in enumerate(pools, start=1):
        prefix = f"LaunchTemplateConfigs.{config}"
        found[f"{prefix}.LaunchTemplateSpecification.LaunchTemplateName"] = f"template-{config}"
        override = {"InstanceType": kind, "AvailabilityZone": zone, "Priority": priority}
        found |= {f"{prefix}.Overrides.{number}.{key}": value for key, value in override.items()}
    return found


THREE = request((1, "r6id.large", "a", "0.3"), (2, "m6id.large", "b", "0.1"), (1, "r6id.large", "b", "0.2"))


def shown(pools: Any) -> list[tuple[str, str]]:
    return [(pool.instance_type, pool.zone) for pool in pools]


def test_a_fleet_is_ordered_by_price_and_the_cheapest_template_comes_first() -> None:
    wanted = fleet.read(THREE)
    written = fleet.write(wanted, fleet.by_priority(wanted.pools))
    names = {key: value for key, value in written.items() if key.endswith("LaunchTemplateName")}
    assert names == {
        "LaunchTemplateConfigs.1.LaunchTemplateSpecification.LaunchTemplateName": "template-2",
        "LaunchTemplateConfigs.2.LaunchTemplateSpecification.LaunchTemplateName": "template-1",
    }
    again = fleet.read(written)
    assert shown(again.pools) == [("m6id.large", "b"), ("r6id.large", "b"), ("r6id.large", "a")]
    assert again.rest == wanted.rest


def test_a_pool_without_a_priority_goes_last() -> None:
    form = request((1, "r6id.large", "a", "0.3"), (1, "m6id.large", "a", "0.1"))
    del form["LaunchTemplateConfigs.1.Overrides.2.Priority"]
    assert shown(fleet.by_priority(fleet.read(form).pools)) == [("r6id.large", "a"), ("m6id.large", "a")]


@pytest.mark.parametrize(
    ("starved", "left_out"),
    [
        (set(), []),
        ({("r6id.large", "b")}, [("r6id.large", "b")]),
        ({("r6id.large", "*")}, [("r6id.large", "a"), ("r6id.large", "b")]),
        ({("*", "b")}, [("r6id.large", "b"), ("m6id.large", "b")]),
        ({("c6id.large", "*")}, []),
    ],
)
def test_starved_pools_are_left_out(starved: set[tuple[str, str]], left_out: list[tuple[str, str]]) -> None:
    assert shown(fleet.without_capacity(fleet.read(THREE), starved)) == left_out


def test_errors_name_template_type_zone_and_kind_of_capacity() -> None:
    wanted = fleet.read(THREE)
    answer = fleet.nothing_launched()
    fleet.report(answer, wanted, wanted.pools[:1])
    [item] = answer.iterfind("errorSet/item")
    assert [item.findtext(f".//{name}") for name in ("launchTemplateName", "instanceType", "availabilityZone")] == [
        "template-1",
        "r6id.large",
        "a",
    ]
    assert (item.findtext("lifecycle"), item.findtext("errorCode")) == ("spot", "InsufficientInstanceCapacity")
    assert fleet.instance_ids(answer) == []


@pytest.mark.parametrize(
    ("template", "groups"),
    [
        ({"LaunchTemplateData.NetworkInterface.1.SecurityGroupId.1": "sg-1"}, ["sg-1"]),
        (
            {"LaunchTemplateData.SecurityGroupId.2": "sg-2", "LaunchTemplateData.SecurityGroupId.1": "sg-1"},
            ["sg-1", "sg-2"],
        ),
        ({}, []),
    ],
)
def test_security_groups_are_read_from_a_template(template: Mapping[str, str], groups: list[str]) -> None:
    assert fleet.security_groups(template) == groups


def test_the_price_table_is_read_for_one_region_only() -> None:
    region = '\n\t"{0}": {{\n\t\t{1}\n\t}},'
    source = region.format("us-east-1", '"a1.large": 0.05, "a1.metal": 0.4,') + region.format(
        "cn-north-1", '"a1.large": 9,'
    )
    assert prices.read_table(source) == {"a1.large": 0.05, "a1.metal": 0.4}


def test_prices_come_in_pages_and_metal_apart() -> None:
    table = {f"a{number}.large": 1.0 for number in range(150)} | {"a1.metal": 2.0}
    plain = {"Filters": [{"Field": "productFamily", "Value": "Compute Instance"}]}
    first = prices.products(table, plain)
    second = prices.products(table, {**plain, "NextToken": first["NextToken"]})
    metal = prices.products(table, {"Filters": [{"Field": "productFamily", "Value": "Compute Instance (bare metal)"}]})
    assert [len(page["PriceList"]) for page in (first, second, metal)] == [100, 50, 1]
    assert "NextToken" not in second


def test_spot_prices_are_a_share_and_unknown_types_keep_theirs() -> None:
    item = "<item><instanceType>{0}</instanceType><spotPrice>7</spotPrice></item>"
    answer = ElementTree.fromstring(f"<a>{item.format('a1.large')}{item.format('zz.large')}</a>")
    prices.with_spot_prices(answer, {"a1.large": 0.1})
    assert [price.text for price in answer.iter("spotPrice")] == ["0.035000", "7"]


def test_the_newest_image_is_the_recommended_one() -> None:
    found = images.images(Account(cluster_name="c", ami_versions=("20260901", "20260714")))
    prefix = "/aws/service/eks/optimized-ami/1.35/amazon-linux-2023/x86_64/standard"
    pinned = "amazon-eks-node-al2023-x86_64-standard-1.35-v20260714"
    names = [f"{prefix}/recommended/image_id", f"{prefix}/{pinned}/image_id"]
    assert [image.version for name in names if (image := images.named_by(name, found))] == ["20260901", "20260714"]
    unknown = (
        f"{prefix}/{pinned.replace('0714', '0713')}/image_id",
        f"{prefix.replace('1.35', '1.20')}/recommended/image_id",
        f"{prefix.replace('standard', 'nvidia')}/recommended/image_id",
    )
    assert [images.named_by(name, found) for name in unknown] == [None, None, None]


def test_images_have_ids_of_their_own() -> None:
    found = images.images(Account(cluster_name="c"))
    assert len({image.id for image in found}) == len(found) == 24


def test_an_account_survives_its_file() -> None:
    account = Account(cluster_name="c", region="eu-central-1", ami_versions=("20260714",), cluster_endpoint="https://a")
    assert Account.from_json(account.as_json()) == account
    assert account.zones == ("eu-central-1a", "eu-central-1b", "eu-central-1c")


def test_numbered_fields_are_read_in_number_order_and_replaced() -> None:
    form = {"Id.10": "c", "Id.2": "b", "Id.1": "a", "Id.1.Name": "x", "Other": "y"}
    assert query.numbered(form, "Id") == ["a", "b", "c"]
    assert query.with_numbered(form, "Id", ["z"]) == {"Id.1.Name": "x", "Other": "y", "Id.1": "z"}
    assert query.each_once(["b", "a", "b"]) == ["b", "a"]


def test_xml_keeps_its_namespace() -> None:
    body = f'<DescribeResponse xmlns="{query.NAMESPACE}"><a>1</a></DescribeResponse>'.encode()
    answer = query.read_xml(body)
    assert answer.findtext("a") == "1"
    assert query.write_xml(answer).endswith(body)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (query.error("InvalidUserData.Malformed", "<too large>"), "InvalidUserData.Malformed"),
        (b'{"__type": "com.amazonaws.ssm#ParameterNotFound", "message": "x"}', "ParameterNotFound"),
        (b'{"message": "x", "code": "ResourceInUseException"}', "ResourceInUseException"),
        (b"gateway on fire", ""),
    ],
)
def test_error_codes_are_read_from_every_protocol(body: bytes, code: str) -> None:
    assert query.error_code(body) == code


SIGNED = "AWS4-HMAC-SHA256 Credential=karpenter/20261130/us-west-2/{}/aws4_request, SignedHeaders=host, Signature=0"


@pytest.mark.parametrize(
    ("service", "method", "path", "headers", "body", "action", "parameters"),
    [
        (
            "ec2",
            "POST",
            "/",
            {"content-type": "application/x-www-form-urlencoded; charset=utf-8"},
            b"Action=DescribeSubnets&SubnetId.1=subnet-1",
            "DescribeSubnets",
            {"SubnetId.1": "subnet-1"},
        ),
        (
            "ssm",
            "POST",
            "/",
            {"x-amz-target": "AmazonSSM.GetParameter"},
            b'{"Name": "/aws/x"}',
            "GetParameter",
            {"Name": "/aws/x"},
        ),
        ("eks", "GET", "/clusters/demo", {}, b"", "DescribeCluster", {"name": "demo"}),
        (
            "eks",
            "DELETE",
            "/clusters/demo/access-entries/arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fa",
            {},
            b"",
            "DeleteAccessEntry",
            {"name": "demo", "principalArn": "arn:aws:iam::1:role/a"},
        ),
        ("s3", "GET", "/bucket", {}, b"", "GET /bucket", {}),
    ],
)
def test_a_call_is_recognized_in_every_protocol(
    service: str, method: str, path: str, headers: dict[str, str], body: bytes, action: str, parameters: dict[str, str]
) -> None:
    signed = {"authorization": SIGNED.format(service), **headers}
    assert calls.asked(method, path, signed, body) == calls.Asked("karpenter", service, action, parameters)


def test_a_call_is_recorded_without_its_long_values() -> None:
    asked = calls.Asked("me", "ec2", "CreateLaunchTemplate", {"UserData": "x" * 301, "Name": "n"})
    call = calls.ended(asked, 400, query.error("Broken", ""), front=True, milliseconds=7)
    assert (call.parameters, call.error) == ({"UserData": "(301 characters)", "Name": "n"}, "Broken")
    assert calls.Call(**json.loads(call.as_json())) == call
    assert call.line() == "400 me ec2 CreateLaunchTemplate front 7 ms Broken"


def test_a_path_that_is_no_operations_is_nothing() -> None:
    assert rest.operation("eks", "PATCH", "/clusters/demo") is None


@pytest.mark.parametrize("kept", [b"MIME-Version: 1.0\n", b"\x00\xff"])
def test_user_data_is_decoded_and_kept_as_it_stands_otherwise(kept: bytes) -> None:
    assert user_data({"LaunchTemplateData.UserData": base64.b64encode(kept).decode()}) == kept
    assert user_data({"LaunchTemplateData.UserData": "no base64!"}) == b"no base64!"
    assert user_data({}) == b""


QUEUE, RULE = "arn:aws:sqs:us-west-2:1:q", "arn:aws:events:us-west-2:1:rule/r"
PATTERN = '{"source":["aws.ec2"],"detail-type":["EC2 Instance State-change Notification"]}'
ALLOW: dict[str, Any] = {
    "Effect": "Allow",
    "Principal": {"Service": "events.amazonaws.com"},
    "Action": "sqs:SendMessage",
    "Resource": QUEUE,
    "Condition": {"ArnEquals": {"aws:SourceArn": [RULE]}},
}


def policy(*statements: Mapping[str, Any]) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": list(statements)})


@pytest.mark.parametrize(
    ("text", "in_"),
    [
        (policy(ALLOW), True),
        (policy({**ALLOW, "Condition": {}}), True),
        (policy({**ALLOW, "Action": ["sqs:*"]}), True),
        ("", False),
        (policy({**ALLOW, "Principal": {"Service": ["sqs.amazonaws.com"]}}), False),
        (policy({**ALLOW, "Principal": {"AWS": "*"}}), False),
        (policy({**ALLOW, "Action": "sqs:ReceiveMessage"}), False),
        (policy({**ALLOW, "Resource": QUEUE + "-2"}), False),
        (policy({**ALLOW, "Condition": {"ArnEquals": {"aws:SourceArn": RULE + "-2"}}}), False),
        (policy({**ALLOW, "Condition": {"StringEquals": {"aws:SourceAccount": "1"}}}), False),
        (policy({**ALLOW, "Condition": {"DateGreaterThan": {"aws:SourceArn": RULE}}}), False),
        (policy(ALLOW, {**ALLOW, "Effect": "Deny", "Principal": "*", "Condition": {}}), False),
        (
            policy(
                ALLOW,
                {
                    "Effect": "Deny",
                    "Principal": "*",
                    "Action": "sqs:*",
                    "Resource": QUEUE,
                    "Condition": {"Bool": {"aws:SecureTransport": "false"}},
                },
            ),
            True,
        ),
    ],
)
def test_a_queue_lets_in_what_its_policy_admits(text: str, in_: bool) -> None:
    assert interruption.lets_events_in(text, QUEUE, RULE) is in_


def test_an_event_takes_every_rule_that_is_on_and_matches() -> None:
    told = interruption.event("stopped", "i-1", account_id="1", region="us-west-2")
    rules = [
        Rule("r", RULE, PATTERN, True, (QUEUE, QUEUE + "-unknown")),
        Rule("off", RULE, PATTERN, False, (QUEUE,)),
        Rule("other", RULE, '{"source":["aws.health"]}', True, (QUEUE,)),
    ]
    assert interruption.deliveries(told, rules, {QUEUE: policy(ALLOW)}) == [interruption.Delivery("r", QUEUE)]


@pytest.mark.parametrize(
    ("kind", "source", "detail_type", "detail"),
    [
        (
            "spot",
            "aws.ec2",
            "EC2 Spot Instance Interruption Warning",
            {"instance-id": "i-1", "instance-action": "terminate"},
        ),
        ("rebalance", "aws.ec2", "EC2 Instance Rebalance Recommendation", {"instance-id": "i-1"}),
        (
            "terminated",
            "aws.ec2",
            "EC2 Instance State-change Notification",
            {"instance-id": "i-1", "state": "terminated"},
        ),
        (
            "health",
            "aws.health",
            "AWS Health Event",
            {
                "service": "EC2",
                "eventTypeCategory": "scheduledChange",
                "eventTypeCode": "AWS_EC2_INSTANCE_RETIREMENT_SCHEDULED",
                "affectedEntities": [{"entityValue": "i-1"}],
            },
        ),
    ],
)
def test_events_are_written_as_aws_writes_them(
    kind: interruption.Kind, source: str, detail_type: str, detail: dict[str, Any]
) -> None:
    told = interruption.event(kind, "i-1", account_id="1", region="us-west-2")
    assert (told["source"], told["detail-type"], told["detail"]) == (source, detail_type, detail)
    assert told["resources"] == ["arn:aws:ec2:us-west-2:1:instance/i-1"]
