"""Edits of a stack file or program, and what the diff makes of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from preview.against import step_findings
from preview.diff import compare
from preview.dump import concealed, read, write
from preview.model import Diff, FleetRoll
from preview.recording import Recorded, Recording
from preview.render import Rendering
from preview.wording import roll_text, summary

POOLS = "floodplain:pools"
Edit = Callable[[dict[str, Any]], None]


def between(before: Rendering, after: Rendering) -> Diff:
    return compare(concealed(before.apply), concealed(after.apply), name="main")


def short(diff: Diff) -> list[tuple[str, str]]:
    return [(change.action, f"{change.type.rsplit(':', 1)[-1]} {change.name}") for change in diff.changes]


@pytest.fixture
def against_prod(edited: Callable[..., Rendering]) -> Callable[[Edit], Diff]:
    return lambda edit: between(edited("prod"), edited("prod", edit))


def test_nothing_changes_against_itself(against_prod: Callable[[Edit], Diff]) -> None:
    diff = against_prod(lambda config: None)
    assert (diff.changes, diff.rolls) == ((), ())
    assert summary(diff).startswith("no changes, ")


def test_new_limits_are_an_update_that_rolls_nothing(against_prod: Callable[[Edit], Diff]) -> None:
    def more_memory(config: dict[str, Any]) -> None:
        config[POOLS][0]["limits"]["memory"] = "3Ti"

    diff = against_prod(more_memory)
    assert short(diff) == [("update", "NodePool platform-swap-nodepool")]
    [change] = diff.changes[0].properties
    assert (change.path, change.before, change.after) == ("spec.limits.memory", "2Ti", "3Ti")
    assert (change.effect, change.drift, diff.rolls) == ("update", False, ())


def test_another_boot_text_rolls_the_fleet_a_few_nodes_at_a_time(against_prod: Callable[[Edit], Diff]) -> None:
    def swappier(config: dict[str, Any]) -> None:
        config[POOLS][0]["swap"] = {"swappiness": 60}

    diff = against_prod(swappier)
    assert short(diff) == [("update", "EC2NodeClass platform-swap-nodeclass")]
    [change] = diff.changes[0].properties
    assert (change.path, change.effect, change.drift) == ("spec.userData", "update", True)
    assert diff.rolls == (
        FleetRoll(
            pool="swap",
            fields=("EC2NodeClass spec.userData",),
            nodes_at_most=64,
            at_a_time=1,
            within_schedules=1,
        ),
    )


def test_wider_requirements_roll_nothing_and_narrower_ones_roll_what_no_longer_fits(
    against_prod: Callable[[Edit], Diff],
) -> None:
    def wider(config: dict[str, Any]) -> None:
        config[POOLS][0]["families"] = ["m6id", "r6id", "c6id"]

    def narrower(config: dict[str, Any]) -> None:
        config[POOLS][0]["families"] = ["r6id"]

    assert against_prod(wider).rolls == ()
    [roll] = against_prod(narrower).rolls
    assert roll.pool == "swap"
    assert all("requirements" in field and "no longer fit" in field for field in roll.fields)


def test_a_removed_pool_is_deleted_with_all_its_nodes(against_prod: Callable[[Edit], Diff]) -> None:
    diff = against_prod(lambda config: config[POOLS].pop(0))
    assert {action for action, _ in short(diff)} <= {"delete", "update"}
    reasons = {change.name: change.reason for change in diff.changes}
    assert reasons["platform-swap-nodepool"] == "its nodes (at most 64) are drained and go with it"
    assert diff.rolls == ()


def test_a_renamed_pool_is_another_pool(against_prod: Callable[[Edit], Diff]) -> None:
    def rename(config: dict[str, Any]) -> None:
        config[POOLS][0]["name"] = "spill"

    found = short(against_prod(rename))
    assert ("delete", "NodePool platform-swap-nodepool") in found
    assert ("create", "NodePool platform-spill-nodepool") in found
    assert [action for action, _ in found] == sorted(
        (action for action, _ in found), key=["delete", "create", "update"].index
    )


def test_another_cluster_identifier_replaces_the_provider_and_all_it_made(rendered: Callable[..., Rendering]) -> None:
    diff = between(rendered("renamed", {"name": "box"}), rendered("renamed", {"name": "box", "cluster": "two"}))
    assert [(change.action, change.name, change.reason) for change in diff.changes] == [
        ("replace", "kubernetes", "replaced because of clusterIdentifier"),
        ("replace", "box-facts", "replaced with its provider"),
    ]


def test_a_rename_with_an_alias_keeps_every_object(rendered: Callable[..., Rendering]) -> None:
    before = rendered("renamed", {"name": "box"})
    after = rendered("renamed", {"name": "chest", "former": "box"})
    diff = between(before, after)
    assert [
        (change.action, change.name, change.former_urn.rsplit("::", 1)[-1], change.reason) for change in diff.changes
    ] == [
        ("update", "chest-queue", "box-queue", "only renamed; an alias keeps the object"),
        ("update", "chest-facts", "box-facts", "only renamed; an alias keeps the object"),
        ("update", "chest", "box", "only renamed; an alias keeps the object"),
    ]
    assert list(step_findings(after, diff, concealed(before.apply), concealed(after.apply))) == []


def test_a_rename_without_alias_would_make_the_same_object_twice(rendered: Callable[..., Rendering]) -> None:
    before, after = rendered("renamed", {"name": "box"}), rendered("renamed", {"name": "chest"})
    diff = between(before, after)
    findings = list(step_findings(after, diff, concealed(before.apply), concealed(after.apply)))
    assert [(finding.severity, finding.check, finding.urn.rsplit("::", 1)[-1]) for finding in findings] == [
        ("error", "alias", "chest-queue"),
        ("error", "alias", "chest-facts"),
    ]
    assert str(findings[0].problem).endswith("add aliases=[Alias(name='box-queue')] (and its parent, if that changed)")


def test_data_of_a_config_map_replaces_it(rendered: Callable[..., Rendering]) -> None:
    diff = between(rendered("renamed", {"name": "box"}), rendered("renamed", {"name": "box", "text": "a\nB\nc\n"}))
    [change] = diff.changes
    assert (change.action, change.reason) == ("replace", "replaced because of data.text")


def test_an_edit_that_the_api_server_refuses_is_an_error_with_the_setting_behind_it(
    edited: Callable[..., Rendering],
) -> None:
    def one(value: int, **options: Any) -> Recording:
        token = "kubernetes:scheduling.k8s.io/v1:PriorityClass"
        inputs = {"metadata": {"name": "floodplain-swap"}, "value": value}
        urn = f"urn:pulumi:prod::floodplain::{token}::it"
        return Recording((Recorded(urn, token, "it", inputs=inputs, options=options),))

    before, after = one(0), one(5)
    diff = compare(before, after, name="main")
    [finding] = step_findings(edited("prod"), diff, before, after)
    assert (finding.severity, finding.check) == ("error", "refused-edit")
    assert finding.problem.path == "stacks/Pulumi.prod.yaml: floodplain:pools[0].priority.value"
    assert finding.problem.rule == (
        "value of kubernetes:scheduling.k8s.io/v1:PriorityClass: the API server refuses an update of value, and the "
        "provider does not replace the object for it; set replace_on_changes, or make a new object under another name"
    )
    replaced = compare(before, one(5, replaceOnChanges=["value"]), name="main")
    assert [change.action for change in replaced.changes] == ["replace"]


def test_a_protected_resource_cannot_be_deleted_and_a_retained_one_stays() -> None:
    def one(name: str, **options: Any) -> Recorded:
        return Recorded(f"urn:pulumi:s::p::aws:sqs/queue:Queue::{name}", "aws:sqs/queue:Queue", name, options=options)

    diff = compare(Recording((one("a", protect=True), one("b", retainOnDelete=True))), Recording(()), name="x")
    assert [change.reason for change in diff.changes] == [
        "is protected, so the update stops here until the protection is taken off",
        "leaves the stack but stays where it is (retainOnDelete)",
    ]


def test_ignored_properties_and_sdk_options_do_not_count() -> None:
    def one(value: str, **options: Any) -> Recording:
        urn = "urn:pulumi:s::p::aws:sqs/queue:Queue::a"
        return Recording((Recorded(urn, "aws:sqs/queue:Queue", "a", inputs={"tags": {"x": value}}, options=options),))

    before, after = one("1"), one("2", ignoreChanges=["tags.x"])
    [change] = compare(before, after, name="x").changes
    assert [one.path for one in change.properties] == ["options.ignoreChanges"]
    assert change.reason == "only options change; the object stays as it is"


PROVIDER = "pulumi:providers:aws"


def through(provider: str, region: str, *, aliases: tuple[str, ...] = ()) -> Recording:
    """A queue made through a provider of that name."""

    def urn(kind: str, name: str) -> str:
        return f"urn:pulumi:s::p::{kind}::{name}"

    former = tuple(urn(PROVIDER, alias) for alias in aliases)
    made_by = Recorded(urn(PROVIDER, provider), PROVIDER, provider, inputs={"region": region}, aliases=former)
    queue = "aws:sqs/queue:Queue"
    return Recording((made_by, Recorded(urn(queue, "a"), queue, "a", provider=made_by.urn)))


def test_a_provider_that_is_renamed_with_an_alias_keeps_what_it_made() -> None:
    diff = compare(through("old", "eu-central-1"), through("new", "eu-central-1", aliases=("old",)), name="x")
    assert [(change.action, change.name, change.reason) for change in diff.changes] == [
        ("update", "new", "only renamed; an alias keeps the object")
    ]


@pytest.mark.parametrize(
    ("region", "action", "reason"),
    [
        ("eu-central-1", "update", "only options change; the object stays as it is"),
        ("eu-west-1", "replace", "replaced because of provider"),
    ],
)
def test_another_provider_takes_over_what_it_reaches_and_replaces_the_rest(
    region: str, action: str, reason: str
) -> None:
    diff = compare(through("old", "eu-central-1"), through("new", region), name="x")
    (queue,) = (change for change in diff.changes if change.name == "a")
    assert (queue.action, queue.reason) == (action, reason)


def test_what_is_dumped_can_be_read_again(rendered: Callable[..., Rendering]) -> None:
    rendering = rendered("good", {"token": {"secure": "v1:a"}})
    assert read(write(rendering)) == concealed(rendering.apply)
    assert "placeholder-of-the-secret" not in write(rendering)
    with pytest.raises(ValueError, match="its format is another one"):
        read('{"format": 99}')


@pytest.mark.parametrize(
    ("roll", "text"),
    [
        (
            FleetRoll(pool="a", fields=("NodePool spec.x",), nodes_at_most=9, at_a_time=2, within_schedules=2),
            "pool a: its nodes (at most 9) are replaced, at most 2 at a time, by NodePool spec.x",
        ),
        (
            FleetRoll(
                pool="a",
                fields=("NodePool spec.x",),
                nodes_at_most=9,
                at_a_time=2,
                within_schedules=0,
                schedules=("0 9 * * mon-fri for 8h",),
            ),
            "pool a: its nodes (at most 9) are replaced, at most 2 at a time (0 during 0 9 * * mon-fri for 8h), by "
            "NodePool spec.x",
        ),
    ],
)
def test_a_roll_is_told_in_one_sentence(roll: FleetRoll, text: str) -> None:
    assert roll_text(roll) == text
