"""Admission is not there: who waits, who is refused, and who does not notice."""

from __future__ import annotations

import base64
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from floodplain.service.authority import Step, carry_out, service_names
from testbed.processes import wait_until
from tests.cluster.admission.sizing_bed import ENFORCED, OBSERVED, OURS, PLAIN, SECRET, SizingBed, job, pod, pods_of


@pytest.fixture
def down(stopped_bed: SizingBed) -> SizingBed:
    return stopped_bed


def test_a_bare_pod_that_asks_is_refused_with_a_message_and_every_other_pod_starts(down: SizingBed) -> None:
    refused = down.create(pod("asks"), ENFORCED)
    assert refused.status == 500
    assert refused.message.startswith(
        'Internal error occurred: failed calling webhook "enforce.sizing.floodplain.dev": failed to call webhook: '
    )
    assert down.create(job("asks"), ENFORCED).message.startswith(refused.message[:70])
    started = {
        (namespace, name): down.create(pod(name, annotations), namespace).ok
        for namespace in (ENFORCED, OBSERVED, PLAIN)
        for name, annotations in (("asks", None), ("quiet", {}))
        if (namespace, name) != (ENFORCED, "asks")
    }
    assert set(started.values()) == {True} and len(started) == 5
    for namespace, name in started:
        down.api.delete(f"/api/v1/namespaces/{namespace}/pods/{name}", grace_seconds=0)


def test_pods_of_a_job_wait_and_start_when_it_is_back(down: SizingBed) -> None:
    path = f"/apis/batch/v1/namespaces/{ENFORCED}/jobs/waits"
    with down.serving():
        template = made(down, job("waits", suspend=True))["spec"]["template"]
    assert down.api.patch(path, {"spec": {"suspend": False}}).ok
    events = f"/api/v1/namespaces/{ENFORCED}/events"

    def told() -> list[dict[str, Any]]:
        found = down.api.items(events, fieldSelector="involvedObject.kind=Job,involvedObject.name=waits")
        return [one for one in found if one["reason"] == "FailedCreate"]

    event = wait_until("the Job says that its pod cannot be made", told)[0]
    assert 'failed calling webhook "enforce.sizing.floodplain.dev"' in event["message"]
    assert pods_of(down.api, ENFORCED, "waits") == []
    with down.serving():
        (one,) = wait_until("the Job has its pod", lambda: pods_of(down.api, ENFORCED, "waits"), timeout_seconds=120)
    (container,), (wanted,) = one["spec"]["containers"], template["spec"]["containers"]
    assert container["resources"] == wanted["resources"]
    down.api.delete(path)


def test_material_that_ended_while_nobody_looked_is_replaced_at_the_start(down: SizingBed) -> None:
    """Two years ago, for the same names: as after a restore of a backup."""
    then = datetime.now(UTC) - timedelta(days=730)
    ended = carry_out(Step.NEW, None, (*service_names("floodplain-admission", OURS), "127.0.0.1"), then)
    with down.serving():
        pass
    data = {key: base64.b64encode(value).decode() for key, value in ended.secret_data().items()}
    assert down.api.patch(SECRET, {"data": data}).ok
    with down.serving() as process:
        pass
    now = down.secret()
    assert now["ca.crt"] != ended.ca_certificate and now["previous-ca.crt"] == b""
    reasons = [line["reason"] for line in process.rest_of_log() if line["event"] == "certificates written"]
    assert reasons == [f"the authority's certificate ended {then + timedelta(days=365):%Y-%m-%d %H:%M} UTC"]


def made(bed: SizingBed, thing: dict[str, Any]) -> dict[str, Any]:
    found = bed.create(thing, ENFORCED)
    assert found.ok, found.message
    return found.body
