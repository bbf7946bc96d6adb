"""What is there of interruption handling in a stack, and what is connected to what?

Only finds; what is missing is judged in `interruption`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from pulumi_policy import PolicyResource, StackValidationArgs

from .kinds import is_chart
from .proxies import Unknowns, get, text, texts

# Source and detail type of what Karpenter 1.x acts on (its getting-started template).
EVENTS: tuple[tuple[str, str], ...] = (
    ("aws.health", "AWS Health Event"),
    ("aws.ec2", "EC2 Spot Instance Interruption Warning"),
    ("aws.ec2", "EC2 Instance Rebalance Recommendation"),
    ("aws.ec2", "EC2 Instance State-change Notification"),
    ("aws.ec2", "EC2 Capacity Reservation Instance Interruption Warning"),
)

_QUEUE = "aws:sqs/queue:Queue"
_QUEUE_POLICY = "aws:sqs/queuePolicy:QueuePolicy"
_EVENT_RULE = "aws:cloudwatch/eventRule:EventRule"
_EVENT_TARGET = "aws:cloudwatch/eventTarget:EventTarget"


@dataclass(frozen=True)
class HeardRule:
    """An event rule for at least one of the five events, with its targets and the stack's queues among them."""

    resource: PolicyResource
    events: frozenset[tuple[str, str]]
    targets: tuple[PolicyResource, ...]
    queue_urns: frozenset[str]
    links: Unknowns
    """What could not be known about its targets."""

    @property
    def is_of_somebody_else(self) -> bool:
        """Whether all its targets are something else than this stack's queues: a notifier, say."""
        return bool(self.targets) and not self.queue_urns and not self.links


@dataclass(frozen=True)
class Parts:
    """Interruption handling in a stack. The three `Unknowns` say where something could not be read."""

    rules: tuple[HeardRule, ...]
    queues: tuple[PolicyResource, ...]
    """Queues that a rule sends to or that the chart names."""
    queue_policies: tuple[PolicyResource, ...]
    charts: tuple[tuple[PolicyResource, str], ...]
    """Karpenter's charts, with the queue that their settings name or an empty text."""
    unread_rules: Unknowns
    unread_charts: Unknowns
    unread_queues: Unknowns

    def unknowns(self) -> Iterator[Unknowns]:
        """All that could not be read."""
        yield from (self.unread_rules, self.unread_charts, self.unread_queues)
        yield from (rule.links for rule in self.rules)


def _by_dependency(resource: PolicyResource, key: str, other: PolicyResource) -> bool | None:
    """Whether input `key` was computed from `other`; None if from nothing of that type, so that the value decides."""
    same_type = [
        dependency.urn
        for dependency in resource.property_dependencies.get(key, ())
        if dependency.resource_type == other.resource_type
    ]
    return other.urn in same_type if same_type else None


def refers(resource: PolicyResource, key: str, other: PolicyResource, *outputs: str) -> bool:
    """Whether input `key` comes from `other`: by recorded dependency, else by equal value."""
    linked = _by_dependency(resource, key, other)
    if linked is not None:
        return linked
    value = text(get(resource.props, key))
    return value is not None and any(text(get(other.props, output)) == value for output in outputs)


def sends_to(target: PolicyResource, queue: PolicyResource) -> bool:
    """Whether an event target is this queue. The name in a known ARN decides, since `arn` itself may be unknown."""
    linked = _by_dependency(target, "arn", queue)
    if linked is not None:
        return linked
    parts = (text(get(target.props, "arn")) or "").split(":")
    name = text(get(queue.props, "name"))
    if len(parts) == 6 and parts[2] == "sqs" and name is not None:
        return parts[5] == name
    return refers(target, "arn", queue, "arn")


def is_karpenter_chart(resource: PolicyResource) -> bool:
    """A chart called `karpenter`, from wherever it is taken."""
    if not is_chart(resource.resource_type):
        return False
    chart = text(get(resource.props, "chart")) or ""
    return chart.rstrip("/").rsplit("/", 1)[-1] == "karpenter"


def events_of(rule: PolicyResource) -> frozenset[tuple[str, str]]:
    """The events among the five that an event rule passes on; none if it is switched off."""
    if get(rule.props, "isEnabled") is False or text(get(rule.props, "state")) == "DISABLED":
        return frozenset()
    try:
        pattern = json.loads(text(get(rule.props, "eventPattern")) or "{}")
    except (ValueError, RecursionError):
        return frozenset()
    sources, kinds = texts(get(pattern, "source")), texts(get(pattern, "detail-type"))
    return frozenset((source, kind) for source, kind in EVENTS if source in sources and kind in kinds)


def read_parts(args: StackValidationArgs) -> Parts:
    """Find the parts among the stack's resources."""
    queues = [resource for resource in args.resources if resource.resource_type == _QUEUE]
    targets = [resource for resource in args.resources if resource.resource_type == _EVENT_TARGET]
    unread_rules, unread_charts, unread_queues = Unknowns(), Unknowns(), Unknowns()
    rules: list[HeardRule] = []
    charts: list[tuple[PolicyResource, str]] = []
    for resource in args.resources:
        if resource.resource_type == _EVENT_RULE:
            with unread_rules:
                events = events_of(resource)
                if events:
                    rules.append(_heard_rule(resource, events, targets, queues))
        with unread_charts:
            if is_karpenter_chart(resource):
                setting = text(get(resource.props, "values", "settings", "interruptionQueue"))
                charts.append((resource, setting or ""))
    rules = [rule for rule in rules if not rule.is_of_somebody_else]
    settings = {setting for _, setting in charts if setting}
    receiving = {urn for rule in rules for urn in rule.queue_urns}
    for queue in queues:
        with unread_queues:
            if queue.urn not in receiving and settings and text(get(queue.props, "name")) in settings:
                receiving.add(queue.urn)
    return Parts(
        rules=tuple(rules),
        queues=tuple(queue for queue in queues if queue.urn in receiving),
        queue_policies=tuple(item for item in args.resources if item.resource_type == _QUEUE_POLICY),
        charts=tuple(charts),
        unread_rules=unread_rules,
        unread_charts=unread_charts,
        unread_queues=unread_queues,
    )


def _heard_rule(
    rule: PolicyResource,
    events: frozenset[tuple[str, str]],
    targets: list[PolicyResource],
    queues: list[PolicyResource],
) -> HeardRule:
    links = Unknowns()
    own: list[PolicyResource] = []
    reached: set[str] = set()
    for target in targets:
        with links:
            if refers(target, "rule", rule, "name", "id"):
                own.append(target)
    for target in own:
        for queue in queues:
            with links:
                if sends_to(target, queue):
                    reached.add(queue.urn)
    return HeardRule(rule, events, tuple(own), frozenset(reached), links)
