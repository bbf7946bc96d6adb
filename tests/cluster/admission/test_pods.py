"""What becomes of a pod on its way into a real API server: in an observed namespace, in an enforced one, in others."""

from __future__ import annotations

import json
from typing import Any

import pytest

from floodplain.admission.decision import Mode
from floodplain.admission.review import answer
from floodplain.sizing.settings import SizingSettings
from tests.cluster.admission.sizing_bed import ENFORCED, OBSERVED, ODM, PLAIN, POOLS, Manifest, SizingBed, pod
from tests.floodplain.admission.objects import review

PLAN = "floodplain.dev/plan"
DENIED = 'admission webhook "enforce.sizing.floodplain.dev" denied the request: '


def created(bed: SizingBed, thing: Manifest, namespace: str, *, dry_run: bool = False) -> Manifest:
    found = bed.create(thing, namespace, dry_run=dry_run)
    assert found.ok, found.message
    if not dry_run:
        bed.api.delete(f"/api/v1/namespaces/{namespace}/pods/{thing['metadata']['name']}", grace_seconds=0)
    return found.body


def spec_of(made: Manifest) -> dict[str, Any]:
    """The spec without the name of the volume of the service account's token, which is random."""
    text = json.dumps(made["spec"])
    for volume in made["spec"].get("volumes", ()):
        if volume["name"].startswith("kube-api-access-"):
            text = text.replace(volume["name"], "kube-api-access")
    found: dict[str, Any] = json.loads(text)
    return found


def planned(made: Manifest) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(made["metadata"]["annotations"][PLAN])
    return found


def test_observe_changes_nothing_but_the_annotation(bed: SizingBed) -> None:
    observed = created(bed, pod("seen"), OBSERVED)
    untouched = created(bed, pod("seen"), PLAIN)
    assert spec_of(observed) == spec_of(untouched)
    assert set(observed["metadata"]["annotations"]) == {*ODM, PLAN}
    assert planned(observed)["mode"] == "observe"
    assert untouched["metadata"]["annotations"] == ODM


def test_enforce_sizes_and_the_runtime_class_of_the_pool_brings_selector_toleration_and_overhead(
    bed: SizingBed,
) -> None:
    """The API server runs its own plugins again after a webhook has changed a pod, RuntimeClass among them: the webhook
    names the class and nothing of what the class brings. Then it asks the webhook once more, which changes nothing."""
    sized, unchanged = bed.counted("enforce", "sized"), bed.counted("enforce", "unchanged")
    made = created(bed, pod("sized"), ENFORCED)
    assert (bed.counted("enforce", "sized"), bed.counted("enforce", "unchanged")) == (sized + 1, unchanged + 1)
    plan = answer(review(pod("sized")), POOLS, SizingSettings(), Mode.ENFORCE).decision.plan
    assert plan is not None
    (container,) = made["spec"]["containers"]
    amounts = container["resources"]
    assert planned(made)["mode"] == "enforce"
    (pool,) = [one for one in POOLS if one.name == plan.pool]
    assert made["spec"]["runtimeClassName"] == pool.runtime_class
    assert made["spec"]["nodeSelector"].items() >= pool.node_selector.items()
    taint = {"key": pool.taint.key, "operator": "Equal", "value": pool.taint.value, "effect": pool.taint.effect}
    tolerated = [one for one in made["spec"]["tolerations"] if one["key"] == pool.taint.key]
    assert [{"operator": "Equal", **one} for one in tolerated] == [taint]
    assert made["spec"]["overhead"] == {"memory": "16Mi"}
    assert amounts["limits"]["memory"] == f"{plan.limit_bytes >> 20}Mi"
    assert amounts["requests"]["memory"] == f"{plan.request_bytes >> 20}Mi"
    assert plan.limit_bytes - plan.request_bytes == 1 << 20
    assert "cpu" in amounts["requests"] and "cpu" not in amounts["limits"]


@pytest.mark.parametrize("namespace", [ENFORCED, OBSERVED])
def test_a_dry_run_says_what_would_be_made_and_makes_nothing(namespace: str, bed: SizingBed) -> None:
    tried = created(bed, pod("tried"), namespace, dry_run=True)
    assert bed.api.find(f"/api/v1/namespaces/{namespace}/pods/tried") is None
    made = created(bed, pod("tried"), namespace)
    assert spec_of(tried) == spec_of(made)
    assert tried["metadata"]["annotations"] == made["metadata"]["annotations"]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"floodplain.dev/images": "-5"}, ("floodplain.dev/images", "'-5'", "write a whole number from 1 to 1000000")),
        ({"floodplain.dev/images": "2.5"}, ("floodplain.dev/images", "'2.5'")),
        ({"floodplain.dev/images": "99999999999"}, ("floodplain.dev/images", "'99999999999'")),
        ({"floodplain.dev/options": "dsn"}, ("floodplain.dev/options", "dsn", "did you mean `dsm`?")),
        ({"floodplain.dev/container": "other"}, ("floodplain.dev/container", "'other'", "odm")),
        ({"floodplain.dev/engine": "nastran"}, ("floodplain.dev/engine", "'nastran'")),
    ],
)
def test_bad_input_is_refused_in_our_words_and_observed_with_a_warning(
    changes: dict[str, str], told: tuple[str, ...], bed: SizingBed
) -> None:
    wrong = pod("wrong", {**ODM, **changes})
    refused = bed.create(wrong, ENFORCED)
    assert refused.status == 400 and refused.message.startswith(f"{DENIED}floodplain cannot size this Pod: ")
    assert [one for one in told if one not in refused.message] == []
    observed = bed.create(wrong, OBSERVED, dry_run=True)
    assert observed.ok and any("floodplain cannot size this" in text for text in observed.warnings)
    problems = json.dumps(planned(observed.body)["problems"], ensure_ascii=False)
    assert told[0] in problems


def test_a_count_that_is_missing_is_refused(bed: SizingBed) -> None:
    refused = bed.create(pod("wrong", {"floodplain.dev/engine": "odm"}), ENFORCED)
    assert refused.status == 400 and "floodplain.dev/images" in refused.message and "is required" in refused.message


def test_a_job_too_large_for_every_pool_is_refused_with_reasons_and_advice(bed: SizingBed) -> None:
    refused = bed.create(pod("huge", {**ODM, "floodplain.dev/images": "900000"}), ENFORCED)
    assert refused.status == 422
    assert refused.message.startswith(f"{DENIED}floodplain has no place for this Pod (900000 images, a peak of ")
    assert "What helps: " in refused.message


def test_a_pod_of_argos_shape_gets_its_main_container_sized_and_the_other_counted(bed: SizingBed) -> None:
    resources = {"requests": {"memory": "100Mi", "cpu": "100m"}, "limits": {"memory": "100Mi"}}
    containers = [
        {"name": "wait", "image": "images.example/argoexec:1", "resources": resources},
        {"name": "main", "image": "images.example/odm:1"},
    ]
    made = created(bed, pod("argo", containers=containers), ENFORCED)
    wait, main = made["spec"]["containers"]
    assert wait["resources"] == resources
    alone = created(bed, pod("alone"), ENFORCED)["spec"]["containers"][0]["resources"]
    assert main["resources"]["limits"] == alone["limits"]
    # CPU goes by the share of the node's memory, and the other container takes its part of the node.
    assert int(main["resources"]["requests"]["cpu"][:-1]) < int(alone["requests"]["cpu"][:-1])


def test_where_no_container_is_known_to_be_the_job_it_has_to_be_named(bed: SizingBed) -> None:
    containers = [{"name": name, "image": "images.example/odm:1"} for name in ("one", "two")]
    ambiguous = bed.create(pod("either", containers=containers), ENFORCED)
    assert ambiguous.status == 400 and "floodplain.dev/container" in ambiguous.message


def test_a_limit_that_the_user_set_is_kept_and_a_limit_ranges_default_is_not(bed: SizingBed) -> None:
    limits = {"limits": [{"type": "Container", "default": {"memory": "1Gi"}, "defaultRequest": {"memory": "512Mi"}}]}
    limit_range = {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": {"name": "usual", "namespace": ENFORCED},
        "spec": limits,
    }
    without = created(bed, pod("plain"), ENFORCED)["spec"]["containers"][0]["resources"]
    bed.api.must_apply(limit_range)
    try:
        defaulted = created(bed, pod("defaulted"), ENFORCED)
        assert "memory limit" in defaulted["metadata"]["annotations"]["kubernetes.io/limit-ranger"]
        assert defaulted["spec"]["containers"][0]["resources"] == without
        chosen = {"limits": {"memory": "24Gi"}}
        containers = [{"name": "odm", "image": "images.example/odm:1", "resources": chosen}]
        kept = created(bed, pod("kept", containers=containers), ENFORCED)["spec"]["containers"][0]["resources"]
        assert (kept["limits"]["memory"], kept["requests"]["memory"]) == ("24Gi", "24575Mi")
    finally:
        bed.api.delete(bed.api.path_of(limit_range))


@pytest.mark.parametrize("namespace", [ENFORCED, OBSERVED, PLAIN])
def test_pods_that_do_not_ask_are_not_even_shown(namespace: str, bed: SizingBed) -> None:
    def asked() -> int:
        outcomes = ("sized", "explained", "unchanged", "ignored", "refused_input", "error")
        return sum(bed.counted(mode, outcome) for mode in ("enforce", "observe") for outcome in outcomes)

    before = asked()
    for quiet in ({}, {"floodplain.dev/images": "500"}, {"example.com/engine": "odm"}):
        created(bed, pod("quiet", quiet), namespace)
    bare = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "bare"}, "spec": pod("bare")["spec"]}
    created(bed, bare, namespace)
    assert asked() == before


def test_what_was_sized_once_is_left_alone_when_it_is_made_again(bed: SizingBed) -> None:
    """As `kubectl get -o yaml | kubectl replace --force` does."""
    made = created(bed, pod("again"), ENFORCED)
    copy = {**pod("again", made["metadata"]["annotations"]), "spec": made["spec"]}
    again = created(bed, copy, ENFORCED)
    assert spec_of(again) == spec_of(made)
    assert again["metadata"]["annotations"] == made["metadata"]["annotations"]
