"""The webhook's CA: there, fresh, and the one whose key the service has."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from floodplain.doctor.finding import Severity
from floodplain.doctor.seen import Cluster, WebhookSeen
from floodplain.doctor.webhook_ca import check
from tests.floodplain.doctor.clusters import NOW, WELL


def authority(until: datetime, since: datetime | None = None) -> bytes:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "floodplain")])
    built = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(since or datetime(2020, 1, 1, tzinfo=UTC))
        .not_valid_after(until)
        .sign(key, hashes.SHA256())
    )
    return built.public_bytes(serialization.Encoding.PEM)


FRESH = authority(NOW + timedelta(days=14))
OTHER = authority(NOW + timedelta(days=300))
ENTRY = "enforce.sizing.floodplain.dev"


def cluster(bundle: bytes, secret: bytes | None = None) -> Cluster:
    return replace(WELL, webhook=WebhookSeen("floodplain-sizing", ((ENTRY, bundle),)), secret_ca=secret)


CASES: dict[str, tuple[Cluster, tuple[str, str, str]]] = {
    "fresh": (cluster(FRESH), ("ok", "webhook floodplain-sizing", f"the CA of {ENTRY} is fresh")),
    "the Secret's": (cluster(FRESH, FRESH), ("ok", "webhook floodplain-sizing", f"the CA of {ENTRY} is fresh")),
    "the Secret's among others, while it is changed": (
        cluster(FRESH + OTHER, OTHER),
        ("ok", "webhook floodplain-sizing", f"the CA of {ENTRY} is fresh"),
    ),
    "not written": (
        cluster(b""),
        ("error", f"webhook {ENTRY}", "has no CA bundle: the API server cannot call it"),
    ),
    "nonsense": (
        cluster(b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"),
        ("error", f"webhook {ENTRY}", "has a CA bundle without a certificate that can be read"),
    ),
    "about to expire": (
        cluster(authority(NOW + timedelta(days=13, hours=23))),
        ("warning", f"webhook {ENTRY}", "its CA expires on 2026-08-15"),
    ),
    "expired": (
        cluster(authority(NOW)),
        ("error", f"webhook {ENTRY}", "its CA expired on 2026-08-01: the API server refuses the service"),
    ),
    "not yet valid": (
        cluster(authority(NOW + timedelta(days=300), since=NOW + timedelta(hours=1))),
        ("error", f"webhook {ENTRY}", "its CA is not valid yet: clocks differ"),
    ),
    "another than the Secret's": (
        cluster(FRESH, OTHER),
        (
            "error",
            f"webhook {ENTRY}",
            "its CA is not the one in the Secret: the API server refuses what the service shows",
        ),
    ),
    "a Secret that holds none": (
        cluster(FRESH, b"?"),
        ("error", f"webhook {ENTRY}", "the Secret's ca.crt holds no certificate that can be read"),
    ),
}


@pytest.mark.parametrize(("seen", "expected"), CASES.values(), ids=CASES)
def test_the_ca_of_the_webhook_is_judged(seen: Cluster, expected: tuple[str, str, str]) -> None:
    assert [(one.severity.value, one.object, one.seen) for one in check(seen)] == [expected]


def test_without_a_webhook_there_is_nothing_to_say() -> None:
    assert list(check(WELL)) == []


def test_every_entry_is_judged_for_itself() -> None:
    both = WebhookSeen("floodplain-sizing", (("observe", FRESH), ("enforce", b"")))
    found = [(one.object, one.severity) for one in check(replace(WELL, webhook=both))]
    assert found == [("webhook enforce", Severity.ERROR)]
