"""Which fields of the objects that a stack renders cannot be changed in place: what the preview foretells
(preview/replaces.py) against the API server."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from components.crd.violation import path_of
from preview.recording import Recorded
from preview.render import render
from preview.replaces import effect_of
from preview.wire import reveal
from testbed.cluster.api import Api
from testbed.cluster.control_plane import ControlPlane
from tests.cluster.oracle.test_stacks import CHECKOUT, RELEASE
from tests.cluster.oracle.variations import Manifest, Steps, places

NATIVE = {
    "kubernetes:admissionregistration.k8s.io/v1:ValidatingAdmissionPolicy",
    "kubernetes:admissionregistration.k8s.io/v1:ValidatingAdmissionPolicyBinding",
    "kubernetes:apps/v1:DaemonSet",
    "kubernetes:node.k8s.io/v1:RuntimeClass",
    "kubernetes:scheduling.k8s.io/v1:PriorityClass",
}
"""Kinds of Kubernetes itself. What of Karpenter's objects is immutable is compared in test_changes.py."""
IMMUTABLE = ("immutable", "may not be changed")


def one_of_each_type() -> list[Recorded]:
    resources = render("prod", CHECKOUT).apply.resources
    objects = {one.type: one for one in resources if one.type.startswith("kubernetes:") and one.type != RELEASE}
    return [one for kind, one in sorted(objects.items()) if "karpenter" not in kind]


ALL = one_of_each_type()


def test_the_stack_has_an_object_of_each_native_type() -> None:
    assert {one.type for one in ALL} == NATIVE


@pytest.fixture(params=ALL, ids=lambda one: one.type.rpartition(":")[2])
def resource(request: pytest.FixtureRequest) -> Recorded:
    found: Recorded = request.param
    return found


@pytest.fixture
def standing(resource: Recorded, cluster: ControlPlane) -> Iterator[Manifest]:
    manifest: Manifest = reveal(dict(resource.inputs))
    cluster.api.must_apply(manifest)
    yield manifest
    cluster.api.delete(cluster.api.path_of(manifest))


def test_the_preview_knows_every_field_that_the_server_does_not_let_be_changed(
    resource: Recorded, standing: Manifest, cluster: ControlPlane, row: Callable[..., None]
) -> None:
    leaves = [steps for steps in places(standing) if is_leaf(standing, steps) and steps[0] not in NOT_SPEC]
    refused = {path_of(steps) for steps in leaves if is_immutable(cluster.api, standing, steps)}
    plain = Recorded(resource.urn, resource.type, resource.name, inputs=resource.inputs)
    foretold = {path_of(steps) for steps in leaves if effect_of(plain, path_of(steps)) != "update"}
    kind = resource.type.rpartition(":")[2]
    row(
        "Fields that cannot be changed in place",
        kind=kind,
        fields=len(leaves),
        refused=", ".join(sorted(refused)) or "none",
    )
    assert refused == foretold
    assert len(leaves) >= 2


def test_the_component_replaces_what_the_server_would_refuse() -> None:
    """So that no edit of a setting ends in an update that fails half way."""
    (priority,) = [one for one in ALL if one.type.endswith(":PriorityClass")]
    assert {path: effect_of(priority, path) for path in ("value", "preemptionPolicy", "description")} == {
        "value": "replace",
        "preemptionPolicy": "replace",
        "description": "update",
    }


NOT_SPEC = ("apiVersion", "kind", "metadata")


def is_leaf(value: Any, steps: Steps) -> bool:
    for step in steps:
        value = value[step]
    return isinstance(value, str | int | float)


def is_immutable(api: Api, standing: Manifest, steps: Steps) -> bool:
    """Whether the server refuses another value there because it may not be another."""
    changed = copy.deepcopy(standing)
    parent: Any = changed
    for step in steps[:-1]:
        parent = parent[step]
    value = parent[steps[-1]]
    parent[steps[-1]] = not value if isinstance(value, bool) else f"{value}x" if isinstance(value, str) else value + 1
    answer = api.apply(changed, dry_run=True)
    return not answer.ok and any(word in answer.message for word in IMMUTABLE)
