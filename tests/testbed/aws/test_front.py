"""Does the front correct what moto lacks? A test for each row of testbed/aws/README.md, against the running process."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError  # type: ignore[import-untyped]

from testbed.aws import Aws, start_aws
from testbed.processes import Processes
from testbed.state import State

CLUSTER = "front-test"
ENDPOINT, AUTHORITY = "https://127.0.0.1:6443", base64.b64encode(b"a certificate").decode()
CHEAP, DEAR, METAL = "m6id.large", "r6id.large", "m6id.metal"
PRICES = """
var InitialOnDemandPricesAWS = map[string]map[ec2types.InstanceType]float64{
	// us-east-1
	"us-east-1": {
		// m6id family
		"m6id.large": 0.118650, "m6id.metal": 7.593600,
		// r6id family
		"r6id.large": 0.151200,
	},
	"cn-north-1": {
		"m6id.large": 5.000000,
	},
}
"""


@pytest.fixture(scope="module")
def aws() -> Iterator[Aws]:
    with State() as state, Processes(state) as processes:
        prices = state.path("prices.go")
        prices.write_text(PRICES)
        yield start_aws(
            state,
            processes,
            cluster_name=CLUSTER,
            account="111122223333",
            region="eu-central-1",
            cluster_endpoint=ENDPOINT,
            certificate_authority=AUTHORITY,
            price_table=prices,
        )


def image(aws: Aws) -> str:
    name = "/aws/service/eks/optimized-ami/1.36/amazon-linux-2023/x86_64/standard/recommended/image_id"
    return str(aws.client("ssm").get_parameter(Name=name)["Parameter"]["Value"])


def template(aws: Aws, name: str, user_data: bytes = b"#!/bin/sh\n") -> str:
    """A launch template shaped as Karpenter's are."""
    aws.client("ec2").create_launch_template(
        LaunchTemplateName=name,
        LaunchTemplateData={
            "ImageId": image(aws),
            "UserData": base64.b64encode(user_data).decode(),
            "NetworkInterfaces": [{"DeviceIndex": 0, "Groups": [aws.network.security_group]}],
        },
    )
    return name


def launch(aws: Aws, name: str, *, capacity: str = "on-demand", kinds: tuple[str, ...] = (DEAR, CHEAP)) -> Any:
    """A fleet as Karpenter asks for it: pools in any order, with their price as priority."""
    prices = {CHEAP: 0.11865, DEAR: 0.1512}
    zones = zip(aws.account.zones, aws.network.subnets, strict=True)
    overrides = [
        {"InstanceType": kind, "SubnetId": subnet, "AvailabilityZone": zone, "Priority": prices[kind]}
        for zone, subnet in zones
        for kind in kinds
    ]
    return aws.client("ec2").create_fleet(
        Type="instant",
        LaunchTemplateConfigs=[
            {
                "LaunchTemplateSpecification": {"LaunchTemplateName": name, "Version": "$Latest"},
                "Overrides": overrides,
            }
        ],
        TargetCapacitySpecification={"TotalTargetCapacity": 1, "DefaultTargetCapacityType": capacity},
    )


def launched(answer: Any) -> tuple[str, str]:
    """Type and id of the one instance in a fleet's answer."""
    [found] = answer["Instances"]
    return found["InstanceType"], found["InstanceIds"][0]


def test_images_have_an_architecture_and_eks_names(aws: Aws) -> None:
    found = aws.client("ec2").describe_images(ImageIds=[image(aws)])["Images"]
    wanted = ("Architecture", "Name", "ImageOwnerAlias", "CreationDate")
    assert [{key: one[key] for key in wanted} for one in found] == [
        {
            "Architecture": "x86_64",
            "Name": "amazon-eks-node-al2023-x86_64-standard-1.36-v20260901",
            "ImageOwnerAlias": "amazon",
            "CreationDate": "2026-09-01T00:00:00.000Z",
        }
    ]


def test_ssm_knows_the_images_that_eks_publishes(aws: Aws) -> None:
    ssm, ec2 = aws.client("ssm"), aws.client("ec2")
    prefix = "/aws/service/eks/optimized-ami/1.34/amazon-linux-2023/arm64/standard"
    pinned = "amazon-eks-node-al2023-arm64-standard-1.34-v20260714"
    found = ssm.get_parameter(Name=f"{prefix}/{pinned}/image_id")["Parameter"]["Value"]
    assert ec2.describe_images(ImageIds=[found])["Images"][0]["Name"] == pinned
    with pytest.raises(ssm.exceptions.ParameterNotFound):
        ssm.get_parameter(Name=f"{prefix}/amazon-eks-node-al2023-arm64-standard-1.34-v20200101/image_id")


def test_a_fleet_takes_the_cheapest_pool(aws: Aws) -> None:
    kind, identity = launched(launch(aws, template(aws, "cheapest")))
    assert (kind, aws.instance(identity)["InstanceType"]) == (CHEAP, CHEAP)
    assert aws.launch_template_of(identity).name == "cheapest"


def test_a_fleet_passes_over_what_has_no_capacity(aws: Aws) -> None:
    name = template(aws, "starved")
    aws.starve(CHEAP, aws.account.zones[0])
    aws.starve(CHEAP, aws.account.zones[1])
    aws.starve(CHEAP, aws.account.zones[2])
    try:
        answer = launch(aws, name)
        assert launched(answer)[0] == DEAR
        errors = {
            (one["ErrorCode"], one["Lifecycle"], one["LaunchTemplateAndOverrides"]["Overrides"]["AvailabilityZone"])
            for one in answer["Errors"]
        }
        assert errors == {("InsufficientInstanceCapacity", "on-demand", zone) for zone in aws.account.zones}
        aws.starve()
        nothing = launch(aws, name)
        assert (nothing.get("Instances", []), len(nothing["Errors"])) == ([], 6)
    finally:
        aws.feed()
    assert launched(launch(aws, name))[0] == CHEAP


def test_a_fleet_puts_the_templates_security_groups_on_its_instances(aws: Aws) -> None:
    _, identity = launched(launch(aws, template(aws, "groups")))
    groups = [group["GroupId"] for group in aws.instance(identity)["SecurityGroups"]]
    assert groups == [aws.network.security_group]


def test_user_data_above_16_kib_is_refused(aws: Aws) -> None:
    template(aws, "largest", b"#" * 16384)
    with pytest.raises(ClientError) as refused:
        template(aws, "too-large", b"#" * 16385)
    assert refused.value.response["Error"]["Code"] == "InvalidUserData.Malformed"
    names = [found["LaunchTemplateName"] for found in aws.client("ec2").describe_launch_templates()["LaunchTemplates"]]
    assert ("largest" in names, "too-large" in names) == (True, False)


def test_a_launch_template_is_kept_when_it_is_deleted(aws: Aws) -> None:
    user_data = b"#!/bin/sh\necho \xc3\xa9\n"
    _, identity = launched(launch(aws, template(aws, "deleted", user_data)))
    aws.client("ec2").delete_launch_template(LaunchTemplateName="deleted")
    kept = aws.launch_template_of(identity)
    assert (kept.user_data, kept.fields["LaunchTemplateData.ImageId"]) == (user_data, image(aws))


def test_an_instance_may_be_asked_for_twice(aws: Aws) -> None:
    _, identity = launched(launch(aws, template(aws, "twice")))
    found = aws.client("ec2").describe_instances(InstanceIds=[identity, identity])["Reservations"]
    assert [one["InstanceId"] for reservation in found for one in reservation["Instances"]] == [identity]


def test_a_spot_instance_tells_its_request(aws: Aws) -> None:
    name = template(aws, "spot")
    _, spot = launched(launch(aws, name, capacity="spot"))
    _, on_demand = launched(launch(aws, name))
    assert re.fullmatch("sir-[0-9a-f]{8}", aws.instance(spot)["SpotInstanceRequestId"])
    assert "SpotInstanceRequestId" not in aws.instance(on_demand)


def test_a_dry_run_of_instance_types_says_so(aws: Aws) -> None:
    with pytest.raises(ClientError) as refused:
        aws.client("ec2").describe_instance_types(DryRun=True)
    assert refused.value.response["Error"]["Code"] == "DryRunOperation"


def test_instance_types_are_read_once(aws: Aws) -> None:
    ec2 = aws.client("ec2")
    first, second = (ec2.describe_instance_types(InstanceTypes=[CHEAP])["InstanceTypes"] for _ in range(2))
    assert first == second
    assert first[0]["InstanceStorageInfo"]["TotalSizeInGB"] == 118
    assert ec2.describe_instance_types(InstanceTypes=[DEAR])["InstanceTypes"][0]["InstanceType"] == DEAR


def test_spot_costs_a_share_of_on_demand(aws: Aws) -> None:
    history = aws.client("ec2").describe_spot_price_history(InstanceTypes=[CHEAP, DEAR])["SpotPriceHistory"]
    assert {(one["InstanceType"], one["SpotPrice"]) for one in history} == {(CHEAP, "0.041528"), (DEAR, "0.052920")}


def test_prices_are_karpenters_own(aws: Aws) -> None:
    families = ("Compute Instance", "Compute Instance (bare metal)")
    found = [
        (product["product"]["attributes"]["instanceType"], dimension["pricePerUnit"])
        for family in families
        for text in aws.client("pricing").get_products(
            ServiceCode="AmazonEC2", Filters=[{"Type": "TERM_MATCH", "Field": "productFamily", "Value": family}]
        )["PriceList"]
        for product in [json.loads(text)]
        for term in product["terms"]["OnDemand"].values()
        for dimension in term["priceDimensions"].values()
    ]
    assert found == [
        (CHEAP, {"USD": "0.1186500000"}),
        (DEAR, {"USD": "0.1512000000"}),
        (METAL, {"USD": "7.5936000000"}),
    ]


def test_eks_tells_the_endpoint_of_the_control_plane(aws: Aws) -> None:
    cluster = aws.client("eks").describe_cluster(name=CLUSTER)["cluster"]
    assert (cluster["endpoint"], cluster["certificateAuthority"], cluster["arn"]) == (
        ENDPOINT,
        {"data": AUTHORITY},
        f"arn:aws:eks:eu-central-1:111122223333:cluster/{CLUSTER}",
    )


def test_an_interruption_arrives_only_by_a_rule_with_a_target(aws: Aws) -> None:
    sqs, events = aws.client("sqs"), aws.client("events")
    url = sqs.create_queue(QueueName="interruptions")["QueueUrl"]
    queue = "arn:aws:sqs:eu-central-1:111122223333:interruptions"
    assert aws.interrupt("spot", "i-1") == []

    pattern = {"source": ["aws.ec2"], "detail-type": ["EC2 Spot Instance Interruption Warning"]}
    rule = events.put_rule(Name="spot", EventPattern=json.dumps(pattern))["RuleArn"]
    assert aws.interrupt("spot", "i-2") == []
    events.put_targets(Rule="spot", Targets=[{"Id": "queue", "Arn": queue}])
    assert aws.interrupt("spot", "i-3") == []

    statement = {
        "Effect": "Allow",
        "Principal": {"Service": "events.amazonaws.com"},
        "Action": "sqs:SendMessage",
        "Resource": queue,
        "Condition": {"ArnEquals": {"aws:SourceArn": rule}},
    }
    policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    sqs.set_queue_attributes(QueueUrl=url, Attributes={"Policy": policy})
    assert aws.interrupt("rebalance", "i-4") == []
    assert [delivery.queue for delivery in aws.interrupt("spot", "i-5")] == [queue]
    events.disable_rule(Name="spot")
    assert aws.interrupt("spot", "i-6") == []

    messages = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10)["Messages"]
    assert [json.loads(message["Body"])["detail"] for message in messages] == [
        {"instance-id": "i-5", "instance-action": "terminate"}
    ]


def test_access_entries_are_kept_and_never_made_twice(aws: Aws) -> None:
    eks = aws.client("eks")
    principal = "arn:aws:iam::111122223333:role/path/node"
    made = eks.create_access_entry(clusterName=CLUSTER, principalArn=principal, type="EC2_LINUX")["accessEntry"]
    assert eks.describe_access_entry(clusterName=CLUSTER, principalArn=principal)["accessEntry"] == made
    assert (made["type"], made["accessEntryArn"].rpartition("/")[0]) == (
        "EC2_LINUX",
        f"arn:aws:eks:eu-central-1:111122223333:access-entry/{CLUSTER}/node",
    )
    with pytest.raises(eks.exceptions.ResourceInUseException):
        eks.create_access_entry(clusterName=CLUSTER, principalArn=principal)
    eks.update_access_entry(clusterName=CLUSTER, principalArn=principal, kubernetesGroups=["a"])
    assert eks.describe_access_entry(clusterName=CLUSTER, principalArn=principal)["accessEntry"][
        "kubernetesGroups"
    ] == ["a"]
    assert eks.list_access_entries(clusterName=CLUSTER)["accessEntries"] == [principal]
    eks.delete_access_entry(clusterName=CLUSTER, principalArn=principal)
    with pytest.raises(eks.exceptions.ResourceNotFoundException):
        eks.describe_access_entry(clusterName=CLUSTER, principalArn=principal)
    with pytest.raises(eks.exceptions.ResourceNotFoundException):
        eks.create_access_entry(clusterName="elsewhere", principalArn=principal)


def test_pod_identity_associations_are_one_a_service_account(aws: Aws) -> None:
    eks = aws.client("eks")
    wanted = {"clusterName": CLUSTER, "namespace": "kube-system", "serviceAccount": "karpenter"}
    made = eks.create_pod_identity_association(**wanted, roleArn="arn:aws:iam::111122223333:role/a")["association"]
    with pytest.raises(eks.exceptions.ResourceInUseException):
        eks.create_pod_identity_association(**wanted, roleArn="arn:aws:iam::111122223333:role/b")
    named = {"clusterName": CLUSTER, "associationId": made["associationId"]}
    eks.update_pod_identity_association(**named, roleArn="arn:aws:iam::111122223333:role/c")
    found = eks.describe_pod_identity_association(**named)["association"]
    assert {**found, "modifiedAt": made["modifiedAt"]} == {**made, "roleArn": "arn:aws:iam::111122223333:role/c"}
    [listed] = eks.list_pod_identity_associations(clusterName=CLUSTER)["associations"]
    assert listed["associationArn"] == made["associationArn"]
    eks.delete_pod_identity_association(**named)
    assert eks.list_pod_identity_associations(clusterName=CLUSTER)["associations"] == []


def test_tags_of_what_the_front_holds_are_put_on_and_taken_off(aws: Aws) -> None:
    eks = aws.client("eks")
    principal = "arn:aws:iam::111122223333:role/path/tagged"
    named = {"clusterName": CLUSTER, "principalArn": principal}
    arn = eks.create_access_entry(**named, tags={"a": "1", "b": "2"})["accessEntry"]["accessEntryArn"]
    eks.tag_resource(resourceArn=arn, tags={"b": "3", "c": "4"})
    eks.untag_resource(resourceArn=arn, tagKeys=["a"])
    assert eks.describe_access_entry(**named)["accessEntry"]["tags"] == {"b": "3", "c": "4"}
    eks.delete_access_entry(**named)


def test_addons_are_active_at_once(aws: Aws) -> None:
    eks = aws.client("eks")
    named = {"clusterName": CLUSTER, "addonName": "eks-pod-identity-agent"}
    assert eks.create_addon(**named, addonVersion="v1.3.0-eksbuild.1")["addon"]["status"] == "ACTIVE"
    eks.update_addon(**named, addonVersion="v1.3.1-eksbuild.1")
    assert eks.describe_addon(**named)["addon"]["addonVersion"] == "v1.3.1-eksbuild.1"
    assert eks.list_addons(clusterName=CLUSTER)["addons"] == ["eks-pod-identity-agent"]
    eks.delete_addon(**named)
    assert eks.list_addons(clusterName=CLUSTER)["addons"] == []


def test_calls_say_who_asked_what(aws: Aws) -> None:
    aws.client("ec2", caller="somebody").describe_subnets(SubnetIds=[aws.network.subnets[0]])
    aws.client("eks", caller="somebody").describe_cluster(name=CLUSTER)
    with pytest.raises(ClientError):
        aws.client("iam", caller="somebody").get_role(RoleName="nobody")
    found = [(call.service, call.action, call.status, call.error, call.front) for call in aws.calls("somebody")]
    assert found == [
        ("ec2", "DescribeSubnets", 200, "", False),
        ("eks", "DescribeCluster", 200, "", True),
        ("iam", "GetRole", 404, "NoSuchEntity", False),
    ]
    assert [call.parameters.get("SubnetId.1") or call.parameters.get("name") for call in aws.calls("somebody")] == [
        aws.network.subnets[0],
        CLUSTER,
        None,
    ]


def test_every_row_of_the_readme_names_a_test_here() -> None:
    here = Path(__file__)
    readme = (here.parents[3] / "testbed" / "aws" / "README.md").read_text()
    rows = [line for line in readme.splitlines() if line.startswith("| ") and "`test_" in line]
    defined = set(re.findall(r"^def (test_\w+)", here.read_text(), flags=re.MULTILINE))
    named = {name for row in rows for name in re.findall(r"`(test_\w+)`", row)}
    assert (len(rows), named - defined) == (15, set())
