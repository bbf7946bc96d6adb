"""Asking AWS for a queue and its rules, against moto; and that what Karpenter reads is known in one way only."""

from __future__ import annotations

from collections.abc import Iterator

import boto3  # type: ignore[import-untyped]
import pytest
from moto import mock_aws

from components.compatibility import OLDEST_KARPENTER, OLDEST_KUBERNETES, RECOMMENDED_KUBERNETES
from components.interruption import RULES
from floodplain.doctor import queue, versions
from floodplain.doctor.aws import queues
from floodplain.doctor.seen import QueueSeen, RuleSeen

REGION = "eu-central-1"


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    with mock_aws():
        yield


def test_a_queue_is_found_with_the_rules_that_fill_it(aws: None) -> None:
    sqs, events = boto3.client("sqs", REGION), boto3.client("events", REGION)
    url = sqs.create_queue(QueueName="Karpenter-prod")["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    for position, rule in enumerate(RULES):
        state = "DISABLED" if rule.key == "health" else "ENABLED"
        events.put_rule(Name=f"rule-{position}", EventPattern=rule.pattern, State=state)
        events.put_targets(Rule=f"rule-{position}", Targets=[{"Id": "queue", "Arn": arn}])
    events.put_rule(Name="elsewhere", EventPattern=RULES[0].pattern)
    found, unseen = queues(["Karpenter-prod", "gone"], REGION)
    rules = tuple(RuleSeen(f"rule-{n}", rule.key != "health", rule.pattern) for n, rule in enumerate(RULES))
    assert (sorted(found, key=lambda one: one.name), unseen) == (
        [QueueSeen("Karpenter-prod", True, rules), QueueSeen("gone", False)],
        (),
    )


def test_without_a_region_the_queue_is_not_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/dev/null")
    found, (unseen,) = queues(["q"])
    assert (found, unseen.what, unseen.why) == ((), "queue q in AWS", "You must specify a region.")


def test_events_and_versions_are_those_of_the_components() -> None:
    assert tuple(queue.EVENTS) == (
        "AWS Health Event",
        "EC2 Spot Instance Interruption Warning",
        "EC2 Instance Rebalance Recommendation",
        "EC2 Instance State-change Notification",
        "EC2 Capacity Reservation Instance Interruption Warning",
    )
    assert tuple(queue.EVENTS) == tuple(rule.detail_type for rule in RULES)
    assert all(queue.detail_types(rule.pattern) == (rule.detail_type,) for rule in RULES)
    theirs = {(kube.major, kube.minor): (karp.major, karp.minor) for kube, karp in OLDEST_KARPENTER.items()}
    assert theirs == versions.OLDEST_KARPENTER
    assert (OLDEST_KUBERNETES.major, OLDEST_KUBERNETES.minor) == versions.OLDEST
    assert (RECOMMENDED_KUBERNETES.major, RECOMMENDED_KUBERNETES.minor) == versions.RECOMMENDED
