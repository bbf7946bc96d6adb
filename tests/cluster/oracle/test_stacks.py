"""Every Kubernetes object that our stacks render is taken by a real API server, whole and without a warning."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from preview.render import render
from preview.wire import reveal
from testbed.cluster.api import Answer
from testbed.cluster.control_plane import ControlPlane
from testbed.processes import wait_until
from tests.cluster.oracle.agreement import compare

CHECKOUT = Path(__file__).parent.parent.parent.parent
STACKS = sorted(path.name.split(".")[1] for path in (CHECKOUT / "stacks").glob("Pulumi.*.yaml"))
RELEASE = "kubernetes:helm.sh/v3:Release"
"""A chart, not an object."""
KINDS = {
    "DaemonSet",
    "EC2NodeClass",
    "NodePool",
    "PriorityClass",
    "RuntimeClass",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
}

Manifest = dict[str, Any]


@cache
def objects(stack: str) -> tuple[Manifest, ...]:
    resources = render(stack, CHECKOUT).apply.resources
    return tuple(
        reveal(dict(one.inputs)) for one in resources if one.type.startswith("kubernetes:") and one.type != RELEASE
    )


def name(thing: Manifest) -> str:
    return f"{thing['kind']} {thing['metadata']['name']}"


@pytest.fixture(params=STACKS)
def stack(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_there_are_stacks_and_each_renders_objects_of_every_kind() -> None:
    assert {"dev", "hotosm", "prod", "staging"} <= set(STACKS)
    assert [{thing["kind"] for thing in objects(stack)} >= KINDS for stack in STACKS] == [True] * len(STACKS)


@pytest.mark.parametrize("way", ["create", "apply"])
def test_the_server_takes_every_object_without_a_warning(way: str, stack: str, cluster: ControlPlane) -> None:
    ask: Callable[..., Answer] = getattr(cluster.api, way)
    answers = {name(thing): ask(thing, dry_run=True) for thing in objects(stack)}
    assert {
        thing: (answer.status, answer.message, answer.warnings) for thing, answer in answers.items()
    } == dict.fromkeys(answers, (201, "", ()))


def test_our_models_say_of_pools_and_classes_what_the_server_says(
    stack: str, cluster: ControlPlane, row: Callable[..., None]
) -> None:
    karpenters = [(name(one), one) for one in objects(stack) if one["kind"] in ("NodePool", "EC2NodeClass")]
    found = compare(karpenters, lambda thing: cluster.api.create(thing, dry_run=True))
    found.report(row, f"stack {stack}")
    assert found.unexplained == []
    assert found.accepted == len(karpenters) >= 2


@pytest.fixture
def applied(stack: str, cluster: ControlPlane) -> Iterator[dict[str, Manifest]]:
    """What the server keeps of each object of a stack, by name."""
    ours = [*objects(stack)]
    kept = {name(thing): cluster.api.must_apply(thing) for thing in ours}
    yield kept
    for thing in reversed(ours):
        cluster.api.delete(cluster.api.path_of(thing))
    wait_until(
        f"the objects of stack {stack} are gone",
        lambda: all(cluster.api.find(cluster.api.path_of(thing)) is None for thing in ours),
    )


def test_the_server_keeps_every_value_as_it_was_written(stack: str, applied: dict[str, Manifest]) -> None:
    assert {name(thing): lost(thing, applied[name(thing)]) for thing in objects(stack)} == {key: [] for key in applied}


def test_applying_a_stack_again_changes_nothing(
    stack: str, applied: dict[str, Manifest], cluster: ControlPlane
) -> None:
    again = {name(thing): cluster.api.must_apply(thing) for thing in objects(stack)}
    assert {key: one["metadata"].get("generation") for key, one in again.items()} == {
        key: one["metadata"].get("generation") for key, one in applied.items()
    }
    assert {key: one.get("spec") for key, one in again.items()} == {
        key: one.get("spec") for key, one in applied.items()
    }


def lost(ours: Any, kept: Any, at: str = "") -> list[str]:
    """What of `ours` the server left out or wrote differently."""
    if isinstance(ours, dict) and isinstance(kept, dict):
        return [text for key, value in ours.items() for text in lost(value, kept.get(key), f"{at}.{key}")]
    if isinstance(ours, list) and isinstance(kept, list) and len(ours) == len(kept):
        return [
            text for n, (one, two) in enumerate(zip(ours, kept, strict=True)) for text in lost(one, two, f"{at}[{n}]")
        ]
    if ours is False and kept is None:  # Go leaves out a false that counts as "not set"
        return []
    return [] if ours == kept else [f"{at}: {ours!r} is kept as {kept!r}"]
