"""When admission's keys are made anew, and that what it makes is trusted by whoever goes by the bundle."""

from __future__ import annotations

import dataclasses
import ssl
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from cryptography.x509.verification import PolicyBuilder, Store
from hypothesis import given
from hypothesis import strategies as st

from floodplain.service.authority import (
    Decision,
    Material,
    Step,
    carry_out,
    decide,
    material_of,
    not_after,
    service_names,
)

BEGIN = datetime(2027, 3, 1, 12, 0, tzinfo=UTC)
NAMES = service_names("floodplain-admission", "floodplain")
DAY = timedelta(days=1)
HOUR = timedelta(hours=1)
MADE = carry_out(Step.NEW, None, NAMES, BEGIN)
OTHER = carry_out(Step.NEW, None, NAMES, BEGIN)


def after(step: Step, material: Material, time: datetime) -> Material:
    return carry_out(step, material, NAMES, time)


def trusts(bundle: bytes, certificate: bytes, name: str, time: datetime) -> bool:
    """Whether a verifier that goes by `bundle` takes `certificate` for `name` at `time`."""
    store = Store(x509.load_pem_x509_certificates(bundle))
    verifier = PolicyBuilder().store(store).time(time).build_server_verifier(x509.DNSName(name))
    try:
        verifier.verify(x509.load_pem_x509_certificate(certificate), [])
    except x509.verification.VerificationError:
        return False
    return True


def not_ours() -> Material:
    """A sound pair, but of an authority that somebody else made."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "the company's authority")])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(BEGIN)
        .not_valid_after(BEGIN + 3650 * DAY)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
        .public_bytes(serialization.Encoding.PEM)
    )
    return dataclasses.replace(MADE, ca_certificate=certificate)


def test_names_are_those_that_the_api_server_and_pods_call_a_service() -> None:
    assert NAMES == ("floodplain-admission.floodplain.svc", "floodplain-admission.floodplain.svc.cluster.local")


def test_an_authority_lives_a_year_and_a_serving_certificate_ninety_days() -> None:
    assert (not_after(MADE.ca_certificate), not_after(MADE.certificate)) == (BEGIN + 365 * DAY, BEGIN + 90 * DAY)


# Two thirds of a life that began an hour before BEGIN.
SERVING_DUE = BEGIN - HOUR + (90 * DAY + HOUR) * 2 / 3
AUTHORITY_DUE = BEGIN - HOUR + (365 * DAY + HOUR) * 2 / 3


@pytest.mark.parametrize(
    ("time", "decision"),
    [
        (BEGIN, Decision(Step.KEEP)),
        (BEGIN - HOUR, Decision(Step.KEEP)),
        (
            BEGIN - HOUR - timedelta(seconds=1),
            Decision(Step.NEW, "the authority's certificate is valid only from 2027-03-01 11:00 UTC"),
        ),
        (SERVING_DUE - timedelta(seconds=1), Decision(Step.KEEP)),
        (SERVING_DUE, Decision(Step.RENEW, "the serving certificate ends 2027-05-30")),
        (BEGIN + 90 * DAY, Decision(Step.RENEW, "the serving certificate ended 2027-05-30 12:00 UTC")),
        (AUTHORITY_DUE, Decision(Step.ROTATE, "the authority's certificate ends 2028-02-29")),
        (BEGIN + 365 * DAY, Decision(Step.NEW, "the authority's certificate ended 2028-02-29 12:00 UTC")),
        (
            datetime(1970, 1, 1, tzinfo=UTC),
            Decision(Step.NEW, "the authority's certificate is valid only from 2027-03-01 11:00 UTC"),
        ),
    ],
)
def test_time_decides(time: datetime, decision: Decision) -> None:
    assert decide(MADE, NAMES, time) == decision


@pytest.mark.parametrize(
    ("material", "decision"),
    [
        (None, Decision(Step.NEW, "there is none yet")),
        (material_of({}), Decision(Step.NEW, "the authority's certificate is unreadable")),
        (
            dataclasses.replace(MADE, ca_certificate=b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"),
            Decision(Step.NEW, "the authority's certificate is unreadable"),
        ),
        (not_ours(), Decision(Step.NEW, "the authority is not one of ours")),
        (
            dataclasses.replace(MADE, ca_certificate=MADE.certificate),
            Decision(Step.NEW, "the authority is not one of ours"),
        ),
        (
            dataclasses.replace(MADE, ca_key=b"\xff\x00"),
            Decision(Step.ROTATE, "the authority's key is unreadable or another one's"),
        ),
        (
            dataclasses.replace(MADE, ca_key=OTHER.ca_key),
            Decision(Step.ROTATE, "the authority's key is unreadable or another one's"),
        ),
        (
            dataclasses.replace(MADE, certificate=b"nothing"),
            Decision(Step.RENEW, "the serving certificate is unreadable"),
        ),
        (
            dataclasses.replace(MADE, key=b""),
            Decision(Step.RENEW, "the serving certificate has a key that is unreadable or another one's"),
        ),
        (
            dataclasses.replace(MADE, key=OTHER.key),
            Decision(Step.RENEW, "the serving certificate has a key that is unreadable or another one's"),
        ),
        (
            dataclasses.replace(MADE, certificate=OTHER.certificate, key=OTHER.key),
            Decision(Step.RENEW, "the serving certificate is not signed by the authority"),
        ),
        (
            dataclasses.replace(MADE, previous_ca=b"nothing"),
            Decision(Step.FORGET, "the previous authority's certificate is unreadable or no longer valid"),
        ),
        (dataclasses.replace(MADE, previous_ca=OTHER.ca_certificate), Decision(Step.KEEP)),
    ],
)
def test_what_is_missing_unreadable_or_not_ours_is_made_anew_and_said(
    material: Material | None, decision: Decision
) -> None:
    assert decide(material, NAMES, BEGIN) == decision
    healed = carry_out(decision.step, material, NAMES, BEGIN)
    assert decide(healed, NAMES, BEGIN) == Decision(Step.KEEP)


def test_a_certificate_for_another_namespace_is_made_anew_for_this_one() -> None:
    here = service_names("floodplain-admission", "batch")
    wanted = "floodplain-admission.batch.svc, floodplain-admission.batch.svc.cluster.local"
    assert decide(MADE, here, BEGIN) == Decision(Step.RENEW, f"the serving certificate is not for {wanted}")
    moved = carry_out(Step.RENEW, MADE, here, BEGIN)
    assert trusts(MADE.bundle, moved.certificate, here[0], BEGIN)


def test_a_certificate_for_more_names_than_asked_is_kept() -> None:
    """Replicas with other settings, as in a rolling update, must not undo each other's work."""
    more = carry_out(Step.NEW, None, (*NAMES, "localhost", "127.0.0.1", "::1"), BEGIN)
    assert decide(more, NAMES, BEGIN) == decide(more, (*NAMES, "127.0.0.1", "::1"), BEGIN) == Decision(Step.KEEP)


def test_the_previous_authority_is_trusted_for_a_week_and_signs_nothing_any_more() -> None:
    rotated = after(Step.ROTATE, MADE, AUTHORITY_DUE)
    assert rotated.previous_ca == MADE.ca_certificate
    assert rotated.bundle == rotated.ca_certificate + MADE.ca_certificate
    old = after(Step.RENEW, MADE, AUTHORITY_DUE).certificate
    assert [trusts(rotated.bundle, one, NAMES[0], AUTHORITY_DUE) for one in (old, rotated.certificate)] == [True, True]
    begun = AUTHORITY_DUE.replace(microsecond=0)
    assert decide(rotated, NAMES, begun + 7 * DAY - timedelta(seconds=1)) == Decision(Step.KEEP)
    forget = decide(rotated, NAMES, begun + 7 * DAY)
    assert forget == Decision(Step.FORGET, "the present authority has been in use for 7 days")
    single = after(forget.step, rotated, begun + 7 * DAY)
    assert single == dataclasses.replace(rotated, previous_ca=b"")
    assert [trusts(single.bundle, one, NAMES[0], begun + 7 * DAY) for one in (old, single.certificate)] == [False, True]


def test_a_verifier_whose_clock_is_an_hour_behind_trusts_a_new_certificate() -> None:
    assert [trusts(MADE.bundle, MADE.certificate, NAMES[0], BEGIN - ago) for ago in (HOUR, HOUR + DAY)] == [True, False]


def test_another_name_is_not_vouched_for() -> None:
    assert not trusts(MADE.bundle, MADE.certificate, "floodplain-admission.other.svc", BEGIN)


@given(hours=st.lists(st.integers(0, 24 * 40), min_size=1, max_size=60))
def test_whoever_looks_at_least_every_forty_days_is_always_trusted(hours: list[int]) -> None:
    """Also with the certificate from before the look: replicas look one after the other."""
    time, material = BEGIN, MADE
    for more in hours:
        time += timedelta(hours=more)
        before = material
        decision = decide(material, NAMES, time)
        if decision.step is Step.NEW:
            # Not looked at for so long that the authority ended: nothing is left to trust.
            assert time >= not_after(before.ca_certificate)
        material = carry_out(decision.step, material, NAMES, time)
        assert decide(material, NAMES, time).step is Step.KEEP or decision.step is Step.RENEW
        assert trusts(material.bundle, material.certificate, NAMES[0], time)
        if decision.step is not Step.NEW and time < not_after(before.certificate):
            assert trusts(material.bundle, before.certificate, NAMES[0], time)


def test_material_goes_into_a_secret_and_comes_back() -> None:
    rotated = after(Step.ROTATE, MADE, BEGIN)
    data = rotated.secret_data()
    assert sorted(data) == ["ca.crt", "ca.key", "previous-ca.crt", "tls.crt", "tls.key"]
    assert material_of(data) == rotated


def test_no_key_shows_where_material_is_printed() -> None:
    shown = f"{MADE} {MADE!r} {[MADE]}"
    assert "PRIVATE" not in shown and "ca_key" not in shown and MADE.key.decode()[28:60] not in shown


def test_openssl_takes_what_is_made(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("pair")
    (folder / "tls.pem").write_bytes(MADE.key + MADE.certificate)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "tls.pem")
    client = ssl.create_default_context(cadata=MADE.bundle.decode())
    assert [one["subject"] for one in client.get_ca_certs()] == [((("commonName", "floodplain-admission-ca"),),)]


def test_the_end_of_something_that_is_no_certificate_is_an_error() -> None:
    with pytest.raises(ValueError, match="no certificate in PEM"):
        not_after(b"nothing")
