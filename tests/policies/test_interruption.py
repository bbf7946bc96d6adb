"""All parts of interruption handling or none: every part is taken away in turn, and every link is cut."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pulumi_policy.proxy import UNKNOWN_STRING_VALUE as UNKNOWN

from components.interruption import RULES, queue_policy
from policies.rules.interruption_parts import EVENTS

RULE = "interruption-is-complete"
QUEUE, QUEUE_POLICY = "aws:sqs/queue:Queue", "aws:sqs/queuePolicy:QueuePolicy"
EVENT_RULE, EVENT_TARGET = "aws:cloudwatch/eventRule:EventRule", "aws:cloudwatch/eventTarget:EventTarget"
RELEASE = "kubernetes:helm.sh/v3:Release"
ARN = "arn:aws:sqs:eu-central-1:123456789012:events"
BUS = "arn:aws:events:eu-central-1:123456789012:rule"
QUEUE_ALLOWS = queue_policy(ARN, [f"{BUS}/rule{number}" for number in range(5)], "123456789012")


class Stack(dict[str, Any]):
    """A complete stack as resources by name, to be edited; `known` says whether outputs are known."""

    def __init__(self, given: Any, *, known: bool = True) -> None:
        out = (lambda value: value) if known else (lambda value: UNKNOWN)
        self._given = given
        queue = {"name": "events", "arn": out(ARN), "url": out("https://sqs/events")}
        super().__init__(
            queue=given(QUEUE, queue, "queue"),
            policy=given(
                QUEUE_POLICY,
                {"queueUrl": out("https://sqs/events"), "policy": QUEUE_ALLOWS},
                "policy",
                linked={"queueUrl": "queue"},
            ),
            chart=given(
                RELEASE,
                {
                    "chart": "oci://example.org/karpenter/karpenter",
                    "values": {"settings": {"interruptionQueue": "events"}},
                },
                "chart",
            ),
        )
        for number, (source, kind) in enumerate(EVENTS):
            pattern = json.dumps({"source": [source], "detail-type": [kind]})
            rule, target = f"rule{number}", f"target{number}"
            self[rule] = given(EVENT_RULE, {"name": rule, "eventPattern": pattern, "id": out(rule)}, rule)
            self[target] = given(EVENT_TARGET, {"rule": out(rule), "arn": ARN}, target, linked={"rule": rule})

    def edit(self, which: str, props: dict[str, Any]) -> Stack:
        old = self[which]
        self[which] = self._given(old.type, {**old.props, **props}, which, linked=old.linked)
        return self

    def drop(self, *names: str) -> Stack:
        for name in names:
            del self[name]
        return self


@pytest.fixture
def stack(given: Any) -> Any:
    return lambda **how: Stack(given, **how)


def test_the_events_are_those_that_the_component_makes_rules_for() -> None:
    assert sorted((rule.source, rule.detail_type) for rule in RULES) == sorted(EVENTS)


@pytest.mark.parametrize("known", [True, False])
def test_all_parts_together_pass_planned_and_applied(rules: Any, stack: Any, known: bool) -> None:
    found = rules.on_stack(RULE, stack(known=known).values())
    assert [message for message, _ in found if message != rules.UNKNOWN] == []
    assert found == []


def test_none_of_them_pass_with_and_without_karpenter(rules: Any, stack: Any, given: Any) -> None:
    assert rules.on_stack(RULE, []) == []
    bare = given(RELEASE, {"chart": "karpenter", "values": {"settings": {"clusterName": "a"}}}, "chart")
    assert rules.on_stack(RULE, [bare]) == []
    assert rules.on_stack(RULE, [given(RELEASE, {"chart": "karpenter"}, "chart")]) == []
    assert rules.on_stack(RULE, [given(QUEUE, {"name": "jobs"}, "jobs")]) == []


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("number", range(5))
def test_a_missing_event_rule_is_named(rules: Any, stack: Any, number: int, known: bool) -> None:
    made = stack(known=known).drop(f"rule{number}", f"target{number}")
    ((message, where),) = rules.on_stack(RULE, made.values())
    assert EVENTS[number][1] in message and where is None


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize(
    ("name", "word", "where"),
    [
        ("target2", "event rule rule2 has no target", "rule2"),
        ("chart", "no Karpenter chart whose settings.interruptionQueue", None),
        ("policy", "queue queue does not let events.amazonaws.com send to it", "queue"),
    ],
)
def test_another_missing_part_is_named(
    rules: Any, stack: Any, name: str, word: str, where: str | None, known: bool
) -> None:
    found = rules.on_stack(RULE, stack(known=known).drop(name).values())
    assert [(word in message, place) for message, place in found] == [(True, where)], found


def test_a_missing_queue_is_named(rules: Any, stack: Any) -> None:
    found = [message for message, _ in rules.on_stack(RULE, stack().drop("queue", "policy").values())]
    assert any("no SQS queue of this stack receives the events" in message for message in found)


def test_a_queue_without_rules_stays_inert_for_months_and_is_found(rules: Any, stack: Any) -> None:
    made = stack().drop(*(f"{kind}{number}" for kind in ("rule", "target") for number in range(5)))
    found = [message for message, _ in rules.on_stack(RULE, made.values())]
    assert [kind in message for (_, kind), message in zip(EVENTS, found, strict=True)] == [True] * 5


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (("rule0", {"isEnabled": False}), ["AWS Health Event"]),
        (("rule0", {"state": "DISABLED"}), ["AWS Health Event"]),
        (("rule0", {"eventPattern": "{"}), ["AWS Health Event"]),
        (("rule0", {"eventPattern": '{"source": ["aws.ec2"], "detail-type": ["AWS Health Event"]}'}), ["AWS Health"]),
        (("target0", {"arn": "arn:aws:sqs:eu-central-1:123456789012:other"}), ["AWS Health Event"]),
        (("chart", {"values": {"settings": {"clusterName": "a"}}}), ["interruptionQueue: is not set"]),
        (("chart", {"values": {"settings": {"interruptionQueue": "other"}}}), ["'other' is not the queue"]),
        (("policy", {"policy": QUEUE_ALLOWS.replace("events.amazonaws.com", "x")}), ["does not let events"]),
        (("policy", {"policy": QUEUE_ALLOWS.replace("sqs:SendMessage", "sqs:Receive")}), ["does not let events"]),
        (("policy", {"policy": QUEUE_ALLOWS.replace("Allow", "Deny")}), ["does not let events"]),
        (("policy", {"policy": "{"}), ["does not let events"]),
    ],
)
def test_a_part_that_is_there_but_does_nothing_counts_as_missing(
    rules: Any, stack: Any, edit: tuple[str, dict[str, Any]], words: list[str]
) -> None:
    found = rules.on_stack(RULE, stack().edit(*edit).values())
    assert [word in message for (message, _), word in zip(found, words, strict=True)] == [True] * len(words), found


@pytest.mark.parametrize(
    ("sources", "operator", "deaf"),
    [
        ([f"{BUS}/rule{number}" for number in range(4)], "ArnEquals", ["rule4"]),
        ([f"{BUS}/rule{number}" for number in range(4)], "ForAnyValue:ArnLike", ["rule4"]),
        (f"{BUS}/rule*", "ArnLike", []),
        (f"{BUS}/bus/rule?", "ArnLike", []),
        ("arn:aws:events:*", "ArnLike", []),
        ([], "ArnEquals", [f"rule{number}" for number in range(5)]),
        (f"{BUS}/other", "ArnNotEquals", []),
    ],
)
def test_a_condition_that_misses_a_rule_makes_it_deaf(
    rules: Any, stack: Any, sources: Any, operator: str, deaf: list[str]
) -> None:
    statement = {
        "Effect": "Allow",
        "Principal": {"Service": "events.amazonaws.com"},
        "Action": "sqs:SendMessage",
        "Resource": ARN,
        "Condition": {operator: {"aws:sourceArn": sources}},
    }
    found = rules.on_stack(RULE, stack().edit("policy", {"policy": json.dumps({"Statement": statement})}).values())
    assert [
        f"queue queue does not take the events of rule {name}:" in message
        for name, (message, _) in zip(deaf, found, strict=True)
    ] == [True] * len(deaf), found
    # Another statement that lets the rest in is enough.
    both = {"Statement": [statement, {key: value for key, value in statement.items() if key != "Condition"}]}
    assert rules.on_stack(RULE, stack().edit("policy", {"policy": json.dumps(both)}).values()) == []


def test_one_rule_may_pass_on_several_events(rules: Any, stack: Any) -> None:
    kinds = [kind for source, kind in EVENTS if source == "aws.ec2"]
    made = stack().edit("rule1", {"eventPattern": json.dumps({"source": ["aws.ec2"], "detail-type": kinds})})
    made.drop(*(f"{kind}{number}" for kind in ("rule", "target") for number in (2, 3, 4)))
    assert rules.on_stack(RULE, made.values()) == []


def test_a_policy_on_the_queue_itself_is_as_good(rules: Any, stack: Any) -> None:
    assert rules.on_stack(RULE, stack().drop("policy").edit("queue", {"policy": QUEUE_ALLOWS}).values()) == []


def test_a_notifier_on_the_same_events_is_somebody_elses(rules: Any, given: Any) -> None:
    pattern = json.dumps({"source": ["aws.ec2"], "detail-type": [EVENTS[1][1]]})
    notifier = [
        given(EVENT_RULE, {"name": "notify", "eventPattern": pattern}, "notify"),
        given(EVENT_TARGET, {"rule": "notify", "arn": "arn:aws:lambda:eu-central-1:1:function:tell"}, "tell"),
        given(QUEUE, {"name": "jobs", "arn": "arn:aws:sqs:eu-central-1:1:jobs"}, "jobs"),
    ]
    assert rules.on_stack(RULE, notifier) == []


def test_a_queue_of_another_stack_is_configured(rules: Any, stack: Any) -> None:
    parts = [name for name in stack() if name != "chart"]
    lonely = list(stack().drop(*parts).values())
    assert len(rules.on_stack(RULE, lonely)) == 6
    assert rules.on_stack(RULE, lonely, {"queuesOfOtherStacks": ["events"]}) == []


@pytest.mark.parametrize(
    "edit",
    [
        ("rule0", {"eventPattern": UNKNOWN}),
        ("chart", {"values": {"settings": {"interruptionQueue": UNKNOWN}}}),
        ("queue", {"name": UNKNOWN}),
        ("policy", {"policy": UNKNOWN}),
    ],
)
def test_an_unknown_part_is_neither_missing_nor_there(rules: Any, stack: Any, edit: tuple[str, dict[str, Any]]) -> None:
    assert rules.on_stack(RULE, stack().edit(*edit).values()) == [(rules.UNKNOWN, None)]
    # What is missing for certain is still said, before the unknown.
    found = rules.on_stack(RULE, stack().edit(*edit).drop("target3").values())
    assert ["event rule rule3 has no target" in message for message, _ in found] == [True, False]


def test_unknowns_of_other_resources_do_not_matter(rules: Any, stack: Any, given: Any) -> None:
    other = given("aws:iam/role:Role", {"name": UNKNOWN, "assumeRolePolicy": UNKNOWN}, "role")
    chart = given(RELEASE, {"chart": "kueue", "values": UNKNOWN}, "kueue")
    assert rules.on_stack(RULE, [*stack().values(), other, chart]) == []
