"""How the controller hears that an instance is about to go: one queue, and five rules that fill it.

Without any of queue, queue policy, rules or the chart's setting, handling is off and nothing says so: a production
queue stood without rules for months. That is why they are made together or not at all. Pure data and text; the
component makes resources from it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from .iam_document import Statement, document

QUEUE_RETENTION_SECONDS = 300
"""A message older than this is about an instance that is gone already; upstream keeps them as long."""


@dataclass(frozen=True)
class EventRule:
    """One kind of event. `key` names our resources, `does` says what Karpenter does on it."""

    key: str
    source: str
    detail_type: str
    does: str

    @property
    def pattern(self) -> str:
        """The event pattern as JSON."""
        return json.dumps({"detail-type": [self.detail_type], "source": [self.source]}, separators=(",", ":"))


RULES = (
    EventRule("health", "aws.health", "AWS Health Event", "drains a node whose instance has maintenance ahead"),
    EventRule(
        "spot-interruption", "aws.ec2", "EC2 Spot Instance Interruption Warning", "drains the node, two minutes ahead"
    ),
    EventRule("rebalance", "aws.ec2", "EC2 Instance Rebalance Recommendation", "records an event, nothing is drained"),
    EventRule(
        "state-change",
        "aws.ec2",
        "EC2 Instance State-change Notification",
        "replaces a node that stopped, such as one that powered itself off because its swap did not come up",
    ),
    EventRule(
        "capacity-reservation",
        "aws.ec2",
        "EC2 Capacity Reservation Instance Interruption Warning",
        "drains a node whose reserved capacity is called back",
    ),
)
"""All that Karpenter 1.14 reads (its messages package; the last since 1.10)."""


def queue_policy(queue_arn: str, rule_arns: Sequence[str], account_id: str) -> str:
    """Who may use the queue: EventBridge for these rules, SQS for this account, and nobody without TLS.

    Service principals act for whoever asks them, so that without a condition a rule of any account could fill the
    queue and have nodes drained. That SQS may send is upstream's, which does not say what for.
    """
    statements: list[Statement] = [
        {
            "Sid": "EventsToQueue",
            "Effect": "Allow",
            "Principal": {"Service": "events.amazonaws.com"},
            "Action": "sqs:SendMessage",
            "Resource": queue_arn,
            "Condition": {"ArnEquals": {"aws:SourceArn": list(rule_arns)}},
        },
        {
            "Sid": "SqsToQueue",
            "Effect": "Allow",
            "Principal": {"Service": "sqs.amazonaws.com"},
            "Action": "sqs:SendMessage",
            "Resource": queue_arn,
            "Condition": {"StringEquals": {"aws:SourceAccount": account_id}},
        },
        {
            "Sid": "OnlyEncrypted",
            "Effect": "Deny",
            "Principal": "*",
            # Every action, since this takes away; grants never have a wildcard here.
            "Action": "sqs:*",
            "Resource": queue_arn,
            "Condition": {"Bool": {"aws:SecureTransport": "false"}},
        },
    ]
    return document(statements)
