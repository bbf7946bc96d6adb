"""Keys that Kueue's certificate rotation finds valid, and so keeps: its own names, and the address of this machine.

It wants an authority that is called as its own would be, with an RSA key, valid for longer than it looks ahead.
"""

from __future__ import annotations

import datetime
import ipaddress
from dataclasses import dataclass

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

AUTHORITY = "kueue-ca"
VALID = datetime.timedelta(days=3650)


@dataclass(frozen=True)
class Certificates:
    """PEM texts."""

    authority: bytes
    authority_key: bytes
    certificate: bytes
    key: bytes

    def files(self) -> dict[str, bytes]:
        """By the names that the Secret has them under."""
        return {
            "ca.crt": self.authority,
            "ca.key": self.authority_key,
            "tls.crt": self.certificate,
            "tls.key": self.key,
        }


def issue(host: str) -> Certificates:
    """A new authority and what it signed for `host` and 127.0.0.1."""
    authority_key, key = (rsa.generate_private_key(public_exponent=65537, key_size=2048) for _ in range(2))
    issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, AUTHORITY)])
    authority = (
        _builder(issuer, issuer, authority_key, x509.DNSName(AUTHORITY))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(authority_key, hashes.SHA256())
    )
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    certificate = _builder(subject, issuer, key, x509.DNSName(host), address).sign(authority_key, hashes.SHA256())
    return Certificates(
        authority.public_bytes(Encoding.PEM), _pem(authority_key), certificate.public_bytes(Encoding.PEM), _pem(key)
    )


def _builder(
    subject: x509.Name, issuer: x509.Name, key: rsa.RSAPrivateKey, *names: x509.GeneralName
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + VALID)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
    )


def _pem(key: rsa.RSAPrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
