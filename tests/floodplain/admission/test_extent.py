"""Pods that list more than can be gone through while others wait."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from floodplain.admission.annotations import read
from floodplain.admission.decide import decide
from floodplain.admission.decision import Mode, Outcome
from floodplain.admission.extent import MOST, too_many
from floodplain.admission.record import written_in
from floodplain.admission.subject import Kind, Subject
from floodplain.admission.written import without
from floodplain.sizing.settings import SizingSettings
from tests.floodplain.admission.api_server import POOLS, patched
from tests.floodplain.admission.objects import ODM, container, job, pod
from tests.floodplain.sizing.example_pools import pool

_PLACE = "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"


def affinity(terms: list[Any]) -> dict[str, Any]:
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}


def spec_with(count: int) -> dict[str, dict[str, Any]]:
    """By the path that is told: a pod's spec with so many entries there."""
    one_term = {"matchExpressions": [{"key": "team", "operator": "Exists"}] * (count - 1)}
    one_expression = {"key": "team", "operator": "In", "values": ["maps"] * (count - 2)}
    return {
        "initContainers": {"initContainers": [container(f"init-{number}") for number in range(count)]},
        "tolerations": {"tolerations": [{"key": f"key-{number}"} for number in range(count)]},
        "nodeSelector": {"nodeSelector": {f"key-{number}": "" for number in range(count)}},
        f"{_PLACE} (terms)": {"affinity": affinity([{}] * count)},
        f"{_PLACE} (expressions)": {"affinity": affinity([one_term])},
        f"{_PLACE} (values)": {"affinity": affinity([{"matchExpressions": [one_expression]}])},
    }


@pytest.mark.parametrize("place", spec_with(MOST))
def test_so_many_entries_are_read_and_one_more_is_told_by_its_place(place: str) -> None:
    assert not list(too_many(Subject(Kind.POD, pod(**spec_with(MOST)[place]))))
    told = [problem.path for problem in too_many(Subject(Kind.JOB, job(**spec_with(MOST + 1)[place])))]
    assert told == [f"spec.template.spec.{place.partition(' ')[0]}"]


def test_too_many_containers_are_refused_in_enforce_and_let_pass_in_observe() -> None:
    thing = pod(*(container(f"tool-{number}") for number in range(MOST + 1)))
    refused = decide(thing, Kind.POD, [pool("swap")], SizingSettings(), Mode.ENFORCE)
    assert (refused.allowed, refused.outcome, refused.code) == (False, Outcome.REFUSED_INPUT, 400)
    assert refused.message == (
        "floodplain cannot size this Pod: spec.containers: has more than 1000 entries; write fewer"
    )
    observed = decide(thing, Kind.POD, [pool("swap")], SizingSettings(), Mode.OBSERVE)
    assert (observed.allowed, observed.patch) == (True, ())
    assert observed.warnings == (
        "floodplain cannot size this: spec.containers: has more than 1000 entries; write fewer",
    )


@pytest.mark.parametrize("wrong", ["text", 7, None, [None, 1, {"matchExpressions": {"a": "b"}}], {"a": [1]}])
def test_whatever_stands_in_the_place_of_a_list_counts_as_it_is(wrong: Any) -> None:
    spec = {"initContainers": wrong, "tolerations": wrong, "nodeSelector": wrong, "affinity": affinity(wrong)}
    assert not list(too_many(Subject(Kind.POD, pod(**spec))))


def test_what_was_sent_stays_as_it_is_and_what_a_plan_leaves_alone_is_not_copied() -> None:
    first = decide(pod(container(requests={"memory": "1Gi"})), Kind.POD, POOLS, SizingSettings(), Mode.ENFORCE)
    thing = patched(pod(container(requests={"memory": "1Gi"})), first)
    thing["spec"]["volumes"] = [{"name": "datasets"}]
    thing["spec"]["containers"][0]["env"] = [{"name": "LARGE", "value": "x"}]
    sent = copy.deepcopy(thing)
    written = written_in(thing["metadata"]["annotations"]["floodplain.dev/plan"])
    before = without(thing, written)
    assert (thing, before == sent) == (sent, False)
    assert before["spec"]["volumes"] is thing["spec"]["volumes"]
    assert before["spec"]["containers"][0]["env"] is thing["spec"]["containers"][0]["env"]
    again = decide(thing, Kind.POD, POOLS, SizingSettings(), Mode.ENFORCE)
    assert (thing, again.outcome) == (sent, Outcome.UNCHANGED)


def test_of_thousands_of_misspelt_annotations_the_first_are_told() -> None:
    strange = {f"floodplain.dev/image{number}": "1" for number in range(5000)}
    reading = read(Subject(Kind.POD, pod(annotations={**ODM, **strange})))
    assert len(reading.warnings) == 50
    assert reading.warnings[0] == (
        "metadata.annotations[floodplain.dev/image0] is not read: did you mean floodplain.dev/images?"
    )
