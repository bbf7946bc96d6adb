"""Admission's certificate from two files that somebody else makes and renews, without a cluster. Edge: reads them."""

from __future__ import annotations

import threading

from floodplain.service.authority import not_after
from floodplain.service.kept_file import KeptFile
from floodplain.service.logs import logger
from floodplain.service.serving_tls import ServingTls


class FileCertificates:
    """Looks at the files every few seconds, and serves with the last pair that was good."""

    bundle_current: bool | None = None
    """Not ours to know: whoever makes the certificate makes it trusted."""

    def __init__(self, certificate: str, key: str, tls: ServingTls, *, every_seconds: float = 30) -> None:
        self._certificate, self._key = KeptFile(certificate, bytes), KeptFile(key, bytes)
        self._tls, self._every_seconds = tls, every_seconds
        self._seen: tuple[bytes | None, bytes | None] | None = None
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        self.problem: str | None = None
        """What the last look found wrong."""

    def look(self) -> None:
        """Read the files once; never raises for what is wrong with them."""
        before = self.problem
        self._certificate.look()
        self._key.look()
        missing = [file.problem for file in (self._certificate, self._key) if file.problem]
        certificate, key = self._certificate.value, self._key.value
        if missing:
            self.problem = "; ".join(missing)
        elif certificate is not None and key is not None and (certificate, key) != self._seen:
            try:
                ends = not_after(certificate)
                self._tls.adopt(certificate, key)
            except ValueError as error:
                # Not seen: of two files that change one after the other, the second may be about to.
                self.problem = f"{self._certificate.path} and {self._key.path}: {error}; write both anew"
            else:
                self._seen, self.problem = (certificate, key), None
                logger().info("serving with another certificate", ends=ends.isoformat())
        else:
            self.problem = None
        if self.problem and self.problem != before:
            logger().error("certificates", problem=self.problem)

    def start(self) -> None:
        """Look again and again from now on."""

        def run() -> None:
            while not self._stopped.wait(self._every_seconds):
                self.look()

        self._thread = threading.Thread(target=run, name="certificates", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Look no more. May be called twice, or before `start`."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join(timeout=5)
