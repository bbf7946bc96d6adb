"""Our models of NodePool and EC2NodeClass against the API server with Karpenter's own CRDs: new objects."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

import pytest

from testbed.cluster.control_plane import ControlPlane
from tests.cluster.oracle.agreement import Manifest, compare
from tests.cluster.oracle.answer_places import places
from tests.cluster.oracle.variations import variations
from tests.components.crd.cases import cases
from tests.components.crd.mutations import mutations

CORPUS = [case for case in cases() if case.before is None]
VALID = [case for case in CORPUS if case.file == "valid"]
SEED, WALKS = 20261130, 1500


def written() -> list[tuple[str, Manifest]]:
    return [(case.label, case.manifest) for case in CORPUS]


def broken_in_one_place() -> list[tuple[str, Manifest]]:
    return [(f"{one.rule.kind} {one.rule.identity} {one.rule.value}", one.manifest) for one in mutations(VALID)]


def walks() -> list[tuple[str, Manifest]]:
    return list(variations(CORPUS, SEED, WALKS))


GROUPS: dict[str, tuple[Callable[[], list[tuple[str, Manifest]]], int]] = {
    "written by hand": (written, 330),
    "one rule broken": (broken_in_one_place, 150),
    "generated": (walks, WALKS),
}
"""Each with the least number of objects that it must hold."""


@pytest.mark.parametrize("group", GROUPS)
def test_the_model_refuses_what_the_server_refuses_and_for_the_same_places(
    group: str, cluster: ControlPlane, row: Callable[..., None]
) -> None:
    objects, least = GROUPS[group]
    found = compare(objects(), partial(cluster.api.create, dry_run=True))
    found.report(row, f"create: {group}")
    assert "\n".join(found.unexplained) == ""
    assert found.objects >= least
    assert min(found.accepted, found.refused) >= (0 if group == "one rule broken" else found.objects // 20)


def test_server_side_apply_judges_objects_without_nulls_like_create(
    cluster: ControlPlane, row: Callable[..., None]
) -> None:
    objects = [
        (label, manifest)
        for label, manifest in [*written(), *variations(CORPUS, SEED + 1, WALKS // 4)]
        if has_a_name(manifest) and not holds_null(manifest)
    ]
    found = compare(objects, partial(cluster.api.apply, dry_run=True))
    found.report(row, "server-side apply")
    assert "\n".join(found.unexplained) == ""
    assert found.objects >= 600


def test_server_side_apply_refuses_a_null_that_create_takes_for_not_set(cluster: ControlPlane) -> None:
    """Pulumi sends apply patches; what our models render holds no null (`CrdModel.fragment`)."""
    (nulls,) = (case.manifest for case in VALID if case.name == "nulls count as not set")
    assert cluster.api.create(nulls, dry_run=True).status == 201
    answer = cluster.api.apply(nulls, dry_run=True)
    assert (answer.status, set(places(answer))) == (
        422,
        {
            "spec.limits.cpu",
            "spec.template.metadata",
            "spec.template.spec.requirements.0.minValues",
            "spec.template.spec.requirements.0.values",
            "spec.template.spec.taints.0.value",
            "spec.weight",
        },
    )


def has_a_name(manifest: Manifest) -> bool:
    metadata = manifest.get("metadata")
    return isinstance(metadata, dict) and re.fullmatch(r"[a-z0-9.-]+", str(metadata.get("name"))) is not None


def holds_null(value: object) -> bool:
    if isinstance(value, dict):
        return any(holds_null(item) for item in value.values())
    return any(holds_null(item) for item in value) if isinstance(value, list) else value is None
