"""What EC2 and AWS Health tell about an instance, and which queues EventBridge hands it on to.

moto emits no such events. Ours take the way that a real one takes: a rule of the default bus that is on, whose pattern
matches, with a target, and a queue policy that lets EventBridge send for that rule. Where any of it is missing the
event goes nowhere and nobody hears of it, as in AWS.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from typing import Any, Literal

Kind = Literal["spot", "rebalance", "health", "stopping", "stopped", "shutting-down", "terminated"]
"""The last four are states of an instance, of which EC2 tells as a state change."""

_DETAIL_TYPES = {
    "spot": "EC2 Spot Instance Interruption Warning",
    "rebalance": "EC2 Instance Rebalance Recommendation",
    "health": "AWS Health Event",
}
_STATE_CHANGE = "EC2 Instance State-change Notification"


def event(kind: Kind, instance_id: str, *, account_id: str, region: str, now: datetime | None = None) -> dict[str, Any]:
    """The event as AWS writes it (EC2 and Health user guides, "EventBridge events")."""
    detail: dict[str, Any] = {"instance-id": instance_id}
    if kind == "spot":
        detail["instance-action"] = "terminate"
    elif kind == "health":
        detail = {
            "service": "EC2",
            "eventTypeCategory": "scheduledChange",
            "eventTypeCode": "AWS_EC2_INSTANCE_RETIREMENT_SCHEDULED",
            "affectedEntities": [{"entityValue": instance_id}],
        }
    elif kind != "rebalance":
        detail["state"] = kind
    return {
        "version": "0",
        "id": str(uuid.uuid4()),
        "detail-type": _DETAIL_TYPES.get(kind, _STATE_CHANGE),
        "source": "aws.health" if kind == "health" else "aws.ec2",
        "account": account_id,
        "time": (now or datetime.now(UTC)).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "region": region,
        "resources": [f"arn:aws:ec2:{region}:{account_id}:instance/{instance_id}"],
        "detail": detail,
    }


@dataclass(frozen=True)
class Rule:
    """An EventBridge rule of the default bus, with the ARNs of its targets."""

    name: str
    arn: str
    pattern: str
    enabled: bool
    targets: tuple[str, ...]


@dataclass(frozen=True)
class Delivery:
    """An event handed to a queue (by ARN) for a rule."""

    rule: str
    queue: str


def deliveries(happened: Mapping[str, Any], rules: Iterable[Rule], policies: Mapping[str, str]) -> list[Delivery]:
    """Where an event goes. `policies` are the queues' policies by queue ARN, "" for a queue without one."""
    return [
        Delivery(rule.name, target)
        for rule in rules
        if rule.enabled and matches(rule.pattern, happened)
        for target in rule.targets
        if target in policies and lets_events_in(policies[target], target, rule.arn)
    ]


def matches(pattern: str, happened: Mapping[str, Any]) -> bool:
    """Whether an event fits a pattern, by moto's own reading of EventBridge's patterns."""
    from moto.events.models import EventPattern

    told: Any = dict(happened)
    return EventPattern.load(pattern).matches_event(told)


def lets_events_in(policy: str, queue_arn: str, rule_arn: str) -> bool:
    """Whether a queue's policy lets EventBridge send to it for this rule.

    A condition that is not about the rule's ARN or about TLS counts as not met, so that nothing is let in that this
    does not understand.
    """
    statements = json.loads(policy)["Statement"] if policy else []
    facts = {"aws:SourceArn": rule_arn, "aws:SecureTransport": "true"}
    applying = [
        one for one in statements if _about(one, queue_arn) and _conditions_met(one.get("Condition", {}), facts)
    ]
    allowed = any(one["Effect"] == "Allow" for one in applying)
    return allowed and not any(one["Effect"] == "Deny" for one in applying)


def _about(statement: Mapping[str, Any], queue_arn: str) -> bool:
    principal = statement.get("Principal")
    services = _each(principal.get("Service", [])) if isinstance(principal, Mapping) else _each(principal)
    actions = [action.lower() for action in _each(statement.get("Action"))]
    return (
        any(service in ("events.amazonaws.com", "*") for service in services)
        and any(fnmatchcase("sqs:sendmessage", action) for action in actions)
        and any(fnmatchcase(queue_arn, resource) for resource in _each(statement.get("Resource")))
    )


def _conditions_met(conditions: Mapping[str, Mapping[str, Any]], facts: Mapping[str, str]) -> bool:
    patterned = ("ArnEquals", "ArnLike", "StringLike")
    for operator, wanted in conditions.items():
        for key, values in wanted.items():
            fact = facts.get(key)
            if fact is None or operator not in (*patterned, "StringEquals", "Bool"):
                return False
            fits = fnmatchcase if operator in patterned else str.__eq__
            if not any(fits(fact, str(value)) for value in _each(values)):
                return False
    return True


def _each(value: Any) -> Sequence[str]:
    if value is None:
        return []
    return [value] if isinstance(value, str) else list(value)
