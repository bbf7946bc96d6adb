"""Edge: asks AWS for an interruption queue and the rules that fill it. Reads only; needs sqs:GetQueueUrl,
sqs:GetQueueAttributes, events:ListRuleNamesByTarget and events:DescribeRule."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import boto3  # type: ignore[import-untyped]
from botocore.exceptions import BotoCoreError, ClientError  # type: ignore[import-untyped]

from floodplain.doctor.seen import QueueSeen, RuleSeen, Unseen

_ABSENT = ("AWS.SimpleQueueService.NonExistentQueue", "QueueDoesNotExist")


def queues(names: Iterable[str], region: str | None = None) -> tuple[tuple[QueueSeen, ...], tuple[Unseen, ...]]:
    """Each queue that could be asked for, and what could not."""
    found: list[QueueSeen] = []
    unseen: list[Unseen] = []
    for name in sorted(set(names)):
        try:
            session = boto3.Session(region_name=region)
            found.append(_queue(session.client("sqs"), session.client("events"), name))
        except (BotoCoreError, ClientError, ValueError) as error:
            rights = "sqs:GetQueueUrl, sqs:GetQueueAttributes, events:ListRuleNamesByTarget and events:DescribeRule"
            remedy = f"set region and credentials, and grant {rights}"
            unseen.append(Unseen(f"queue {name} in AWS", " ".join(str(error).split()), remedy))
    return tuple(found), tuple(unseen)


def _queue(sqs: Any, events: Any, name: str) -> QueueSeen:
    try:
        url = sqs.get_queue_url(QueueName=name)["QueueUrl"]
    except ClientError as error:
        if error.response.get("Error", {}).get("Code") in _ABSENT:
            return QueueSeen(name, exists=False)
        raise
    arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    rules: list[RuleSeen] = []
    query: dict[str, Any] = {"TargetArn": arn}
    while True:
        page = events.list_rule_names_by_target(**query)
        for rule in page["RuleNames"]:
            told = events.describe_rule(Name=rule)
            rules.append(RuleSeen(rule, told.get("State") != "DISABLED", told.get("EventPattern") or ""))
        if not page.get("NextToken"):
            return QueueSeen(name, exists=True, rules=tuple(rules))
        query["NextToken"] = page["NextToken"]
