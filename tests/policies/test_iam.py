"""Rules about IAM documents, in every place where a document may stand."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given as for_all
from hypothesis import settings
from hypothesis import strategies as st
from pulumi_policy.proxy import UNKNOWN_STRING_VALUE as UNKNOWN

from components.cloud_names import Place
from components.controller_policies import PolicyScope, controller_policies
from components.controller_trust import node_trust, pod_identity_trust
from components.interruption import queue_policy
from policies.rules.iam import is_wildcard_resource, writes

POLICY, INLINE, ROLE = "aws:iam/policy:Policy", "aws:iam/rolePolicy:RolePolicy", "aws:iam/role:Role"
QUEUE_POLICY = "aws:sqs/queuePolicy:QueuePolicy"
NO_WILDCARD, FITS, SCOPED = "iam-no-wildcard-action", "iam-policy-fits", "iam-writes-are-scoped"
ADMINISTRATORS, DEPUTIES = "iam-no-administrators", "iam-services-act-for-somebody-known"
ARN = "arn:aws:sqs:eu-central-1:123456789012:events"


def document(*statements: Any) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": list(statements)})


def allow(action: Any, resource: Any = ARN, **more: Any) -> dict[str, Any]:
    return {"Sid": "S", "Effect": "Allow", "Action": action, "Resource": resource, **more}


def check(messages: list[str], words: list[str]) -> None:
    assert [word in message for message, word in zip(messages, words, strict=True)] == [True] * len(words), messages


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        (allow("sqs:ReceiveMessage"), []),
        (allow(["sqs:ReceiveMessage", "sqs:*"]), ["policy: S allows 'sqs:*'; name each action"]),
        (allow("*"), ["allows '*'"]),
        (allow("ec2:Describe*"), ["allows 'ec2:Describe*'"]),
        (allow("ec2:DescribeInstance?"), ["allows 'ec2:DescribeInstance?'"]),
        ({**allow("sqs:*"), "Effect": "Deny"}, []),
        ({"Effect": "Allow", "NotAction": "iam:*", "Resource": "*"}, ["Statement[0] allows everything but"]),
        ({"Effect": "Deny", "NotAction": "iam:*", "Resource": "*"}, []),
    ],
)
def test_no_action_is_a_wildcard(rules: Any, statement: dict[str, Any], words: list[str]) -> None:
    check(rules.on(NO_WILDCARD, POLICY, {"policy": document(statement)}), words)
    check(rules.on(NO_WILDCARD, POLICY, {"policy": json.dumps({"Statement": statement})}), words)


@pytest.mark.parametrize(
    ("kind", "props", "where"),
    [
        (POLICY, {"policy": document(allow("*"))}, "policy"),
        (INLINE, {"policy": document(allow("*"))}, "policy"),
        ("aws:iam/userPolicy:UserPolicy", {"policy": document(allow("*"))}, "policy"),
        ("aws:iam/groupPolicy:GroupPolicy", {"policy": document(allow("*"))}, "policy"),
        (ROLE, {"assumeRolePolicy": document(allow("*"))}, "assumeRolePolicy"),
        (ROLE, {"inlinePolicies": [{"name": "a"}, {"policy": document(allow("*"))}]}, "inlinePolicies[1].policy"),
        (QUEUE_POLICY, {"policy": document(allow("*"))}, "policy"),
        ("aws:sqs/queue:Queue", {"policy": document(allow("*"))}, "policy"),
        ("aws:sns/topicPolicy:TopicPolicy", {"policy": document(allow("*"))}, "policy"),
        ("aws:s3/bucketPolicy:BucketPolicy", {"policy": document(allow("*"))}, "policy"),
    ],
)
def test_documents_are_found_wherever_they_stand(rules: Any, kind: str, props: dict[str, Any], where: str) -> None:
    check(rules.on(NO_WILDCARD, kind, props), [f"{where}: S allows '*'"])


@pytest.mark.parametrize(
    ("kind", "key", "most"),
    [(POLICY, "policy", 6144), (INLINE, "policy", 10240), (ROLE, "assumeRolePolicy", 2048)],
)
def test_a_document_may_be_as_long_as_iam_stores_and_no_longer(rules: Any, kind: str, key: str, most: int) -> None:
    frame = len("".join(document(allow("sqs:A", "")).split()))
    longest = document(allow("sqs:A", "r" * (most - frame)))
    assert rules.on(FITS, kind, {key: longest}) == []
    assert rules.on(FITS, kind, {key: longest.replace(" ", "   \n")}) == []
    too_long = document(allow("sqs:A", "r" * (most - frame + 1)))
    check(rules.on(FITS, kind, {key: too_long}), [f"of {most + 1} characters is over the {most}"])


@pytest.mark.parametrize("text", ["{", "[]", "1", '"text"', "not json", "[" * 100_000])
def test_a_text_that_is_no_document_is_said_once(rules: Any, text: str) -> None:
    check(rules.on(FITS, QUEUE_POLICY, {"policy": text}), ["is not a policy document in JSON"])
    assert rules.on(NO_WILDCARD, QUEUE_POLICY, {"policy": text}) == []
    assert rules.on(SCOPED, QUEUE_POLICY, {"policy": text}) == []


CONDITION = {"StringEquals": {"aws:RequestedRegion": "eu-central-1"}}


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        (allow("ec2:RunInstances", "*"), ["S allows ec2:RunInstances on '*' without a condition"]),
        (allow(["ec2:DescribeInstances", "iam:PassRole"], ["x", "*"]), ["S allows iam:PassRole on '*'"]),
        (allow(["a:A", "b:B", "c:C", "d:D"], "*"), ["S allows a:A, b:B, c:C, ... on '*'"]),
        (allow("sqs:SendMessage", "arn:aws:sqs:eu-central-1:1:*"), ["on 'arn:aws:sqs:eu-central-1:1:*'"]),
        (allow("ssm:GetParameter", "*"), ["S allows ssm:GetParameter"]),
        (allow("secretsmanager:GetSecretValue", "*"), ["secretsmanager:GetSecretValue"]),
        ({**allow("iam:PassRole"), "NotResource": "x", "Resource": []}, ["everything but its NotResource list"]),
        (allow("ec2:RunInstances", "*", Condition=CONDITION), []),
        (allow("ec2:RunInstances", "*", Condition={}), ["without a condition"]),
        (allow("ec2:RunInstances", "arn:aws:ec2:eu-central-1::image/*"), []),
        (allow(["ec2:DescribeInstances", "pricing:GetProducts", "iam:ListInstanceProfiles"], "*"), []),
        ({**allow("ec2:RunInstances", "*"), "Effect": "Deny"}, []),
        (allow("ec2:DescribeInstances", "*"), []),
    ],
)
def test_writing_is_scoped(rules: Any, statement: dict[str, Any], words: list[str]) -> None:
    check(rules.on(SCOPED, POLICY, {"policy": document(statement)}), words)


@pytest.mark.parametrize("principal", ["*", {"AWS": "*"}, {"AWS": ["arn:aws:iam::1:root", "*"]}])
def test_nothing_is_open_to_everybody(rules: Any, principal: Any) -> None:
    open_to_all = {"Sid": "S", "Effect": "Allow", "Action": "sqs:SendMessage", "Resource": ARN, "Principal": principal}
    check(rules.on(SCOPED, QUEUE_POLICY, {"policy": document(open_to_all)}), ["S allows everybody"])
    conditional = {**open_to_all, "Condition": CONDITION}
    assert rules.on(SCOPED, QUEUE_POLICY, {"policy": document(conditional)}) == []
    denied = {**open_to_all, "Effect": "Deny"}
    assert rules.on(SCOPED, QUEUE_POLICY, {"policy": document(denied)}) == []


@pytest.mark.parametrize(
    ("action", "writing"),
    [
        ("ec2:DescribeInstances", False),
        ("EC2:describeinstances", False),
        ("sqs:ReceiveMessage", True),
        ("kms:Decrypt", True),
        ("sts:AssumeRole", True),
        ("ssm:GetParameters", True),
        ("*", True),
        ("ec2", True),
    ],
)
def test_what_counts_as_writing(action: str, writing: bool) -> None:
    assert writes(action) is writing


@pytest.mark.parametrize(
    ("resource", "wild"),
    [("*", True), ("arn:aws:s3:::*", True), ("arn:aws:s3:::bucket/*", False), ("arn:aws:ec2:r:a:instance/*", False)],
)
def test_what_counts_as_every_resource(resource: str, wild: bool) -> None:
    assert is_wildcard_resource(resource) is wild


@pytest.mark.parametrize("name", ["AdministratorAccess", "PowerUserAccess", "IAMFullAccess"])
@pytest.mark.parametrize("partition", ["aws", "aws-cn", "aws-us-gov"])
@pytest.mark.parametrize(
    ("kind", "key"),
    [
        (ROLE, "managedPolicyArns"),
        ("aws:iam/rolePolicyAttachment:RolePolicyAttachment", "policyArn"),
        ("aws:iam/rolePolicyAttachmentsExclusive:RolePolicyAttachmentsExclusive", "policyArns"),
        ("aws:iam/policyAttachment:PolicyAttachment", "policyArn"),
        ("aws:iam/userPolicyAttachment:UserPolicyAttachment", "policyArn"),
        ("aws:iam/groupPolicyAttachment:GroupPolicyAttachment", "policyArn"),
    ],
)
def test_the_whole_account_is_attached_to_nothing(rules: Any, kind: str, key: str, partition: str, name: str) -> None:
    arn = f"arn:{partition}:iam::aws:policy/{name}"
    given: Any = ["arn:aws:iam::aws:policy/ReadOnlyAccess", arn] if key.endswith("s") else arn
    check(rules.on(ADMINISTRATORS, kind, {key: given}), [f"{key}: '{arn}' gives away the whole account"])


@pytest.mark.parametrize(
    "arn",
    ["arn:aws:iam::aws:policy/AmazonEKSWorkerNodePolicy", "arn:aws:iam::111122223333:policy/AdministratorAccess", ""],
)
def test_other_policies_may_be_attached(rules: Any, arn: str) -> None:
    assert rules.on(ADMINISTRATORS, "aws:iam/rolePolicyAttachment:RolePolicyAttachment", {"policyArn": arn}) == []
    assert rules.on(ADMINISTRATORS, ROLE, {"assumeRolePolicy": "{}"}) == []


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({}, ["S lets events.amazonaws.com act for any account; add a condition on aws:SourceArn"]),
        ({"Condition": CONDITION}, ["act for any account"]),
        ({"Condition": {"ArnEquals": {"AWS:SourceArn": "arn:aws:events:eu-central-1:1:rule/a"}}}, []),
        ({"Condition": {"StringEquals": {"aws:SourceAccount": ["1"]}}}, []),
        ({"Condition": {"StringEqualsIfExists": {"aws:SourceAccount": "1"}}}, ["act for any account"]),
        ({"Condition": {"StringNotEquals": {"aws:SourceAccount": "1"}}}, ["act for any account"]),
        ({"Condition": {"Null": {"aws:SourceAccount": "true"}}}, ["act for any account"]),
        ({"Principal": {"AWS": "arn:aws:iam::1:role/a"}}, []),
        ({"Effect": "Deny"}, []),
    ],
)
def test_a_service_acts_for_somebody_known(rules: Any, more: dict[str, Any], words: list[str]) -> None:
    statement = allow("sqs:SendMessage", Principal={"Service": "events.amazonaws.com"}) | more
    check(rules.on(DEPUTIES, QUEUE_POLICY, {"policy": document(statement)}), words)
    # Who may take a role is another thing: EC2 and Pod Identity act for the account itself.
    assert rules.on(DEPUTIES, ROLE, {"assumeRolePolicy": document(statement)}) == []


EVERY_DOCUMENT_RULE = [NO_WILDCARD, FITS, SCOPED, DEPUTIES]


@pytest.mark.parametrize("rule", EVERY_DOCUMENT_RULE)
def test_what_our_components_make_passes(rules: Any, rule: str) -> None:
    place = Place(partition="aws", region="ap-southeast-5", account_id="123456789012")
    scope = PolicyScope(place, "c" * 100, "arn:aws:iam::123456789012:role/nodes", ARN)
    for text in controller_policies(scope).values():
        assert rules.on(rule, POLICY, {"policy": text, "tags": UNKNOWN}) == []
    for trust in (node_trust("aws"), pod_identity_trust("arn:aws:eks:r:1:cluster/c", "kube-system", "karpenter")):
        assert rules.on(rule, ROLE, {"assumeRolePolicy": trust, "name": UNKNOWN}) == []
    queue = queue_policy(ARN, ["arn:aws:events:ap-southeast-5:123456789012:rule/a"], "123456789012")
    assert rules.on(rule, QUEUE_POLICY, {"policy": queue, "queueUrl": UNKNOWN}) == []


@pytest.mark.parametrize("rule", [NO_WILDCARD, FITS, SCOPED])
def test_an_unknown_document_is_told_after_the_known_ones(rules: Any, rule: str) -> None:
    assert rules.on(rule, POLICY, {"policy": UNKNOWN}) == [rules.UNKNOWN]
    bad = document({**allow("iam:*", "*"), "Sid": "x" * 11_000})
    props = {"assumeRolePolicy": UNKNOWN, "inlinePolicies": [{"policy": UNKNOWN}, {"policy": bad}]}
    message, last = rules.on(rule, ROLE, props)
    assert "inlinePolicies[1].policy" in message and last == rules.UNKNOWN


KARPENTER = "karpenter-has-its-permissions"
CHART = "kubernetes:helm.sh/v3:Release"
LAUNCH = document(allow("ec2:RunInstances", "*"))


@pytest.mark.parametrize(
    ("documents", "chart", "broken"),
    [
        ([LAUNCH], "karpenter", True),
        ([LAUNCH], "oci://example.org/karpenter/karpenter", True),
        ([LAUNCH], "kueue", False),
        ([LAUNCH, document(allow("ec2:DescribeInstanceStatus", "*"))], "karpenter", False),
        ([document(allow(["ec2:RunInstances", "ec2:Describe*"], "*"))], "karpenter", False),
        ([document(allow("sqs:SendMessage"))], "karpenter", False),
        ([LAUNCH, document({**allow("ec2:DescribeInstanceStatus"), "Effect": "Deny"})], "karpenter", True),
        ([], "karpenter", False),
    ],
)
def test_karpenter_may_do_what_newer_versions_need(
    rules: Any, given: Any, documents: list[str], chart: str, broken: bool
) -> None:
    stack = [given(POLICY, {"policy": text}, f"policy{number}") for number, text in enumerate(documents)]
    found = rules.on_stack(KARPENTER, [*stack, given(CHART, {"chart": chart}, "chart")])
    assert [where for _, where in found] == (["policy0"] if broken else [])


def test_an_unknown_permission_may_be_the_missing_one(rules: Any, given: Any) -> None:
    stack = [
        given(POLICY, {"policy": LAUNCH}, "known"),
        given(POLICY, {"policy": UNKNOWN}, "unknown"),
        given(CHART, {"chart": "karpenter"}, "chart"),
    ]
    assert rules.on_stack(KARPENTER, stack) == [(rules.UNKNOWN, None)]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6) | st.sampled_from(["*", "Allow", "a:*", ARN]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["Statement", "Action", "NotAction", "Resource", "NotResource", "Effect", "Principal", "x"]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=15,
)


@settings(max_examples=80)
@for_all(JSON)
def test_no_document_however_odd_makes_a_rule_fail(rules: Any, content: Any) -> None:
    for rule in (NO_WILDCARD, FITS, SCOPED):
        rules.on(rule, POLICY, {"policy": json.dumps(content)})
