"""Makes the authority and the serving certificate of admission. Pure but for the keys' randomness; decides nothing.

Keys are ECDSA P-256, which every Kubernetes API server verifies in well under a millisecond.
"""

from __future__ import annotations

import ipaddress
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

AUTHORITY_LIFE = timedelta(days=365)
SERVING_LIFE = timedelta(days=90)
"""Less than what is left of an authority when it is rotated, so that no serving certificate outlives its authority."""
SKEW = timedelta(hours=1)
"""Certificates begin this long ago: the clock of whoever verifies may be behind."""

AUTHORITY = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "floodplain-admission-ca")])
SERVING = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "floodplain-admission")])


def new_authority(now: datetime) -> tuple[bytes, bytes]:
    """Certificate and key of an authority that begins at `now`, both PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    builder = _builder(AUTHORITY, AUTHORITY, key.public_key(), now, now + AUTHORITY_LIFE)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    builder = builder.add_extension(_usage(signs_certificates=True), critical=True)
    return _pem(builder.sign(key, hashes.SHA256())), _key_pem(key)


def new_serving(ca_certificate: bytes, ca_key: bytes, names: tuple[str, ...], now: datetime) -> tuple[bytes, bytes]:
    """Certificate and key of a server at `names`, signed by the authority, both PEM. Raises ValueError for an authority
    that is unreadable."""
    authority = x509.load_pem_x509_certificate(ca_certificate)
    signer = serialization.load_pem_private_key(ca_key, None)
    assert isinstance(signer, ec.EllipticCurvePrivateKey), "`decide` renews only below a key of ours"
    key = ec.generate_private_key(ec.SECP256R1())
    end = min(now + SERVING_LIFE, authority.not_valid_after_utc)
    builder = _builder(SERVING, authority.subject, key.public_key(), now, end)
    builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    builder = builder.add_extension(_usage(signs_certificates=False), critical=True)
    builder = builder.add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
    builder = builder.add_extension(x509.SubjectAlternativeName([_host(name) for name in names]), critical=False)
    # Two authorities of one name may be trusted at once: this tells verifiers which one signed.
    by = x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key())
    return _pem(builder.add_extension(by, critical=False).sign(signer, hashes.SHA256())), _key_pem(key)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, now: datetime, end: datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - SKEW)
        .not_valid_after(end)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _host(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
