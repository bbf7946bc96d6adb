"""The keys of a test cluster, looked at with the library that Python's TLS uses."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.x509.oid import NameOID

from testbed.cluster.certificates import VALID, Authority, Pair, token_keys


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "new" / "certificates")


def certificate(path: Path) -> x509.Certificate:
    return x509.load_pem_x509_certificate(path.read_bytes())


def names(one: x509.Certificate, oid: x509.ObjectIdentifier) -> list[str]:
    return [str(attribute.value) for attribute in one.subject.get_attributes_for_oid(oid)]


def key_fits(pair: Pair) -> bool:
    key = serialization.load_pem_private_key(pair.key.read_bytes(), None)
    form = (serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    return key.public_key().public_bytes(*form) == certificate(pair.certificate).public_key().public_bytes(*form)


def test_a_client_is_its_user_and_group_and_signed_by_the_authority(authority: Authority) -> None:
    pair = authority.issue("jane", "system:node:n1", "system:nodes")
    issued = certificate(pair.certificate)
    issued.verify_directly_issued_by(certificate(authority.certificate))
    assert (names(issued, NameOID.COMMON_NAME), names(issued, NameOID.ORGANIZATION_NAME)) == (
        ["system:node:n1"],
        ["system:nodes"],
    )
    assert key_fits(pair)
    assert pair.key.stat().st_mode & 0o777 == 0o600


def test_a_server_has_its_names_and_addresses_and_a_client_has_none(authority: Authority) -> None:
    issued = certificate(authority.issue("server", "kube-apiserver", hosts=("127.0.0.1", "localhost")).certificate)
    found = issued.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert [str(one) for one in found.get_values_for_type(x509.IPAddress)] == ["127.0.0.1"]
    assert found.get_values_for_type(x509.DNSName) == ["localhost"]
    assert names(issued, NameOID.ORGANIZATION_NAME) == []
    client = certificate(authority.issue("client", "jane").certificate)
    with pytest.raises(x509.ExtensionNotFound):
        client.extensions.get_extension_for_class(x509.SubjectAlternativeName)


def test_it_is_valid_from_an_hour_ago_for_days(authority: Authority) -> None:
    now = datetime.datetime.now(datetime.UTC)
    issued = certificate(authority.issue("jane", "jane").certificate)
    assert abs(issued.not_valid_before_utc - (now - datetime.timedelta(hours=1))) < datetime.timedelta(minutes=1)
    assert abs(issued.not_valid_after_utc - (now + VALID)) < datetime.timedelta(minutes=1)


def test_two_authorities_do_not_vouch_for_each_other(tmp_path: Path) -> None:
    one, other = Authority(tmp_path / "one"), Authority(tmp_path / "other")
    issued = certificate(one.issue("jane", "jane").certificate)
    with pytest.raises(InvalidSignature):
        issued.verify_directly_issued_by(certificate(other.certificate))


def test_tokens_have_a_pair_of_their_own(tmp_path: Path) -> None:
    pair = token_keys(tmp_path)
    public = serialization.load_pem_public_key(pair.certificate.read_bytes())
    private = serialization.load_pem_private_key(pair.key.read_bytes(), None)
    assert private.public_key() == public
    assert pair.key.stat().st_mode & 0o777 == 0o600
