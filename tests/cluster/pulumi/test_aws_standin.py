"""The stand-in for the AWS provider under the real engine: tags of the provider, secrets, and what it refuses."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pulumi
import pulumi_aws as aws
import pytest
from pulumi import automation

from testbed.aws import Aws, start_aws
from testbed.processes import Processes
from testbed.pulumi.engine import Engine
from testbed.pulumi.inline import inline_stack
from testbed.state import State

TRUST = json.dumps(
    {
        "Version": "2012-10-17",
        "Statement": [{"Effect": "Allow", "Principal": {"Service": "ec2.amazonaws.com"}, "Action": "sts:AssumeRole"}],
    }
)
SECRET_MARK = "4dabf18193072939515e22adb298388d"
"""What the engine writes instead of a value that it keeps encrypted."""


@pytest.fixture(scope="module")
def world() -> Iterator[tuple[Aws, Engine]]:
    with State() as state, Processes(state) as processes:
        cloud = start_aws(state, processes, cluster_name="testbed")
        yield cloud, Engine(state, None, cloud)


def provider(**given: Any) -> pulumi.ResourceOptions:
    allowed = given.pop("allowed_account_ids", ["123456789012"])
    return pulumi.ResourceOptions(
        provider=aws.Provider("aws", region="us-west-2", allowed_account_ids=allowed, **given)
    )


def test_the_providers_default_tags_are_on_everything_and_follow_it(world: tuple[Aws, Engine]) -> None:
    cloud, engine = world
    owner = "one"

    def program() -> None:
        opts = provider(default_tags={"tags": {"owner": owner, "stage": "test"}})
        aws.iam.Role("role", name="tagged", assume_role_policy=TRUST, tags={"stage": "own"}, opts=opts)

    def tags() -> dict[str, str]:
        found = cloud.client("iam").get_role(RoleName="tagged")["Role"]["Tags"]
        return {tag["Key"]: tag["Value"] for tag in found}

    stack = inline_stack(engine, "default-tags", program)
    stack.up()
    first, owner = tags(), "two"
    changes = stack.up().summary.resource_changes
    second = tags()
    stack.destroy()
    assert (first, second) == ({"owner": "one", "stage": "own"}, {"owner": "two", "stage": "own"})
    assert changes == {"same": 1, "update": 2}, "the provider and the role"


def test_a_secret_input_is_kept_as_a_secret_also_where_aws_answers_with_it(world: tuple[Aws, Engine]) -> None:
    _, engine = world

    def program() -> None:
        aws.iam.Role(
            "role",
            name="hidden",
            assume_role_policy=TRUST,
            description=pulumi.Output.secret("not for everybody"),
            opts=provider(),
        )

    stack = inline_stack(engine, "secrets", program)
    stack.up()
    # The Automation API's own export shows secrets.
    state = engine.run("stack", "export", "--stack", "dev", folder=Path(stack.workspace.work_dir)).stdout
    stack.destroy()
    (role,) = (one for one in json.loads(state)["deployment"]["resources"] if one["type"] == "aws:iam/role:Role")
    assert SECRET_MARK in role["inputs"]["description"] and SECRET_MARK in role["outputs"]["description"]
    assert "not for everybody" not in state


def test_a_role_that_somebody_attached_a_policy_to_is_not_deleted_until_it_is_taken_off(
    world: tuple[Aws, Engine],
) -> None:
    cloud, engine = world
    stack = inline_stack(
        engine, "attached", lambda: aws.iam.Role("role", name="shared", assume_role_policy=TRUST, opts=provider())
    )
    stack.up()
    named = {"RoleName": "shared", "PolicyArn": "arn:aws:iam::aws:policy/AmazonEKSWorkerNodePolicy"}
    cloud.client("iam").attach_role_policy(**named)
    with pytest.raises(automation.CommandError, match="DeleteConflict"):
        stack.destroy()
    cloud.client("iam").detach_role_policy(**named)
    assert stack.destroy().summary.resource_changes == {"delete": 3}


def _a_bucket() -> None:
    aws.s3.Bucket("bucket", opts=provider())


def _a_delay() -> None:
    aws.sqs.Queue("queue", name="slow", delay_seconds=5, opts=provider())


def _somebody_elses_account() -> None:
    aws.sqs.Queue("queue", name="theirs", opts=provider(allowed_account_ids=["999999999999"]))


@pytest.mark.parametrize(
    ("program", "said"),
    [
        (_a_bucket, "resource type aws:s3/bucket:Bucket: not among those of the stand-in"),
        (_a_delay, "is not among those that the stand-in knows for aws:sqs/queue:Queue"),
        (_somebody_elses_account, "AWS account ID not allowed: 123456789012"),
    ],
)
def test_what_it_does_not_know_and_a_wrong_account_are_refused(
    world: tuple[Aws, Engine], program: Callable[[], None], said: str
) -> None:
    with pytest.raises(automation.CommandError) as caught:
        inline_stack(world[1], f"refused{program.__name__.replace('_', '-')}", program).preview()
    assert said in str(caught.value)
