"""Keeps admission's certificate: in a Secret, in the webhook configuration's caBundle, in the open door. Edge.

Every replica does the same, without a leader: whoever comes second to write the Secret is refused (resourceVersion),
reads what the first wrote and serves with that. What it needs of the API server:

- Secret `floodplain-admission-tls` of its own namespace: get, update (both by resourceName), create
- MutatingWebhookConfiguration `floodplain-sizing`: get, patch (by resourceName)

A certificate of a new authority is served one round after every entry was seen to trust it, so that all API servers
have heard; until then the one before serves, which they trust as well. Keys never go into a log, nor on a disk.
"""

from __future__ import annotations

import base64
import random
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TypeVar

import httpx2
from lightkube import ApiError, Client
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.admissionregistration_v1 import MutatingWebhookConfiguration
from lightkube.resources.core_v1 import Secret
from lightkube.types import PatchType

from floodplain.service.authority import Material, Step, carry_out, decide, material_of, not_after
from floodplain.service.ca_bundle import Entry, changes
from floodplain.service.cluster_access import ClusterAccess
from floodplain.service.logs import logger
from floodplain.service.serving_tls import ServingTls

MANAGER = "floodplain-admission"
"""Field manager of what is written."""
_TRIES = 5
"""Rounds of a race between replicas; each lost one means that another replica has written."""
_SOON_SECONDS = 5
"""Until the next look when something is wrong, or when the webhook configuration is not there yet."""
_SKEW_TOLD = timedelta(minutes=5)
_FAILURES = (ApiError, httpx2.HTTPError, OSError, ValueError)
Found = TypeVar("Found")


@dataclass(frozen=True)
class Names:
    """Where the material lies, who is to trust it, and what it is for."""

    hosts: tuple[str, ...]
    """DNS names and addresses of the serving certificate."""
    secret: str = "floodplain-admission-tls"
    configuration: str = "floodplain-sizing"


class ClusterCertificates:
    """`look` does one round, `start` goes on doing so in a thread. Failures are logged and told by `problem`."""

    def __init__(
        self,
        access: ClusterAccess,
        names: Names,
        tls: ServingTls,
        *,
        every_seconds: float = 30,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._access, self._names, self._tls = access, names, tls
        self._every_seconds, self._clock = every_seconds, clock
        self._held: Material | None = None
        """That which is served."""
        self._trusted: bytes | None = None
        """The authority that the entries were last seen to trust."""
        self._skew_told = False
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        self.problem: str | None = None
        """What the last round found wrong."""
        self.bundle_current = False
        """Whether the webhook configuration trusts exactly whom it should."""

    def look(self) -> None:
        """Secure the material, have it trusted, serve with it. Never raises for what the API server says."""
        found: list[str] = []
        try:
            material = self._secured()
        except _FAILURES as error:
            found.append(f"Secret {self._names.secret}: {_told(error)}")
        else:
            trusted_before = self._trusted
            try:
                self._have_trusted(material)
            except _FAILURES as error:
                self.bundle_current = False
                found.append(f"MutatingWebhookConfiguration {self._names.configuration}: {_told(error)}")
            self._serve(material, trusted_before)
        problem = "; ".join(found) or None
        if problem and problem != self.problem:
            logger().error("certificates", problem=problem)
        elif self.problem and not problem:
            logger().info("certificates are well again")
        self.problem = problem

    def start(self) -> None:
        """Look again and again from now on, at once for the first time."""

        def run() -> None:
            while True:
                try:
                    self.look()
                except Exception:  # the thread must outlive whatever nobody thought of
                    logger().exception("certificates failed")
                    self.problem = "failed; see the log"
                well = self.problem is None and self.bundle_current
                pause = self._every_seconds if well else min(self._every_seconds, _SOON_SECONDS)
                if self._stopped.wait(pause * random.uniform(0.8, 1.2)):
                    return

        self._thread = threading.Thread(target=run, name="certificates", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Look no more. May be called twice, or before `start`."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join(timeout=5)

    def _secured(self) -> Material:
        """The material of the Secret, made or mended first where that is due."""
        client = self._access.client
        for _ in range(_TRIES):
            secret = _found(lambda: client.get(Secret, self._names.secret))
            now = self._server_time()
            present = None if secret is None else material_of(_data(secret))
            decision = decide(present, self._names.hosts, now)
            if present is not None and decision.step is Step.KEEP:
                return present
            step = decision.step
            if step is Step.NEW and decide(self._held, self._names.hosts, now).step is not Step.NEW:
                # Somebody has deleted or spoiled the Secret; what we serve with is trusted until all have the new one.
                present, step = self._held, Step.ROTATE
            wanted = carry_out(step, present, self._names.hosts, now)
            try:
                _write_secret(client, self._names.secret, secret, wanted)
            except ApiError as error:
                if error.status.code == 409:  # another replica was first: read what it wrote
                    continue
                raise
            logger().info("certificates written", step=step.value, reason=decision.reason)
        raise ValueError(f"others wrote it {_TRIES} times meanwhile; tried again soon")

    def _server_time(self) -> datetime:
        own, server = self._clock(), self._access.server_time()
        if server is None:
            return own
        skewed = abs(own - server) > _SKEW_TOLD
        if skewed and not self._skew_told:
            logger().warning(
                "the clock here is not the API server's, by which certificates are made",
                minutes_ahead=round((own - server).total_seconds() / 60),
            )
        self._skew_told = skewed
        return server

    def _have_trusted(self, material: Material) -> None:
        client, name = self._access.client, self._names.configuration
        configuration = _found(lambda: client.get(MutatingWebhookConfiguration, name))
        entries = [
            Entry(one.name, one.clientConfig.caBundle) for one in (configuration and configuration.webhooks) or ()
        ]
        if not entries:
            # It may be made later than this Deployment; until then nobody asks us.
            self._trusted, self.bundle_current = None, False
            return
        operations = changes(entries, material.bundle)
        if operations:
            self.bundle_current = False
            client.patch(
                MutatingWebhookConfiguration, name, operations, patch_type=PatchType.JSON, field_manager=MANAGER
            )
            logger().info("the webhook configuration trusts our authority now", entries=len(operations) // 2)
        self._trusted, self.bundle_current = material.ca_certificate, True

    def _serve(self, material: Material, trusted_before: bytes | None) -> None:
        held = self._held
        if held is not None and held.certificate == material.certificate:
            return
        if held is not None and held.ca_certificate == material.previous_ca:
            # What is served is still trusted, and the new authority perhaps not yet by every API server.
            ended = not_after(held.certificate) <= self._server_time()
            if not ended and trusted_before != material.ca_certificate:
                return
        self._tls.adopt(material.certificate, material.key)
        self._held = material
        logger().info("serving with another certificate", ends=not_after(material.certificate).isoformat())


def _found(get: Callable[[], Found]) -> Found | None:
    try:
        return get()
    except ApiError as error:
        if error.status.code == 404:
            return None
        raise


def _data(secret: Secret) -> dict[str, bytes]:
    return {key: base64.b64decode(value) for key, value in (secret.data or {}).items()}


def _write_secret(client: Client, name: str, present: Secret | None, material: Material) -> None:
    data = {key: base64.b64encode(value).decode("ascii") for key, value in material.secret_data().items()}
    if present is None:
        labels = {"app.kubernetes.io/name": "floodplain", "app.kubernetes.io/managed-by": MANAGER}
        metadata = ObjectMeta(name=name, labels=labels)
        client.create(Secret(metadata=metadata, type="Opaque", data=data), field_manager=MANAGER)
        return
    # With the resourceVersion that was read: a write in between is a conflict.
    present.data = {**(present.data or {}), **data}
    client.replace(present, field_manager=MANAGER)


def _told(error: Exception) -> str:
    if isinstance(error, ApiError):
        remedy = "; give the service account this right" if error.status.code == 403 else ""
        return f"{error.status.message or error.status.reason or error.status.code}{remedy}"
    return str(error) or type(error).__name__
