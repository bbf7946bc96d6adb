"""The testbed's stack under the real CLI from nothing to nothing: up, preview, up again, refresh, destroy.

One run, told step by step; the tests look at what each step said and left behind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from preview.recording import Recording
from preview.render import render
from testbed.bed import Bed, open_bed
from testbed.pulumi.steps import Outcome
from testbed.state import State
from tests.cluster.pulumi.inventory import (
    KEPT_CRDS,
    asked_of_aws,
    in_aws,
    in_the_cluster,
    kubernetes_objects,
    missing_or_different,
)

CHECKOUT = Path(__file__).parents[3]
Inventory = dict[str, list[Any]]
NOTHING_IN_THE_CLUSTER: Inventory = {
    "pools": [],
    "classes": [],
    "claims": [],
    "runtime classes": [],
    "daemon sets": [],
    "deployments": [],
    "policies": [],
    "bindings": [],
    "crds": [],
    "priority classes": [],
    "releases": [],
}


@dataclass(frozen=True)
class Story:
    """What was said at each step and found after it."""

    asked: Recording
    before: Inventory
    first_preview: Outcome
    after_preview: Inventory
    up: Outcome
    outputs: dict[str, Any]
    aws: Inventory
    cluster: Inventory
    differences: list[str]
    second_preview: Outcome
    second_up: Outcome
    refreshed: Outcome
    third_preview: Outcome
    destroyed: Outcome
    aws_after: Inventory
    cluster_after: Inventory
    refused_by_aws: list[str]
    checkout: tuple[dict[str, bytes], dict[str, bytes]]
    """What the CLI may write into in the checkout, before and after."""


@pytest.fixture(scope="module")
def story() -> Iterator[Story]:
    with State() as state, open_bed(state) as bed:
        yield _told(bed)


def _told(bed: Bed) -> Story:
    asked, written = render("testbed", CHECKOUT).apply, _writable()
    project = bed.project
    before, first_preview = in_aws(bed.aws), project.preview()
    after_preview, up = in_aws(bed.aws) | in_the_cluster(bed), bed.deploy()
    return Story(
        asked=asked,
        before=before,
        first_preview=first_preview,
        after_preview=after_preview,
        up=up,
        outputs=project.outputs(),
        aws=in_aws(bed.aws),
        cluster=in_the_cluster(bed),
        differences=[text for one in kubernetes_objects(asked.resources) for text in missing_or_different(bed, one)],
        second_preview=project.preview(),
        second_up=project.up(),
        refreshed=project.refresh(),
        third_preview=project.preview(),
        destroyed=project.destroy(),
        aws_after=in_aws(bed.aws),
        cluster_after=in_the_cluster(bed),
        refused_by_aws=[call.line() for call in bed.aws.calls("pulumi") if call.status >= 400],
        checkout=(written, _writable()),
    )


def _writable() -> dict[str, bytes]:
    files = (*CHECKOUT.glob("Pulumi*"), *(CHECKOUT / "stacks").glob("Pulumi*"))
    return {file.name: file.read_bytes() for file in files}


def test_a_preview_makes_nothing(story: Story) -> None:
    assert story.after_preview == story.before | NOTHING_IN_THE_CLUSTER


def test_up_makes_every_resource_that_the_offline_preview_lists(story: Story) -> None:
    listed = {one.urn for one in story.asked.resources}
    stack = "urn:pulumi:testbed::floodplain::pulumi:pulumi:Stack::floodplain-testbed"
    assert story.up.ops() == dict.fromkeys({*listed, stack}, "create")
    assert story.first_preview.ops() == story.up.ops()


def test_everything_asked_of_aws_is_there_and_nothing_else(story: Story) -> None:
    assert story.aws == {
        key: sorted([*story.before[key], *new]) for key, new in asked_of_aws(story.asked.resources).items()
    }


def test_every_object_is_in_the_cluster_as_it_was_rendered(story: Story) -> None:
    assert story.differences == []


def test_the_cluster_holds_what_the_stack_made_and_nothing_else(story: Story) -> None:
    assert story.cluster == {
        "pools": ["swap"],
        "classes": ["swap"],
        "claims": [],
        "runtime classes": ["floodplain-swap"],
        "daemon sets": ["floodplain-headroom-swap"],
        "deployments": ["karpenter"],
        "policies": ["floodplain-swap-advice", "floodplain-swap-containment"],
        "bindings": ["floodplain-swap-advice", "floodplain-swap-containment"],
        "crds": sorted(KEPT_CRDS),
        "priority classes": ["floodplain-swap"],
        "releases": ["karpenter", "karpenter-crd"],
    }


def test_the_stacks_outputs_are_those_of_the_offline_preview(story: Story) -> None:
    assert story.outputs == dict(story.asked.outputs)


def test_a_preview_then_shows_no_change(story: Story) -> None:
    assert story.second_preview.ops() == {}
    assert len(story.second_preview.steps) == len(story.up.steps)


def test_up_again_changes_nothing(story: Story) -> None:
    assert story.second_up.ops() == {}


def test_a_refresh_finds_everything_as_the_stack_left_it(story: Story) -> None:
    assert story.refreshed.ops() == {}
    assert story.third_preview.ops() == {}


def test_destroy_takes_every_resource(story: Story) -> None:
    assert story.destroyed.ops() == dict.fromkeys(story.up.ops(), "delete")


def test_destroy_leaves_only_the_crds(story: Story) -> None:
    assert story.aws_after == story.before
    assert story.cluster_after == NOTHING_IN_THE_CLUSTER | {"crds": sorted(KEPT_CRDS)}


def test_pools_go_first_then_their_class_then_the_controller_then_its_permissions(story: Story) -> None:
    order = story.destroyed.order("delete")
    place = {urn.rpartition("::")[2]: order.index(urn) for urn in order}
    aws = [order.index(urn) for urn in order if "$aws:" in urn]
    assert len(aws) == 32
    assert place["platform-swap-nodepool"] < place["platform-swap-nodeclass"]
    assert place["platform-swap-nodeclass"] < place["platform-karpenter-controller"]
    assert place["platform-karpenter-controller"] < min(aws)
    assert place["platform-karpenter-controller"] < place["platform-karpenter-crds"]
    # Pods may land on the pool for as long as it is there, so its rules stay longer.
    assert place["platform-swap-nodepool"] < min(
        place["platform-swap-containment-binding"], place["platform-swap-containment"]
    )
    for provider in ("platform-aws", "platform-kubernetes"):
        assert place[provider] > max(*aws, place["platform-swap-nodepool"], place["platform-karpenter-crds"])


def test_aws_refused_nothing_on_the_way(story: Story) -> None:
    assert story.refused_by_aws == []


def test_nobody_is_warned_of_anything_but_the_one_replica(story: Story) -> None:
    said = {
        one.message.removeprefix("warning: ")
        for outcome in (story.first_preview, story.up, story.second_preview, story.second_up)
        for one in outcome.diagnostics
        if "from $PATH" not in one.message
    }
    assert said == {"karpenter: replicas is 1: while that pod moves, no node is launched and no interruption is heard"}


def test_how_long_it_took(story: Story, row: Callable[..., None]) -> None:
    steps = {
        "preview of a new stack": story.first_preview,
        "up": story.up,
        "preview without a change": story.second_preview,
        "up without a change": story.second_up,
        "refresh": story.refreshed,
        "destroy": story.destroyed,
    }
    for name, outcome in steps.items():
        row("pulumi on the testbed's stack", step=name, seconds=f"{outcome.seconds:.1f}", steps=len(outcome.steps))
    assert all(outcome.seconds < 300 for outcome in steps.values())


def test_the_checkout_stays_as_it_is(story: Story) -> None:
    before, after = story.checkout
    assert after == before
