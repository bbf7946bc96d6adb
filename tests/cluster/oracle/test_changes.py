"""Our models against the API server: objects that replace one in the cluster, and what of it cannot be changed."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from components.crd import Violation, changed_immutably
from testbed.cluster.api import Answer
from testbed.cluster.control_plane import ControlPlane
from tests.cluster.oracle.agreement import Agreement, Manifest, compare, crd_violations
from tests.cluster.oracle.variations import variations
from tests.components.crd.cases import Case, cases

ALL = cases()
NEW = [case for case in ALL if case.before is None]
VALID = [case for case in NEW if case.file == "valid"]
CHANGES = [case for case in ALL if case.before is not None]
SEED, WALKS = 20261201, 800


class Replaced:
    """An object in the cluster under a name of its own, and what would be said of others in its place."""

    def __init__(self, cluster: ControlPlane, name: str, manifest: Manifest) -> None:
        self._api = cluster.api
        self._name = name
        self.manifest = _named(manifest, name)
        answer = self._api.create(self.manifest)
        assert answer.ok, answer.message
        self._path = self._api.path_of(self.manifest)
        self._version = answer.body["metadata"]["resourceVersion"]

    @property
    def label(self) -> str:
        return self._path

    def can_become(self, manifest: Manifest) -> bool:
        """Whether `manifest` can be sent in its place at all."""
        same = all(manifest.get(key) == self.manifest[key] for key in ("apiVersion", "kind"))
        return same and isinstance(manifest.get("metadata"), dict)

    def ask(self, manifest: Manifest) -> Answer:
        named = _named(manifest, self._name)
        named["metadata"]["resourceVersion"] = self._version
        return self._api.request("PUT", self._path, named, query={"dryRun": "All", "fieldValidation": "Strict"})

    def judge(self, manifest: Manifest) -> list[Violation]:
        named = _named(manifest, self._name)
        return [*crd_violations(named), *changed_immutably(self.manifest, named)]

    def remove(self) -> None:
        self._api.delete(self._path)


def _named(manifest: Manifest, name: str) -> dict[str, Any]:
    """The same under another name, without what only the server gives and what would hold up its removal."""
    named: dict[str, Any] = copy.deepcopy(dict(manifest))
    kept = {key: value for key, value in named["metadata"].items() if key not in ("generateName", "uid", "finalizers")}
    named["metadata"] = {**kept, "name": name}
    return named


@pytest.fixture
def replaced(cluster: ControlPlane) -> Iterator[Callable[[Manifest], Replaced]]:
    made: list[Replaced] = []

    def make(manifest: Manifest) -> Replaced:
        made.append(Replaced(cluster, f"oracle-{len(made)}", manifest))
        return made[-1]

    yield make
    for one in made:
        one.remove()


@pytest.mark.parametrize("case", CHANGES, ids=lambda case: case.label)
def test_a_change_is_refused_as_the_corpus_says(case: Case, replaced: Callable[[Manifest], Replaced]) -> None:
    assert case.before is not None
    before = replaced(case.before)
    found = compare([(case.label, case.manifest)], before.ask, before.judge)
    assert found.unexplained == []
    assert ("accept" if found.accepted else "reject") == case.verdict_api


def test_a_right_object_in_place_of_each_other_is_judged_alike(
    replaced: Callable[[Manifest], Replaced], row: Callable[..., None]
) -> None:
    found = Agreement()
    for case in VALID:
        before = replaced(case.manifest)
        others = [(f"{other.label} in place of {case.label}", other.manifest) for other in VALID]
        compare([one for one in others if before.can_become(one[1])], before.ask, before.judge, found)
    found.report(row, "update: right for right")
    assert "\n".join(found.unexplained) == ""
    assert (found.objects >= 140, found.refused >= 10, found.accepted >= 100) == (True, True, True)


def test_a_generated_object_in_place_of_a_right_one_is_judged_alike(
    replaced: Callable[[Manifest], Replaced], row: Callable[..., None]
) -> None:
    found, chance = Agreement(), random.Random(SEED)
    standing = [replaced(case.manifest) for case in VALID]
    for label, manifest in variations(NEW, SEED, WALKS):
        before = [one for one in standing if one.can_become(manifest)]
        if before:
            chosen = chance.choice(before)
            compare([(f"{label} in place of {chosen.label}", manifest)], chosen.ask, chosen.judge, found)
    found.report(row, "update: generated")
    assert "\n".join(found.unexplained) == ""
    assert (found.objects >= WALKS * 0.9, found.accepted >= WALKS * 0.2) == (True, True)
