"""Which keys and certificates admission serves with, and when each is made anew. Pure but for the keys' randomness.

An authority of our own signs one serving certificate. Both are renewed at two thirds of their life. When the authority
itself is rotated, the previous one stays in the bundle for a week, so that replicas which still serve a certificate of
the previous one are trusted. `now` should be the API server's time: it is the API server that judges validity.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from floodplain.service.signing import AUTHORITY, SKEW, new_authority, new_serving

OVERLAP = timedelta(days=7)
"""How long a previous authority stays trusted. Replicas take up a new certificate within minutes."""


@dataclass(frozen=True)
class Material:
    """What the Secret holds, all PEM. The keys stay out of `repr` and so out of logs."""

    ca_certificate: bytes
    ca_key: bytes = field(repr=False)
    certificate: bytes
    key: bytes = field(repr=False)
    previous_ca: bytes = b""
    """The authority before this one, while it is still trusted."""

    @property
    def bundle(self) -> bytes:
        """What a verifier trusts: this authority, then the previous one."""
        return self.ca_certificate + self.previous_ca

    def secret_data(self) -> dict[str, bytes]:
        """Under the keys of the Secret."""
        return {key: getattr(self, name) for key, name in _SECRET_KEYS.items()}


_SECRET_KEYS = {
    "ca.crt": "ca_certificate",
    "ca.key": "ca_key",
    "tls.crt": "certificate",
    "tls.key": "key",
    "previous-ca.crt": "previous_ca",
}


def material_of(data: Mapping[str, bytes]) -> Material:
    """The data of a Secret, whatever is missing as empty: `decide` says what is wrong with it."""
    return Material(**{name: data.get(key, b"") for key, name in _SECRET_KEYS.items()})


class Step(StrEnum):
    """What is to be done with the material that there is."""

    KEEP = "keep it"
    FORGET = "forget the previous authority"
    RENEW = "make a new serving certificate"
    ROTATE = "make a new authority, and trust the present one for a while"
    NEW = "make a new authority, and trust no other"


@dataclass(frozen=True)
class Decision:
    """A step and why, in words for a log."""

    step: Step
    reason: str = ""


def service_names(service: str, namespace: str) -> tuple[str, ...]:
    """Under which the API server calls a Service: it verifies `SERVICE.NAMESPACE.svc`."""
    return (f"{service}.{namespace}.svc", f"{service}.{namespace}.svc.cluster.local")


def decide(material: Material | None, names: Iterable[str], now: datetime) -> Decision:
    """What to do with `material` at `now`, so that the serving certificate is good for all of `names` (DNS names and
    addresses)."""
    if material is None:
        return Decision(Step.NEW, "there is none yet")
    authority = _certificate(material.ca_certificate)
    if authority is None:
        return Decision(Step.NEW, "the authority's certificate is unreadable")
    if not _is_ours(authority):
        return Decision(Step.NEW, "the authority is not one of ours")
    if wrong := _invalid(authority, now):
        return Decision(Step.NEW, f"the authority's certificate {wrong}")
    if not _belong(material.ca_key, authority):
        return Decision(Step.ROTATE, "the authority's key is unreadable or another one's")
    if now >= _due(authority):
        return Decision(Step.ROTATE, f"the authority's certificate ends {authority.not_valid_after_utc:%Y-%m-%d}")
    if wrong := _serving_fault(material, authority, frozenset(names), now):
        return Decision(Step.RENEW, f"the serving certificate {wrong}")
    if material.previous_ca:
        previous = _certificate(material.previous_ca)
        if previous is None or _invalid(previous, now):
            return Decision(Step.FORGET, "the previous authority's certificate is unreadable or no longer valid")
        if now >= authority.not_valid_before_utc + SKEW + OVERLAP:
            return Decision(Step.FORGET, f"the present authority has been in use for {OVERLAP.days} days")
    return Decision(Step.KEEP)


def carry_out(step: Step, material: Material | None, names: Iterable[str], now: datetime) -> Material:
    """The material after `step`, which `decide` chose for the same arguments."""
    if material is None or step in (Step.NEW, Step.ROTATE):
        previous = material.ca_certificate if material is not None and step is Step.ROTATE else b""
        ca_certificate, ca_key = new_authority(now)
        certificate, key = new_serving(ca_certificate, ca_key, tuple(names), now)
        return Material(ca_certificate, ca_key, certificate, key, previous)
    if step is Step.RENEW:
        certificate, key = new_serving(material.ca_certificate, material.ca_key, tuple(names), now)
        return Material(material.ca_certificate, material.ca_key, certificate, key, material.previous_ca)
    if step is Step.FORGET:
        return Material(material.ca_certificate, material.ca_key, material.certificate, material.key)
    return material


def not_after(certificate: bytes) -> datetime:
    """When a PEM certificate ends. Raises ValueError for one that is unreadable."""
    found = _certificate(certificate)
    if found is None:
        raise ValueError("this is no certificate in PEM")
    return found.not_valid_after_utc


def _certificate(pem: bytes) -> x509.Certificate | None:
    try:
        return x509.load_pem_x509_certificate(pem)
    except (ValueError, UnsupportedAlgorithm):
        return None


def _is_ours(authority: x509.Certificate) -> bool:
    try:
        is_authority = authority.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    except (x509.ExtensionNotFound, ValueError):
        return False
    return is_authority and authority.subject == AUTHORITY == authority.issuer


def _invalid(certificate: x509.Certificate, now: datetime) -> str:
    if now < certificate.not_valid_before_utc:
        return f"is valid only from {certificate.not_valid_before_utc:%Y-%m-%d %H:%M} UTC"
    if now >= certificate.not_valid_after_utc:
        return f"ended {certificate.not_valid_after_utc:%Y-%m-%d %H:%M} UTC"
    return ""


def _due(certificate: x509.Certificate) -> datetime:
    begun = certificate.not_valid_before_utc
    return begun + (certificate.not_valid_after_utc - begun) * 2 / 3


def _belong(key: bytes, certificate: x509.Certificate) -> bool:
    try:
        loaded = serialization.load_pem_private_key(key, None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        return False
    return isinstance(loaded, ec.EllipticCurvePrivateKey) and loaded.public_key() == certificate.public_key()


def _serving_fault(material: Material, authority: x509.Certificate, names: frozenset[str], now: datetime) -> str:
    serving = _certificate(material.certificate)
    if serving is None:
        return "is unreadable"
    if not _belong(material.key, serving):
        return "has a key that is unreadable or another one's"
    try:
        serving.verify_directly_issued_by(authority)
    except (ValueError, TypeError, InvalidSignature):
        return "is not signed by the authority"
    if wrong := _invalid(serving, now):
        return wrong
    if missing := names - _names_in(serving):
        return f"is not for {', '.join(sorted(missing))}"
    if now >= _due(serving):
        return f"ends {serving.not_valid_after_utc:%Y-%m-%d}"
    return ""


def _names_in(certificate: x509.Certificate) -> frozenset[str]:
    try:
        found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (x509.ExtensionNotFound, ValueError):
        return frozenset()
    addresses = found.get_values_for_type(x509.IPAddress)
    return frozenset(found.get_values_for_type(x509.DNSName)) | frozenset(str(address) for address in addresses)
