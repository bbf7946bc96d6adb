from __future__ import annotations

import json

from components.interruption import QUEUE_RETENTION_SECONDS, RULES, queue_policy

ARN = "arn:aws:sqs:eu-central-1:123456789012:Karpenter-prod"


def test_all_five_events_that_karpenter_reads_have_a_rule() -> None:
    assert [(rule.key, json.loads(rule.pattern)) for rule in RULES] == [
        ("health", {"source": ["aws.health"], "detail-type": ["AWS Health Event"]}),
        ("spot-interruption", {"source": ["aws.ec2"], "detail-type": ["EC2 Spot Instance Interruption Warning"]}),
        ("rebalance", {"source": ["aws.ec2"], "detail-type": ["EC2 Instance Rebalance Recommendation"]}),
        ("state-change", {"source": ["aws.ec2"], "detail-type": ["EC2 Instance State-change Notification"]}),
        (
            "capacity-reservation",
            {"source": ["aws.ec2"], "detail-type": ["EC2 Capacity Reservation Instance Interruption Warning"]},
        ),
    ]


def test_no_key_continues_another_so_that_rule_names_stay_apart() -> None:
    keys = [rule.key for rule in RULES]
    assert [(one, other) for one in keys for other in keys if other.startswith(f"{one}-")] == []


def test_the_queue_takes_messages_of_both_services_and_only_over_tls() -> None:
    assert json.loads(queue_policy(ARN)) == {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Sid": "EventsToQueue",
                "Effect": "Allow",
                "Principal": {"Service": ["events.amazonaws.com", "sqs.amazonaws.com"]},
                "Action": "sqs:SendMessage",
                "Resource": ARN,
            },
            {
                "Sid": "OnlyEncrypted",
                "Effect": "Deny",
                "Principal": "*",
                "Action": "sqs:*",
                "Resource": ARN,
                "Condition": {"Bool": {"aws:SecureTransport": "false"}},
            },
        ],
    }


def test_a_message_lives_five_minutes() -> None:
    assert QUEUE_RETENTION_SECONDS == 300
