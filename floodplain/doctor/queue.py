"""Does Karpenter hear that an instance is about to go: queue set, queue there, rules that fill it? Pure.

All three parts fail without a word: a production queue stood without rules for months.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from floodplain.doctor.finding import Finding, Severity
from floodplain.doctor.seen import Cluster, KarpenterSeen, QueueSeen

CHECK, POOLS = "interruption", "pool-ready"
EVENTS = {
    "AWS Health Event": "drains a node whose instance has maintenance ahead",
    "EC2 Spot Instance Interruption Warning": "drains the node, two minutes ahead",
    "EC2 Instance Rebalance Recommendation": "records an event, nothing is drained",
    "EC2 Instance State-change Notification": "replaces a node that powered itself off because its swap failed",
    "EC2 Capacity Reservation Instance Interruption Warning": "drains a node whose capacity is called back",
}
"""What Karpenter reads from its queue, and what it does. The same as `components.interruption`, by a test."""
_HARMLESS = "EC2 Instance Rebalance Recommendation"


def check(cluster: Cluster) -> Iterator[Finding]:
    """Each Karpenter there is, its queue in AWS if that was asked, and the conditions of its pools."""
    for one in cluster.conditions:
        lever = f"kubectl describe {one.object.replace(' ', '/').lower()}"
        yield Finding(POOLS, Severity.WARNING, one.object, f"{one.condition}: {one.message}", "", (lever,), "status")
    if cluster.karpenters is None:
        return
    if not cluster.karpenters:
        seen = "no Karpenter is in this cluster (or it runs outside): its interruption queue cannot be seen"
        yield Finding(CHECK, Severity.INFO, "the cluster", seen)
    for karpenter in cluster.karpenters:
        yield from _karpenter(karpenter, cluster.queues)


def _karpenter(karpenter: KarpenterSeen, queues: tuple[QueueSeen, ...] | None) -> Iterator[Finding]:
    title = f"Karpenter {karpenter.namespace}/{karpenter.name}"
    if not karpenter.interruption_queue:
        yield Finding(
            CHECK,
            Severity.WARNING,
            title,
            "has no interruption queue: a node that powered itself off is replaced after 15 minutes, and Spot nodes go"
            " without a drain",
            "settings.interruptionQueue",
            ("set the chart's settings.interruptionQueue (KarpenterController makes queue and rules)",),
            "env INTERRUPTION_QUEUE of the Deployment",
        )
        return
    queue = next((one for one in queues or () if one.name == karpenter.interruption_queue), None)
    if queue is None:
        seen = f"its queue is {karpenter.interruption_queue}; whether it exists and rules fill it is not seen"
        yield Finding(CHECK, Severity.INFO, title, seen, levers=("run doctor with --aws",))
        return
    told = [*_queue(queue)]
    yield from told
    if not told:
        yield Finding(CHECK, Severity.OK, f"queue {queue.name}", f"exists, and rules bring all {len(EVENTS)} events")


def _queue(queue: QueueSeen) -> Iterator[Finding]:
    title = f"queue {queue.name}"
    if not queue.exists:
        seen = "does not exist: Karpenter hears of nothing"
        yield Finding(CHECK, Severity.ERROR, title, seen, "a queue", ("deploy KarpenterController",), "sqs:GetQueueUrl")
        return
    brought = {kind for rule in queue.rules if rule.enabled for kind in detail_types(rule.pattern)}
    off = {kind for rule in queue.rules if not rule.enabled for kind in detail_types(rule.pattern)}
    for kind, does in EVENTS.items():
        if kind not in brought:
            why = "the rule is disabled" if kind in off else "no rule"
            yield Finding(
                CHECK,
                Severity.INFO if kind == _HARMLESS else Severity.WARNING,
                title,
                f"{why} for {kind}",
                f"an enabled rule with this queue as its target: Karpenter {does}",
                ("enable the rule",) if kind in off else ("deploy KarpenterController, which makes all rules",),
                "events:ListRuleNamesByTarget",
            )


def detail_types(pattern: str) -> tuple[str, ...]:
    """The detail types that an event pattern lets through; none for a pattern that is no JSON."""
    try:
        loaded = json.loads(pattern)
    except (ValueError, RecursionError):
        return ()
    found = loaded.get("detail-type") if isinstance(loaded, dict) else None
    return tuple(kind for kind in found if isinstance(kind, str)) if isinstance(found, list) else ()
