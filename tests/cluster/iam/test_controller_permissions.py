"""May Karpenter do all that it does, by the documents that our component gives it, and are those documents sound?

Every call of a real run is held against the documents: launch, tagging, interruption, drift, termination, profiles.
Conditions are evaluated as far as the request and the tags of resources settle them; the rest is printed.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import boto3  # type: ignore[import-untyped]
import pytest
from moto import mock_aws

from components.controller_policies import MANAGED_POLICY_LIMIT, documents, policy_length
from components.pool_objects import node_class
from testbed.aws.calls import Call
from testbed.aws.needs import Account, needs, tags_by_kind
from testbed.aws.permissions import Need, Tags, Verdict, verdict
from tests.cluster.karpenter.bed import ACCOUNT, INSTALLATION, REGION, VERSIONS, Bed, karpenter_bed, pod, swap_pool

POLICIES = documents(INSTALLATION.policy_scope)

MUST_BE_SEEN = {
    "ec2:CreateFleet",
    "ec2:CreateLaunchTemplate",
    "ec2:CreateTags",
    "ec2:DeleteLaunchTemplate",
    "ec2:DescribeImages",
    "ec2:DescribeInstanceStatus",
    "ec2:DescribeInstanceTypeOfferings",
    "ec2:DescribeInstanceTypes",
    "ec2:DescribeInstances",
    "ec2:DescribeLaunchTemplates",
    "ec2:DescribeSecurityGroups",
    "ec2:DescribeSpotPriceHistory",
    "ec2:DescribeSubnets",
    "ec2:RunInstances",
    "ec2:TerminateInstances",
    "eks:DescribeCluster",
    "iam:AddRoleToInstanceProfile",
    "iam:CreateInstanceProfile",
    "iam:DeleteInstanceProfile",
    "iam:GetInstanceProfile",
    "iam:ListInstanceProfiles",
    "iam:PassRole",
    "iam:RemoveRoleFromInstanceProfile",
    "iam:TagInstanceProfile",
    "pricing:GetProducts",
    "sqs:DeleteMessage",
    "sqs:GetQueueUrl",
    "sqs:ReceiveMessage",
    "ssm:GetParameter",
}
NOT_SEEN = {
    "arc-zonal-shift:GetManagedResource": "only with zonal shift, which moto does not know",
    "ec2:DescribeCapacityReservations": "only for pools that select reservations; ours do not",
    "ec2:DescribePlacementGroups": "only for pools that select placement groups; ours do not",
}
"""Granted actions that the run does not need, with the reason."""


@dataclass(frozen=True)
class Run:
    """What Karpenter asked for in a run, and the tags of what it made."""

    calls: list[Call]
    account: Account


@pytest.fixture(scope="module")
def run() -> Iterator[Run]:
    with karpenter_bed() as bed:
        pool = bed.apply(swap_pool("swap", families=["m6id"], vcpus=[2], capacity_types=["spot", "on-demand"]))
        [job] = bed.run(pod("job", pool, "1Gi"))
        first = bed.claim_of(job)
        bed.initialized(first)
        # Drift: an edit replaces the node.
        edited = swap_pool("swap", families=["m6id"], vcpus=[2], tags={"team": "maps"})
        bed.api.must_apply(node_class(edited, VERSIONS, INSTALLATION.node_role))
        bed.until("the node is replaced", lambda: first["metadata"]["name"] not in names(bed, edited))
        # Interruption: a message ends the node of the next job.
        [job] = bed.run(pod("next", edited, "1Gi"))
        claim = bed.claim_of(job)
        assert bed.aws.interrupt("spot", claim["status"]["providerID"].rpartition("/")[2])
        bed.until("the node is gone", lambda: claim["metadata"]["name"] not in names(bed, edited))
        bed.remove(edited)
        yield Run(bed.aws.calls("karpenter"), Account(ACCOUNT, REGION, INSTALLATION.node_role, tags_of(bed)))


def names(bed: Bed, pool: Any) -> list[str]:
    return [claim["metadata"]["name"] for claim in bed.claims(pool)]


def tags_of(bed: Bed) -> Callable[[str], Tags | None]:
    """Tags by ARN of instances (moto keeps ended ones), of launch templates, and of instance profiles as created."""
    found: dict[str, Tags] = {}
    for template in bed.aws.launch_templates():
        tags = tags_by_kind(template.fields).get("launch-template", {})
        found[f"arn:aws:ec2:{REGION}:{ACCOUNT}:launch-template/{template.name}"] = tags
    for reservation in bed.aws.client("ec2").describe_instances()["Reservations"]:
        for instance in reservation["Instances"]:
            tags = {tag["Key"]: tag["Value"] for tag in instance["Tags"]}
            found[f"arn:aws:ec2:{REGION}:{ACCOUNT}:instance/{instance['InstanceId']}"] = tags
    for call in bed.aws.calls("karpenter"):
        if call.action == "CreateInstanceProfile":
            [need, *_] = needs(call, Account(ACCOUNT, REGION, INSTALLATION.node_role))
            name = call.parameters["InstanceProfileName"]
            found[f"arn:aws:iam::{ACCOUNT}:instance-profile/{name}"] = need.request_tags or {}
    return found.get


def verdicts(run: Run) -> dict[Need, Verdict]:
    return {need: verdict(POLICIES.values(), need) for call in run.calls for need in needs(call, run.account)}


def test_the_run_needs_every_kind_of_call_that_a_pool_leads_to(run: Run) -> None:
    seen = {need.action for need in verdicts(run)}
    assert seen == MUST_BE_SEEN


def test_every_call_is_granted(run: Run) -> None:
    found = verdicts(run)
    refused = {f"{need.action} on {need.resource}" for need, said in found.items() if not said.granted}
    unsettled = {
        f"{need.action} on {need.resource}: {', '.join(said.unsettled)}"
        for need, said in found.items()
        if said.granted and said.unsettled
    }
    print(f"{len(run.calls)} calls need {len(found)} permissions; all conditions are settled but these:")
    for line in sorted(unsettled):
        print("  " + line)
    assert refused == set()
    # Which tags EC2 sees on a spot request of a fleet is not documented.
    spot = f"ec2:RunInstances on arn:aws:ec2:{REGION}:{ACCOUNT}:spot-instances-request/new"
    assert {line.partition(": aws")[0] for line in unsettled} == {spot}


def test_without_a_statement_the_calls_it_is_for_are_refused(run: Run) -> None:
    """Each statement is needed by a call of the run or stands in the list of those that are not."""
    wanted = verdicts(run)
    idle = set()
    for short, text in POLICIES.items():
        for statement in json.loads(text)["Statement"]:
            others = [one for one in json.loads(text)["Statement"] if one != statement]
            without = {**POLICIES, short: json.dumps({"Statement": others})}
            if all(verdict(without.values(), need).granted for need in wanted):
                idle.add(statement["Sid"])
    assert idle == {"AllowZonalShiftStatusReadOnly"}


def test_granted_actions_that_no_call_needs_are_known(run: Run) -> None:
    granted = {
        action
        for text in POLICIES.values()
        for statement in json.loads(text)["Statement"]
        for action in ([statement["Action"]] if isinstance(statement["Action"], str) else statement["Action"])
    }
    assert granted - {need.action for need in verdicts(run)} == set(NOT_SEEN)


def test_iam_takes_every_document() -> None:
    """By moto's check of a document's grammar, and by IAM's limit, which moto does not know."""
    with mock_aws():
        iam = boto3.client("iam", region_name=REGION, aws_access_key_id="a", aws_secret_access_key="b")
        for short, text in POLICIES.items():
            made = iam.create_policy(PolicyName=INSTALLATION.policy_name(short), PolicyDocument=text)["Policy"]
            kept = iam.get_policy_version(PolicyArn=made["Arn"], VersionId="v1")["PolicyVersion"]["Document"]
            assert kept == json.loads(text)
        broken = POLICIES["EKSIntegration"].replace("eks:DescribeCluster", "describe the cluster")
        with pytest.raises(iam.exceptions.MalformedPolicyDocumentException):
            iam.create_policy(PolicyName="broken", PolicyDocument=broken)
    assert {short: policy_length(text) <= MANAGED_POLICY_LIMIT for short, text in POLICIES.items()} == dict.fromkeys(
        POLICIES, True
    )


EXPLAINED = {
    ("NodeLifecycle", "RESOURCE_MISMATCH"): "the resource types of a launch are split over three statements, since "
    "only some can carry tags (upstream's template does the same)",
    ("ResourceDiscovery", "RESOURCE_MISMATCH"): "parameters that AWS publishes have no account in their ARN",
    ("ZonalShift", "RESOURCE_STAR"): "the action takes the cluster in a condition, not as a resource",
}


def test_the_linter_finds_nothing_that_is_not_explained() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import parliament
    found = {
        (short, finding.issue)
        for short, text in POLICIES.items()
        for finding in parliament.analyze_policy_string(text).findings
    }
    for key in sorted(found):
        print(*key, EXPLAINED.get(key, "NOT EXPLAINED"), sep=": ")
    assert found == set(EXPLAINED)
