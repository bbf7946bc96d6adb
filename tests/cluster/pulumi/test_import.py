"""Things that somebody made in AWS by hand are taken over by a program, of every kind that the stand-in has.

An inline program through the Automation API, whose options name what exists already.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pulumi
import pulumi_aws as aws
import pytest
from pulumi import automation

from testbed.aws import Aws, start_aws
from testbed.processes import Processes
from testbed.pulumi.aws_standin.kinds import KINDS
from testbed.pulumi.engine import Engine
from testbed.pulumi.inline import inline_stack
from testbed.state import State

TAGS = {"owner": "somebody"}
TRUST = json.dumps(
    {
        "Version": "2012-10-17",
        "Statement": [
            {"Effect": "Allow", "Principal": {"Service": "ec2.amazonaws.com"}, "Action": "sts:AssumeRole"},
        ],
    }
)
READS = json.dumps(
    {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "ec2:DescribeInstances", "Resource": "*"}]}
)
SENDS = json.dumps(
    {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Effect": "Allow",
                "Principal": {"Service": "events.amazonaws.com"},
                "Action": "sqs:SendMessage",
                "Resource": "*",
            },
        ],
    }
)
PATTERN = json.dumps({"source": ["aws.ec2"]})


@dataclass(frozen=True)
class Existing:
    """Ids by which the provider finds what was made by hand."""

    policy: str
    service_role: str
    queue: str
    association: str
    role_arn: str
    queue_arn: str


@dataclass(frozen=True)
class Taken:
    """What happened to it."""

    events: list[Any]
    second: automation.PreviewResult
    roles_after: list[str]


def _by_hand(cloud: Aws) -> Existing:
    iam, sqs, events, eks = (cloud.client(service) for service in ("iam", "sqs", "events", "eks"))
    tags = [{"Key": key, "Value": value} for key, value in TAGS.items()]
    role = iam.create_role(RoleName="old", AssumeRolePolicyDocument=TRUST, Description="By hand", Tags=tags)["Role"]
    policy = iam.create_policy(PolicyName="old", PolicyDocument=READS, Tags=tags)["Policy"]["Arn"]
    iam.attach_role_policy(RoleName="old", PolicyArn=policy)
    spot = iam.create_service_linked_role(AWSServiceName="spot.amazonaws.com")["Role"]["Arn"]
    queue = sqs.create_queue(QueueName="old", Attributes={"MessageRetentionPeriod": "300"}, tags=TAGS)["QueueUrl"]
    queue_arn = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    sqs.set_queue_attributes(QueueUrl=queue, Attributes={"Policy": SENDS})
    events.put_rule(Name="old", EventPattern=PATTERN, Description="By hand", Tags=tags)
    events.put_targets(Rule="old", Targets=[{"Id": "karpenter", "Arn": queue_arn}])
    eks.create_access_entry(clusterName="testbed", principalArn=role["Arn"], type="EC2_LINUX", tags=TAGS)
    association = eks.create_pod_identity_association(
        clusterName="testbed", namespace="kube-system", serviceAccount="old", roleArn=role["Arn"], tags=TAGS
    )["association"]["associationId"]
    return Existing(policy, spot, queue, association, role["Arn"], queue_arn)


def _program(existing: Existing) -> None:
    provider = aws.Provider("aws", region="us-west-2", allowed_account_ids=["123456789012"])

    def of(identity: str) -> pulumi.ResourceOptions:
        return pulumi.ResourceOptions(provider=provider, import_=identity)

    named: dict[str, Any] = {"name": "old", "tags": TAGS}
    role = aws.iam.Role("role", assume_role_policy=TRUST, description="By hand", **named, opts=of("old"))
    aws.iam.Policy("policy", policy=READS, **named, opts=of(existing.policy))
    aws.iam.RolePolicyAttachment(
        "attachment", role=role.name, policy_arn=existing.policy, opts=of(f"old/{existing.policy}")
    )
    aws.iam.ServiceLinkedRole("spot", aws_service_name="spot.amazonaws.com", opts=of(existing.service_role))
    aws.sqs.Queue(
        "queue",
        message_retention_seconds=300,
        sqs_managed_sse_enabled=True,
        region="us-west-2",
        **named,
        opts=of(existing.queue),
    )
    aws.sqs.QueuePolicy(
        "queue-policy", queue_url=existing.queue, policy=SENDS, region="us-west-2", opts=of(existing.queue)
    )
    rule = aws.cloudwatch.EventRule(
        "rule", event_pattern=PATTERN, description="By hand", region="us-west-2", **named, opts=of("old")
    )
    aws.cloudwatch.EventTarget(
        "target",
        rule=rule.name,
        target_id="karpenter",
        arn=existing.queue_arn,
        region="us-west-2",
        opts=of("old-karpenter"),
    )
    aws.eks.AccessEntry(
        "access",
        cluster_name="testbed",
        principal_arn=role.arn,
        type="EC2_LINUX",
        region="us-west-2",
        tags=TAGS,
        opts=of(f"testbed:{existing.role_arn}"),
    )
    aws.eks.PodIdentityAssociation(
        "identity",
        cluster_name="testbed",
        namespace="kube-system",
        service_account="old",
        role_arn=role.arn,
        region="us-west-2",
        tags=TAGS,
        opts=of(f"testbed,{existing.association}"),
    )


@pytest.fixture(scope="module")
def taken() -> Iterator[Taken]:
    with State() as state, Processes(state) as processes:
        cloud = start_aws(state, processes, cluster_name="testbed")
        existing, engine = _by_hand(cloud), Engine(state, None, cloud)
        stack = inline_stack(engine, "taking-over", lambda: _program(existing))
        happened: list[Any] = []
        stack.up(on_event=happened.append)
        second = stack.preview()
        stack.destroy()
        roles = [role["RoleName"] for role in cloud.client("iam").list_roles()["Roles"]]
        yield Taken(happened, second, roles)


def test_every_kind_is_taken_over_and_none_is_made(taken: Taken) -> None:
    done = {
        event.res_outputs_event.metadata.type: str(event.res_outputs_event.metadata.op.value)
        for event in taken.events
        if event.res_outputs_event and event.res_outputs_event.metadata.type.startswith("aws:")
    }
    assert done == dict.fromkeys(KINDS, "import")


def test_they_then_are_what_the_program_says(taken: Taken) -> None:
    # The stack and the provider are two more.
    assert {str(op): count for op, count in taken.second.change_summary.items()} == {"same": len(KINDS) + 2}


def test_what_was_taken_over_goes_with_the_stack(taken: Taken) -> None:
    assert "old" not in taken.roles_after
    assert "AWSServiceRoleForEC2Spot" not in taken.roles_after
