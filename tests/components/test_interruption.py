from __future__ import annotations

import json

import pulumi_aws as aws
import pulumi_kubernetes as kubernetes
import pytest

from components.interruption import QUEUE_RETENTION_SECONDS, RULES, queue_policy
from preview.recording import Recording
from tests.components.karpenter_program import Render, program, refusals, values

ARN = "arn:aws:sqs:eu-central-1:123456789012:Karpenter-prod"
RULE_ARNS = [f"arn:aws:events:eu-central-1:123456789012:rule/Karpenter-{rule.key}-prod" for rule in RULES]


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


def test_the_queue_takes_messages_of_both_services_for_us_alone_and_only_over_tls() -> None:
    assert json.loads(queue_policy(ARN, RULE_ARNS, "123456789012")) == {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Sid": "EventsToQueue",
                "Effect": "Allow",
                "Principal": {"Service": "events.amazonaws.com"},
                "Action": "sqs:SendMessage",
                "Resource": ARN,
                "Condition": {"ArnEquals": {"aws:SourceArn": RULE_ARNS}},
            },
            {
                "Sid": "SqsToQueue",
                "Effect": "Allow",
                "Principal": {"Service": "sqs.amazonaws.com"},
                "Action": "sqs:SendMessage",
                "Resource": ARN,
                "Condition": {"StringEquals": {"aws:SourceAccount": "123456789012"}},
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


# Interruption: queue, queue policy, rules, targets and the chart's setting, all or none.


def interruption_gaps(recording: Recording) -> list[str]:
    """What keeps the controller from hearing of an instance that goes, in any stack that has one."""
    wanted = {rule.detail_type for rule in RULES}
    named = [chart.inputs["values"]["settings"]["interruptionQueue"] for chart in recording.of(":Release")[:1]]
    queues = {queue.inputs["name"] for queue in recording.of(":Queue")}
    heard = {
        kind for rule in recording.of(":EventRule") for kind in json.loads(rule.inputs["eventPattern"])["detail-type"]
    }
    senders = {
        service
        for policy in recording.of(":QueuePolicy")
        for statement in json.loads(policy.inputs["policy"])["Statement"]
        if statement["Effect"] == "Allow"
        for given in [statement["Principal"]["Service"]]
        for service in ([given] if isinstance(given, str) else given)
    }
    targeted = {target.inputs["rule"] for target in recording.of(":EventTarget")}
    gaps = [f"no rule for {kind}" for kind in sorted(wanted - heard)]
    gaps += [
        f"no target for {r.inputs['name']}" for r in recording.of(":EventRule") if r.inputs["name"] not in targeted
    ]
    if senders != {"events.amazonaws.com", "sqs.amazonaws.com"}:
        gaps.append(f"the queue takes messages only of {sorted(senders)}")
    if set(named) != queues:
        gaps.append(f"the chart reads {named}, the queue is {sorted(queues)}")
    return gaps


def hand_written() -> None:
    """The shape of the production files that this replaces: four rules, no targets told apart, one sender."""
    queue = aws.sqs.Queue("queue", name="prod")
    policy = {
        "Statement": [
            {"Effect": "Allow", "Action": "sqs:SendMessage", "Principal": {"Service": ["events.amazonaws.com"]}}
        ]
    }
    aws.sqs.QueuePolicy("policy", queue_url=queue.url, policy=json.dumps(policy))
    for rule in RULES[:4]:
        pattern = aws.cloudwatch.EventRule(rule.key, name=rule.key, event_pattern=rule.pattern)
        aws.cloudwatch.EventTarget(rule.key, rule=pattern.name, arn=queue.arn)
    kubernetes.helm.v3.Release("karpenter", chart="karpenter", values={"settings": {"interruptionQueue": ""}})


def test_five_rules_a_queue_policy_with_both_senders_and_the_chart_setting_come_together(render: Render) -> None:
    assert interruption_gaps(render(program())) == []


def test_the_hand_written_shape_is_seen_to_be_deaf(render: Render) -> None:
    assert interruption_gaps(render(hand_written)) == [
        "no rule for EC2 Capacity Reservation Instance Interruption Warning",
        "the queue takes messages only of ['events.amazonaws.com']",
        "the chart reads [''], the queue is ['prod']",
    ]


def test_every_target_and_the_queue_policy_mean_the_one_queue(render: Render) -> None:
    recording = render(program())
    arn = "arn:aws:sqs:eu-central-1:111122223333:Karpenter-prod"
    assert {target.inputs["arn"] for target in recording.of(":EventTarget")} == {arn}
    assert {s["Resource"] for s in json.loads(recording.one(":QueuePolicy").inputs["policy"])["Statement"]} == {arn}
    assert recording.one("KarpenterController").outputs["queueArn"] == arn
    assert values(recording)["settings"]["interruptionQueue"] == "Karpenter-prod"


@pytest.mark.parametrize("name", ["prod", "P" * 100])
def test_eventbridge_may_send_for_the_five_rules_of_the_stack_and_no_other(render: Render, name: str) -> None:
    recording = render(program({"name": name, "region": "cn-north-1"}))
    (condition,) = [
        statement["Condition"]["ArnEquals"]["aws:SourceArn"]
        for statement in json.loads(recording.one(":QueuePolicy").inputs["policy"])["Statement"]
        if statement["Sid"] == "EventsToQueue"
    ]
    assert sorted(condition) == sorted(
        f"arn:aws-cn:events:cn-north-1:111122223333:rule/{rule.inputs['name']}" for rule in recording.of(":EventRule")
    )
    assert len(set(condition)) == len(RULES)


def test_without_interruption_none_of_its_parts_remains(render: Render) -> None:
    recording = render(program({"interruption": False}))
    parts = (":Queue", ":QueuePolicy", ":EventRule", ":EventTarget")
    assert [resource.name for kind in parts for resource in recording.of(kind)] == []
    assert "Interruption" not in recording.one("KarpenterController").outputs["policyArns"]
    assert values(recording)["settings"]["interruptionQueue"] == ""
    outputs = recording.one("KarpenterController").outputs
    assert (outputs.get("queueName"), outputs.get("queueUrl"), outputs["ruleNames"]) == (None, None, [])


def test_the_chart_setting_cannot_be_written_apart_from_the_queue(render: Render) -> None:
    assert refusals(render, {"values": {"settings": {"interruptionQueue": "another", "batchMaxDuration": "30s"}}}) == [
        (
            "karpenter.values.settings.interruptionQueue",
            "karpenter.values.settings.interruptionQueue: is set by floodplain already; "
            "remove it here; where it may vary it is a setting",
        )
    ]
