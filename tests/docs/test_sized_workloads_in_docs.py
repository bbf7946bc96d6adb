"""Jobs, workflows and queues that a reader may copy are sized, and their pods pass the guardrails."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from components import pool_objects
from components.guardrail_rules import manifests
from components.guardrail_settings import GuardrailsSettings
from components.pool_document import pool_document
from docs.tables import ROOT
from floodplain.admission.annotations import INPUTS
from floodplain.admission.decide import decide
from floodplain.admission.decision import Decision, Mode, Outcome
from floodplain.admission.subject import Kind
from floodplain.sizing.settings import SizingSettings
from tests.components.guardrails.api_server import Request, admitted, judge
from tests.docs.pages import Block, blocks
from tests.docs.test_jobs_in_docs import PROD, SWAP
from tests.floodplain.admission.api_server import patched

PAGE = ROOT / "docs" / "how-to" / "size-pods-jobs-and-workflows.md"
CLASSES = [pool_objects.runtime_class(pool) for pool in PROD.pools]
POOLS = tuple(pool_document(pool, PROD.cluster_versions) for pool in PROD.pools)


def documents(kind: str) -> Iterator[tuple[Block, Any]]:
    """The documents of this kind on the page, each with its block."""
    for block in blocks("yaml"):
        if block.page == PAGE:
            yield from ((block, one) for one in yaml.safe_load_all(block.body) if one.get("kind") == kind)


JOBS = list(documents("Job"))
WORKFLOWS = list(documents("Workflow"))
(EXECUTOR,) = [
    yaml.safe_load(block.body)["config"]["floodplain:controllers"]["argoWorkflows"]["values"]["executor"]["resources"]
    for block in blocks("yaml")
    if block.page == PAGE and block.body.startswith("config:")
]


def enforced(thing: Any, kind: Kind) -> Decision:
    return decide(thing, kind, POOLS, SizingSettings(), Mode.ENFORCE)


def judged(pod: Any) -> tuple[Any, ...]:
    rules = GuardrailsSettings(cluster=PROD.cluster_versions, pools=PROD.pools)
    metadata = {"name": "one", "namespace": "jobs", **pod["metadata"]}
    return judge(manifests(rules), Request(admitted({**pod, "metadata": metadata}, CLASSES))).complaints


def pods_of(workflow: Any, executor: Any) -> Iterator[Any]:
    """A pod as Argo's controller makes it of each template, as far as sizing looks at it."""
    parameters = {one["name"]: one["value"] for one in workflow["spec"]["arguments"]["parameters"]}
    for template in workflow["spec"]["templates"]:
        own = {"resources": copy.deepcopy(executor)} if executor else {}
        container = {"name": "main", **copy.deepcopy(template["container"])}
        container["command"] = ["/var/run/argo/argoexec", "emissary", "--", *container["command"]]
        annotations = {
            key: value.replace("{{inputs.parameters.images}}", parameters["images"])
            for key, value in template["metadata"]["annotations"].items()
        }
        yield {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"annotations": {"kubectl.kubernetes.io/default-container": "main", **annotations}},
            "spec": {
                "restartPolicy": "Never",
                "activeDeadlineSeconds": workflow["spec"]["activeDeadlineSeconds"],
                "initContainers": [{"name": "init", "image": "argoexec", **copy.deepcopy(own)}],
                "containers": [{"name": "wait", "image": "argoexec", **own}, container],
            },
        }


def test_the_page_has_what_it_speaks_of() -> None:
    assert (len(JOBS), len(WORKFLOWS)) == (2, 1)


@pytest.mark.parametrize("job", [one for _, one in JOBS], ids=[str(block) for block, _ in JOBS])
def test_a_job_is_sized_and_its_pod_admitted_without_a_word(job: Any) -> None:
    decision = enforced(job, Kind.JOB)
    assert (decision.outcome, decision.warnings) == (Outcome.SIZED, ())
    pod = copy.deepcopy(patched(job, decision)["spec"]["template"])
    pod.setdefault("metadata", {})
    assert judged(pod) == ()


def test_a_workflows_pod_is_sized_and_admitted_without_a_word() -> None:
    ((_, workflow),) = WORKFLOWS
    for pod in pods_of(workflow, EXECUTOR):
        decision = enforced(admitted(pod, CLASSES), Kind.POD)
        assert (decision.outcome, decision.warnings) == (Outcome.SIZED, ())
        sized = patched(admitted(pod, CLASSES), decision)
        assert "limits" in sized["spec"]["containers"][1]["resources"]
        assert judged(sized) == ()


def test_without_limits_on_argos_own_containers_a_workflows_pod_is_refused_as_the_page_says() -> None:
    ((_, workflow),) = WORKFLOWS
    for pod in pods_of(workflow, None):
        refused = enforced(pod, Kind.POD)
        assert "nothing contains the memory of wait" in refused.message
        assert "nothing contains the memory of wait" in PAGE.read_text(encoding="utf-8")


def test_the_queue_covers_whatever_a_sized_job_requests_and_has_room_for_it() -> None:
    ((_, queue),) = documents("ClusterQueue")
    ((_, flavor),) = documents("ResourceFlavor")
    ((_, job),) = [(block, one) for block, one in JOBS if "labels" in one["metadata"]]
    (group,) = queue["spec"]["resourceGroups"]
    (container,) = patched(job, enforced(job, Kind.JOB))["spec"]["template"]["spec"]["containers"]
    assert set(container["resources"]["requests"]) == set(group["coveredResources"])
    assert [one["name"] for one in group["flavors"]] == [flavor["metadata"]["name"]]
    assert flavor["spec"] == {"nodeLabels": {"floodplain.dev/pool": SWAP.name}}


def test_every_annotation_is_described() -> None:
    rows = [line.split("`")[1] for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| `flood")]
    assert rows[: len(INPUTS)] == [*INPUTS]
