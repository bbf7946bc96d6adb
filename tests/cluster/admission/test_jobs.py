"""Jobs and the pods that the real controller manager makes of them."""

from __future__ import annotations

from typing import Any

import pytest

from testbed.cluster.api import MERGE
from testbed.processes import wait_until
from tests.cluster.admission.sizing_bed import ENFORCED, OBSERVED, Manifest, SizingBed, job, pods_of

PLAN = "floodplain.dev/plan"


def path(name: str, namespace: str = ENFORCED) -> str:
    return f"/apis/batch/v1/namespaces/{namespace}/jobs/{name}"


def made(bed: SizingBed, thing: Manifest, namespace: str = ENFORCED) -> Manifest:
    found = bed.create(thing, namespace)
    assert found.ok, found.message
    return found.body


def resources(holder: Manifest) -> Any:
    (container,) = holder["spec"]["containers"]
    return container.get("resources")


@pytest.mark.parametrize("parallelism", [1, 3])
def test_a_job_is_sized_and_its_pods_keep_the_templates_figures(parallelism: int, bed: SizingBed) -> None:
    name = f"job-{parallelism}"
    template = made(bed, job(name, parallelism=parallelism, completions=parallelism))["spec"]["template"]
    assert "memory" in resources(template)["limits"]
    # The pool's label comes with the RuntimeClass, which the API server works into pods and not into templates.
    assert template["spec"]["nodeSelector"] == {"karpenter.sh/capacity-type": "spot"}
    wait_until("the Job has its pods", lambda: len(pods_of(bed.api, ENFORCED, name)) == parallelism)
    for one in pods_of(bed.api, ENFORCED, name):
        assert resources(one) == resources(template)
        assert one["metadata"]["annotations"][PLAN] == template["metadata"]["annotations"][PLAN]
        assert one["spec"]["runtimeClassName"] == template["spec"]["runtimeClassName"]
        assert "overhead" in one["spec"] and "floodplain.dev/pool" in one["spec"]["nodeSelector"]
    bed.api.delete(path(name))


def test_a_suspended_job_as_kueue_sees_it_has_its_figures_before_it_has_a_pod(bed: SizingBed) -> None:
    template = made(bed, job("queued", suspend=True))["spec"]["template"]
    figures = resources(template)
    assert "memory" in figures["requests"]
    wait_until(
        "the Job is seen to be suspended",
        lambda: any(one["type"] == "Suspended" for one in bed.api.get(path("queued"))["status"].get("conditions", ())),
    )
    assert pods_of(bed.api, ENFORCED, "queued") == []
    # What Kueue does on admission: it names a flavour's nodes and lets the Job go.
    flavour = {"spec": {"suspend": False, "template": {"spec": {"nodeSelector": {"example.com/flavour": "large"}}}}}
    assert bed.api.patch(path("queued"), flavour, content_type=MERGE).ok
    (one,) = wait_until("the Job has its pod", lambda: pods_of(bed.api, ENFORCED, "queued"))
    assert resources(one) == figures
    assert one["spec"]["nodeSelector"]["example.com/flavour"] == "large"
    bed.api.delete(path("queued"))


def test_an_observed_job_is_explained_and_its_pods_are_as_the_user_wrote_them(bed: SizingBed) -> None:
    thing = job("seen")
    explained = made(bed, thing, OBSERVED)
    assert resources(explained["spec"]["template"]) in (None, {})
    assert PLAN in explained["metadata"]["annotations"]
    (one,) = wait_until("the Job has its pod", lambda: pods_of(bed.api, OBSERVED, "seen"))
    assert resources(one) in (None, {})
    assert "runtimeClassName" not in one["spec"] and PLAN in one["metadata"]["annotations"]
    bed.api.delete(path("seen", OBSERVED))


def test_a_bad_job_is_refused_when_it_is_made_and_not_when_its_pods_are(bed: SizingBed) -> None:
    refused = bed.create(job("wrong", {"floodplain.dev/engine": "odm", "floodplain.dev/images": "many"}), ENFORCED)
    assert refused.status == 400
    assert "floodplain cannot size this Job: spec.template.metadata.annotations" in refused.message
