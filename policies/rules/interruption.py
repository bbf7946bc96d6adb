"""Does Karpenter hear that a machine will go? Queue, queue policy, five event rules, chart setting: all or none.

Each part alone is accepted everywhere and silently does nothing. Fail-closed swap depends on it, too: a node
that powers itself off is replaced at once only if the message arrives.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator

from pulumi_policy import Policy, PolicyResource, StackValidationArgs

from .iam_documents import Statement, documents
from .interruption_parts import EVENTS, HeardRule, Parts, read_parts, refers
from .proxies import Unknowns, get, shown, text, texts
from .rule import About, stack_rule

_EVENTBRIDGE = "events.amazonaws.com"
_SEND = ("sqs:sendmessage", "sqs:*", "*")

Found = Iterator[tuple[str, str | None]]


def incomplete_interruption(args: StackValidationArgs) -> Found:
    """Every part that is missing while another is there."""
    parts = read_parts(args)
    elsewhere = texts(args.get_config().get("queuesOfOtherStacks"))
    named = [(chart, setting) for chart, setting in parts.charts if setting and setting not in elsewhere]
    unknowns = Unknowns()
    if parts.rules or parts.queues or named:
        yield from _rules(parts)
        yield from _targets(parts)
        yield from _queue(parts, named)
        yield from _queue_policy(parts, unknowns)
        yield from _setting(parts)
    for unread in parts.unknowns():
        with unknowns:
            unread.raise_first()
    unknowns.raise_first()


def _rules(parts: Parts) -> Found:
    heard = {event for rule in parts.rules for event in rule.events}
    for source, kind in EVENTS:
        if (source, kind) not in heard and not parts.unread_rules:
            yield f"no event rule passes on {shown(kind)} ({source}) to the queue; add one", None


def _targets(parts: Parts) -> Found:
    for rule in parts.rules:
        if not rule.targets and not rule.links:
            name = rule.resource.name
            yield (
                f"event rule {name} has no target, so its events go nowhere; make the queue its target",
                rule.resource.urn,
            )


def _queue(parts: Parts, named: list[tuple[PolicyResource, str]]) -> Found:
    """No queue at all, or events and chart that mean different queues."""
    linked = not any(rule.links for rule in parts.rules)
    if not parts.queues and linked and not parts.unread_queues:
        yield "no SQS queue of this stack receives the events; add one and make it the rules' target", None
    names: set[str] = set()
    for queue in parts.queues:
        with parts.unread_queues:
            names.add(text(get(queue.props, "name")) or queue.name)
    if parts.unread_queues:
        return
    for chart, setting in named:
        if names and setting not in names:
            yield (
                f"values.settings.interruptionQueue: {shown(setting)} is not the queue that receives the events "
                f"({', '.join(sorted(names))})",
                chart.urn,
            )
    settings = {setting for _, setting in named}
    for queue in parts.queues:
        if settings and (text(get(queue.props, "name")) or queue.name) in settings:
            for rule in parts.rules:
                if rule.queue_urns and queue.urn not in rule.queue_urns:
                    yield f"event rule {rule.resource.name} does not send to {queue.name}", rule.resource.urn


def _letting_events_in(holder: PolicyResource) -> Iterator[Statement]:
    for document in documents(holder.resource_type, holder.props):
        for statement in document.statements or ():
            if (
                statement.allows
                and _EVENTBRIDGE in statement.principals
                and any(action.lower() in _SEND for action in statement.actions)
            ):
                yield statement


def _lets_in(statement: Statement, rule: HeardRule) -> bool:
    """Whether the condition on the source, if there is one, takes the events of that rule; its name decides."""
    with Unknowns():
        name = text(get(rule.resource.props, "name"))
        for condition in statement.conditions:
            if name is None or condition.key != "aws:sourcearn" or not condition.narrows:
                continue
            if not any(_names(value, name) for value in condition.values):
                return False
    return True


def _names(arn: str, rule: str) -> bool:
    """Whether the ARN, which may hold wildcards, is one of that rule on any bus."""
    _, found, path = arn.partition(":rule/")
    return fnmatch.fnmatchcase(rule, path.rsplit("/", 1)[-1]) if found else "*" in arn


def _queue_policy(parts: Parts, unknowns: Unknowns) -> Found:
    for queue in parts.queues:
        unread = Unknowns()
        allowed: list[Statement] = []
        with unread:
            allowed.extend(_letting_events_in(queue))
        for policy in parts.queue_policies:
            with unread:
                if refers(policy, "queueUrl", queue, "url", "id"):
                    allowed.extend(_letting_events_in(policy))
        if allowed and not unread:
            for rule in parts.rules:
                if queue.urn in rule.queue_urns and not any(_lets_in(statement, rule) for statement in allowed):
                    yield (
                        f"queue {queue.name} does not take the events of rule {rule.resource.name}: no aws:SourceArn "
                        "in its policy is that rule's; add its ARN",
                        queue.urn,
                    )
        if allowed:
            continue
        if not unread:
            yield f"queue {queue.name} does not let {_EVENTBRIDGE} send to it; add a queue policy", queue.urn
        with unknowns:
            unread.raise_first()


def _setting(parts: Parts) -> Found:
    if not parts.charts and not parts.unread_charts:
        yield "the stack has no Karpenter chart whose settings.interruptionQueue names the queue", None
    for chart, setting in parts.charts:
        if not setting:
            yield "values.settings.interruptionQueue: is not set, so Karpenter never reads the queue", chart.urn


POLICIES: list[Policy] = [
    stack_rule(
        About(
            name="interruption-is-complete",
            description="Interruption queue, its policy, rules for all five events with targets, and the chart's "
            "settings.interruptionQueue are all there, or none of them.",
            remedy="Take KarpenterController with interruption on, or remove the parts that are left.",
            config={
                "queuesOfOtherStacks": {
                    "type": "array",
                    "items": {"type": "string"},
                    "default": [],
                    "description": "Queues that the chart may name although another stack makes them",
                }
            },
        ),
        incomplete_interruption,
    ),
]
