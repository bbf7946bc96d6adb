"""The keys of a test cluster: an authority of its own, valid for days, and what it signs.

Elliptic curves: an RSA key takes a tenth of a second and more, and a cluster needs several. The key that signs service
account tokens is RSA, which every consumer of these tokens understands.
"""

import datetime
import ipaddress
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import NameOID

VALID = datetime.timedelta(days=30)

PrivateKey = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey


@dataclass(frozen=True)
class Pair:
    """Files of a certificate and its key, both PEM."""

    certificate: Path
    key: Path


class Authority:
    """Signs certificates; keeps everything in one folder. Not for anything but a test cluster."""

    def __init__(
        self,
        folder: Path,
        name: str = "floodplain testbed",
        *,
        key: PrivateKey | None = None,
        valid: datetime.timedelta = VALID,
        hosts: tuple[str, ...] = (),
    ) -> None:
        """`hosts`: names that its own certificate is valid for; `valid`: for how long it and what it signs are."""
        self._folder, self._valid = folder, valid
        folder.mkdir(parents=True, exist_ok=True)
        self._key = key or ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self._certificate = (
            _builder(subject, subject, self._key, valid, hosts)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .sign(self._key, hashes.SHA256())
        )
        self.certificate = folder / "ca.crt"
        self.certificate.write_bytes(self._certificate.public_bytes(serialization.Encoding.PEM))

    def issue(
        self, file_name: str, common_name: str, organization: str | None = None, *, hosts: tuple[str, ...] = ()
    ) -> Pair:
        """A certificate for a client, and for a server at `hosts` (names and addresses) when there are any."""
        key = ec.generate_private_key(ec.SECP256R1())
        attributes = [x509.NameAttribute(NameOID.COMMON_NAME, common_name)]
        if organization is not None:
            attributes.insert(0, x509.NameAttribute(NameOID.ORGANIZATION_NAME, organization))
        builder = _builder(x509.Name(attributes), self._certificate.subject, key, self._valid, hosts)
        certificate = builder.sign(self._key, hashes.SHA256())
        pair = Pair(self._folder / f"{file_name}.crt", self._folder / f"{file_name}.key")
        pair.certificate.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        _write_key(pair.key, key)
        return pair


def token_keys(folder: Path) -> Pair:
    """The pair that signs and verifies service account tokens (its "certificate" is a bare public key)."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pair = Pair(folder / "tokens.pub", folder / "tokens.key")
    pair.certificate.write_bytes(
        key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    )
    _write_key(pair.key, key)
    return pair


def _builder(
    subject: x509.Name, issuer: x509.Name, key: PrivateKey, valid: datetime.timedelta, hosts: tuple[str, ...]
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        # An hour back: the clock of an emulated machine may run behind.
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + valid)
    )
    if not hosts:
        return builder
    return builder.add_extension(x509.SubjectAlternativeName([_host(host) for host in hosts]), critical=False)


def _host(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _write_key(path: Path, key: PrivateKey) -> None:
    path.touch(mode=0o600)
    path.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
