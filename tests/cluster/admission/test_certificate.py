"""The certificate before a real API server: made with the rights that are rendered, rotated while it is asked."""

from __future__ import annotations

import base64
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pytest
from cryptography import x509

from testbed.processes import wait_until
from tests.cluster.admission.sizing_bed import (
    CONFIGURATION,
    ENFORCED,
    OURS,
    SECRET,
    SizingBed,
    configuration,
    get,
    pod,
)


@contextmanager
def asked_all_the_time(bed: SizingBed) -> Iterator[list[str]]:
    """Pods that ask are tried without a pause by two callers; the list fills with refusals."""
    refusals: list[str] = []
    answers = [0, 0]
    over = threading.Event()

    def ask(caller: int) -> None:
        while not over.is_set():
            found = bed.create(pod(f"asks-{caller}"), ENFORCED, dry_run=True)
            answers[caller] += 1
            if not found.ok:
                refusals.append(found.message)

    threads = [threading.Thread(target=ask, args=(caller,)) for caller in range(2)]
    for thread in threads:
        thread.start()
    try:
        wait_until("both callers have been answered", lambda: min(answers) > 0)
        yield refusals
        after = min(answers)
        wait_until("both callers were answered again", lambda: min(answers) > after + 1)
    finally:
        over.set()
        for thread in threads:
            thread.join()


def served(bed: SizingBed) -> str:
    """The certificate of a handshake now."""
    return ssl.get_server_certificate(("127.0.0.1", bed.port))


def text(certificate: bytes) -> str:
    return certificate.decode().strip()


def put(bed: SizingBed, key: str, value: bytes) -> None:
    assert bed.api.patch(SECRET, {"data": {key: base64.b64encode(value).decode()}}).ok


def test_the_secret_and_the_bundle_are_made_with_the_rights_of_the_component(bed: SizingBed) -> None:
    secret = bed.secret()
    assert bed.bundles() == [secret["ca.crt"], secret["ca.crt"]]
    names = x509.load_pem_x509_certificate(secret["tls.crt"]).extensions.get_extension_for_class(
        x509.SubjectAlternativeName
    )
    assert names.value.get_values_for_type(x509.DNSName) == [
        f"floodplain-admission.{OURS}.svc",
        f"floodplain-admission.{OURS}.svc.cluster.local",
    ]
    assert bed.process is not None
    metrics = get(bed.process, "/metrics").text.splitlines()
    assert "floodplain_admission_certificate_problem 0.0" in metrics
    assert "floodplain_admission_ca_bundle_current 1.0" in metrics


def test_a_renewed_certificate_is_served_and_nobody_is_refused(bed: SizingBed) -> None:
    before = bed.secret()
    with asked_all_the_time(bed) as refusals:
        put(bed, "tls.crt", b"spoilt")
        wait_until("another certificate is served", lambda: text(before["tls.crt"]) != served(bed).strip())
        after = bed.secret()
        assert served(bed).strip() == text(after["tls.crt"]) and after["ca.crt"] == before["ca.crt"]
    assert refusals == []


def test_an_authority_is_rotated_and_nobody_is_refused(bed: SizingBed) -> None:
    before = bed.secret()
    with asked_all_the_time(bed) as refusals:
        put(bed, "ca.key", b"spoilt")
        wait_until("another certificate is served", lambda: text(before["tls.crt"]) != served(bed).strip())
        after = bed.secret()
        assert served(bed).strip() == text(after["tls.crt"])
        assert after["previous-ca.crt"] == before["ca.crt"]
        assert bed.bundles() == [after["ca.crt"] + before["ca.crt"]] * 2
    assert refusals == []


def test_a_secret_that_was_deleted_is_made_again_and_nobody_is_refused(bed: SizingBed) -> None:
    before = bed.secret()
    with asked_all_the_time(bed) as refusals:
        assert bed.api.delete(SECRET).ok
        wait_until("another certificate is served", lambda: text(before["tls.crt"]) != served(bed).strip())
        assert bed.secret()["previous-ca.crt"] == before["ca.crt"]
    assert refusals == []


def test_a_second_replica_serves_the_same_certificate(bed: SizingBed) -> None:
    version = bed.api.get(SECRET)["metadata"]["resourceVersion"]
    with bed.replica() as other:
        port = int(other.url.rpartition(":")[2])
        assert ssl.get_server_certificate(("127.0.0.1", port)) == served(bed)
    assert bed.api.get(SECRET)["metadata"]["resourceVersion"] == version


def test_a_bundle_that_was_lost_comes_back(bed: SizingBed) -> None:
    """As when somebody applies the configuration anew with another tool."""
    gone = [{"op": "remove", "path": f"/webhooks/{position}/clientConfig/caBundle"} for position in (0, 1)]
    assert bed.api.patch(CONFIGURATION, gone, content_type="application/json-patch+json").ok
    wait_until("the bundle is back", lambda: all(bed.bundles()))
    wait_until("the API server calls admission again", bed.is_called)


def test_a_configuration_that_is_applied_anew_keeps_the_bundle(bed: SizingBed) -> None:
    """As `pulumi up` does by server-side apply, with something else changed."""
    before = bed.bundles()
    changed = configuration(bed.port)
    changed["metadata"]["labels"] = {**changed["metadata"]["labels"], "example.com/changed": "true"}
    applied = bed.api.must_apply(changed)
    assert applied["metadata"]["labels"]["example.com/changed"] == "true"
    assert [base64.b64decode(one["clientConfig"]["caBundle"]) for one in applied["webhooks"]] == before


def test_a_body_of_ten_megabytes_is_too_large_for_the_real_door_too(bed: SizingBed) -> None:
    trusted = ssl.create_default_context(cadata=bed.secret()["ca.crt"].decode())
    with httpx.Client(verify=trusted, trust_env=False, timeout=60) as client:
        found = client.post(f"https://127.0.0.1:{bed.port}/enforce", content=b" " * (10 << 20))
    assert found.status_code == 413


def test_it_may_read_its_own_secret_and_the_configuration_and_nothing_else(bed: SizingBed) -> None:
    others = (f"/api/v1/namespaces/{OURS}/secrets", "/api/v1/pods", "/api/v1/namespaces", f"{CONFIGURATION}-other")
    statuses = {path: bed.as_admission.request("GET", path).status for path in (SECRET, CONFIGURATION, *others)}
    assert statuses == {SECRET: 200, CONFIGURATION: 200, **dict.fromkeys(others, 403)}


@pytest.fixture(autouse=True)
def _settled(bed: SizingBed) -> Iterator[None]:
    """Each test begins with one authority that everybody trusts."""
    yield
    wait_until("admission is called", bed.is_called)
