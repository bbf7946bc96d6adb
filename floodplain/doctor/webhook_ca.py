"""Can the API server still trust the admission webhook: are its CA bundles there, fresh and the Secret's? Pure."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from cryptography import x509

from floodplain.doctor.finding import Finding, Severity, names
from floodplain.doctor.seen import Cluster

CHECK = "webhook-ca"
SOON = timedelta(days=14)
_LEVER = "look at the log of the admission Deployment: the service renews its CA and writes the bundle itself"
_SOURCE = "MutatingWebhookConfiguration clientConfig.caBundle"


def check(cluster: Cluster) -> Iterator[Finding]:
    """Each entry of the configuration, if there is one."""
    webhook = cluster.webhook
    if webhook is None:
        return
    told = [finding for entry, bundle in webhook.bundles for finding in _entry(entry, bundle, cluster)]
    yield from told
    if not told:
        fresh = f"the CA of {names(entry for entry, _ in webhook.bundles)} is fresh"
        yield Finding(CHECK, Severity.OK, f"webhook {webhook.name}", fresh)


def _entry(entry: str, bundle: bytes, cluster: Cluster) -> Iterator[Finding]:
    title = f"webhook {entry}"
    if not bundle:
        seen = "has no CA bundle: the API server cannot call it"
        yield Finding(CHECK, Severity.ERROR, title, seen, "the service's CA", (_LEVER,), _SOURCE)
        return
    authorities = certificates(bundle)
    if not authorities:
        seen = "has a CA bundle without a certificate that can be read"
        yield Finding(CHECK, Severity.ERROR, title, seen, "the service's CA", (_LEVER,), _SOURCE)
        return
    last = max(one.not_valid_after_utc for one in authorities)
    if last <= cluster.now:
        seen = f"its CA expired on {_day(last)}: the API server refuses the service"
        yield Finding(CHECK, Severity.ERROR, title, seen, "a CA that is valid", (_LEVER,), _SOURCE)
    elif last - cluster.now < SOON:
        seen = f"its CA expires on {_day(last)}"
        yield Finding(CHECK, Severity.WARNING, title, seen, f"{SOON.days} days or more", (_LEVER,), _SOURCE)
    elif min(one.not_valid_before_utc for one in authorities) > cluster.now:
        seen = "its CA is not valid yet: clocks differ"
        yield Finding(CHECK, Severity.ERROR, title, seen, "a CA that is valid", ("set the clocks",), _SOURCE)
    if cluster.secret_ca is not None:
        own = certificates(cluster.secret_ca)
        if not own:
            seen = "the Secret's ca.crt holds no certificate that can be read"
            lever = "delete the Secret: the service makes a new one and writes the bundle"
            yield Finding(CHECK, Severity.ERROR, title, seen, "the service's CA", (lever,), "Secret ca.crt")
        elif not {*own} & {*authorities}:
            seen = "its CA is not the one in the Secret: the API server refuses what the service shows"
            yield Finding(CHECK, Severity.ERROR, title, seen, "the Secret's ca.crt in the bundle", (_LEVER,), _SOURCE)


def certificates(pem: bytes) -> tuple[x509.Certificate, ...]:
    """Those in a PEM text; none if one of them cannot be read."""
    try:
        return tuple(x509.load_pem_x509_certificates(pem))
    except ValueError:
        return ()


def _day(moment: datetime) -> str:
    return moment.date().isoformat()
