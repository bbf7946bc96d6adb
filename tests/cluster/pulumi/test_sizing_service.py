"""SizingService in the testbed's stack under the real CLI: when its webhook is there, and who owns what of it.

Nobody serves: the image is a made-up one, and KWOK calls every pod Ready that a node takes. That pods are not Ready is
shown by a node that they wait for. What admission does is shown in tests/cluster/admission.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest

from testbed.bed import Bed, open_bed
from testbed.processes import wait_until
from testbed.pulumi.steps import Outcome
from testbed.state import State

Object = dict[str, Any]
IMAGE = f"images.example/floodplain/service@sha256:{'0' * 64}"
PLACE = "testbed.floodplain.dev/services"
WEBHOOK = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/floodplain-sizing"
DEPLOYMENT = "/apis/apps/v1/namespaces/{}/deployments/floodplain-admission"
POOLS = "/api/v1/namespaces/{}/configmaps/floodplain-pools"
ADMISSION = "floodplain-admission"
"""The field manager as which the service writes."""
SETTINGS = {"floodplain:images": {"service": IMAGE}, "floodplain:sizing": {"nodeSelector": {PLACE: "true"}}}


@dataclass(frozen=True)
class Story:
    """What was said at each step and found after it."""

    previewed: Outcome
    webhook_while_waiting: Object | None
    up: Outcome
    made: Object
    """The webhook's configuration after `up`."""
    available_at: str
    edited: Outcome
    config_maps: tuple[Object, Object]
    """Before and after an edit of the pool."""
    refreshed: Outcome
    quiet: Outcome
    moved: Outcome
    configurations: tuple[Object, Object]
    """Before and after an update of it, with the authority that somebody else wrote."""
    last_preview: Outcome
    destroyed: Outcome
    left: list[str]


@pytest.fixture(scope="module")
def story() -> Iterator[Story]:
    with State() as state, open_bed(state, settings=SETTINGS) as bed:
        yield told(bed)


def told(bed: Bed) -> Story:
    api, previewed = bed.cluster.api, bed.project.preview()
    with ThreadPoolExecutor(1) as worker:
        update = worker.submit(bed.deploy)
        try:
            wait_until("admission's pods wait for a node", lambda: waiting(bed), timeout_seconds=300)
            early = api.find(WEBHOOK)
        finally:
            api.patch("/api/v1/nodes/system-1", {"metadata": {"labels": {PLACE: "true"}}})
        up = update.result()
    made, deployment = api.get(WEBHOOK), api.get(DEPLOYMENT.format("floodplain"))
    [available] = [one for one in deployment["status"]["conditions"] if one["type"] == "Available"]

    before = api.get(POOLS.format("floodplain"))
    bed.project.edit(lambda config: config["floodplain:pools"][0].update(limits={"cpu": "16", "memory": "64Gi"}))
    edited = bed.project.up()
    after = api.get(POOLS.format("floodplain"))

    trusted = with_authority(bed)
    refreshed, quiet = bed.project.refresh(), bed.project.up()
    bed.project.edit(lambda config: config["floodplain:sizing"].update(namespace="sizing"))
    moved = bed.project.up()
    return Story(
        previewed=previewed,
        webhook_while_waiting=early,
        up=up,
        made=made,
        available_at=available["lastTransitionTime"],
        edited=edited,
        config_maps=(before, after),
        refreshed=refreshed,
        quiet=quiet,
        moved=moved,
        configurations=(trusted, api.get(WEBHOOK)),
        last_preview=bed.project.preview(),
        destroyed=bed.project.destroy(),
        left=[
            path for path in (WEBHOOK, "/api/v1/namespaces/floodplain", "/api/v1/namespaces/sizing") if api.find(path)
        ],
    )


def waiting(bed: Bed) -> bool:
    pods = bed.cluster.api.items("/api/v1/pods", labelSelector="app.kubernetes.io/name=floodplain-admission")
    conditions = [one for pod in pods for one in pod["status"].get("conditions", ())]
    return [(one["type"], one["status"]) for one in conditions] == [("PodScheduled", "False")] * 2


def with_authority(bed: Bed) -> Object:
    """Write an authority into both entries, into one as admission does and into the other by server-side apply; the
    configuration then."""
    api = bed.cluster.api
    bundle = base64.b64encode(bed.cluster.authority.certificate.read_bytes()).decode()
    operation = {"op": "add", "path": "/webhooks/0/clientConfig/caBundle", "value": bundle}
    answer = api.request(
        "PATCH", WEBHOOK, [operation], content_type="application/json-patch+json", query={"fieldManager": ADMISSION}
    )
    assert answer.ok, answer.message
    found = answer.body
    entry = {"name": found["webhooks"][1]["name"], "clientConfig": {"caBundle": bundle}}
    mine = {key: found[key] for key in ("apiVersion", "kind")}
    answer = api.apply(
        {**mine, "metadata": {"name": found["metadata"]["name"]}, "webhooks": [entry]},
        field_manager="somebody",
        force=False,
    )
    assert answer.ok, answer.message
    return answer.body


def bundles(configuration: Object) -> list[str]:
    return [entry["clientConfig"].get("caBundle", "") for entry in configuration["webhooks"]]


def by_name(outcome: Outcome) -> dict[str, str]:
    return {urn.rpartition("::")[2]: op for urn, op in outcome.ops().items()}


def place(outcome: Outcome, op: str) -> dict[str, int]:
    """When `op` of each resource came to its end."""
    return {urn.rpartition("::")[2]: number for number, urn in enumerate(outcome.order(op))}


def of_admission(order: dict[str, int]) -> list[int]:
    """When it was the turn of admission's account, pods, Service and budget."""
    return [number for name, number in order.items() if name.startswith("platform-sizing-admission")]


def test_the_webhook_is_not_there_before_admissions_pods_are_ready(story: Story) -> None:
    assert story.webhook_while_waiting is None
    assert story.made["metadata"]["creationTimestamp"] >= story.available_at
    order = place(story.up, "create")
    assert len(of_admission(order)) >= 4
    assert order["platform-sizing-webhook"] > max(of_admission(order))
    assert order["platform-sizing-webhook"] > order["platform-swap-nodepool"]


def test_up_makes_what_the_preview_says(story: Story) -> None:
    assert story.previewed.ops() == story.up.ops()
    assert set(story.up.ops().values()) == {"create"}


def test_an_edit_of_a_pool_changes_its_config_map_in_place(story: Story) -> None:
    assert by_name(story.edited) == {"platform-swap-nodepool": "update", "platform-sizing-pools": "update"}
    before, after = story.config_maps
    assert before["metadata"]["uid"] == after["metadata"]["uid"]
    limits = [json.loads(one["data"]["pools.json"])["pools"][0]["limits"] for one in (before, after)]
    assert limits[0] != limits[1]


def test_an_authority_that_admission_wrote_is_no_change_to_refresh_and_up(story: Story) -> None:
    assert all(bundles(story.configurations[0]))
    assert set(by_name(story.refreshed)) <= {"platform-sizing-webhook"}
    assert story.quiet.ops() == {}


def test_an_update_of_the_configuration_leaves_the_authority_to_admission(story: Story) -> None:
    """Another namespace: the Services that it names are others."""
    before, after = story.configurations
    assert by_name(story.moved)["platform-sizing-webhook"] == "update"
    assert before["metadata"]["uid"] == after["metadata"]["uid"]
    named = [entry["clientConfig"]["service"]["namespace"] for entry in after["webhooks"]]
    assert named == ["sizing", "sizing"]
    assert bundles(after) == bundles(before)
    assert story.last_preview.ops() == {}


def test_the_webhook_goes_before_admission_and_the_pools(story: Story) -> None:
    order = place(story.destroyed, "delete")
    assert order["platform-sizing-webhook"] < min(of_admission(order))
    assert order["platform-sizing-webhook"] < order["platform-swap-nodepool"]
    assert max(order[name] for name in order if "unsized" in name) < order["platform-sizing-webhook"]


def test_nothing_of_it_is_left(story: Story) -> None:
    assert story.left == []
