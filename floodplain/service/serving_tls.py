"""The TLS side of admission's door, whose certificate changes while it is open. Edge: hands keys to OpenSSL.

OpenSSL reads a key from a file only. The file here is anonymous memory (memfd_create(2)): a key never reaches a disk.
A new certificate is a new context, which handshakes that begin from now on get; what runs goes on undisturbed.
"""

from __future__ import annotations

import os
import ssl


class ServingTls:
    """`context` is what a server is given, once. Without a certificate yet, handshakes are refused."""

    def __init__(self) -> None:
        self.context = _bare_context()
        self.certificate: bytes | None = None
        """That of new handshakes, PEM."""
        self._now: ssl.SSLContext | None = None
        # Called for every handshake, also without a server name.
        self.context.sni_callback = self._choose

    def adopt(self, certificate: bytes, key: bytes) -> None:
        """Serve with this pair from now on. Raises ValueError for one that OpenSSL does not take; the one before
        serves on then. Safe to call from another thread."""
        fresh = _bare_context()
        try:
            _load(fresh, key + b"\n" + certificate)
        except ssl.SSLError as error:
            reason = (error.reason or "unreadable").lower().replace("_", " ")
            raise ValueError(f"certificate and key cannot be served with ({reason})") from None
        self._now, self.certificate = fresh, certificate

    def _choose(
        self, handshake: ssl.SSLSocket | ssl.SSLObject, name: str | None, context: ssl.SSLContext
    ) -> int | None:
        chosen = self._now
        if chosen is None:
            return ssl.ALERT_DESCRIPTION_INTERNAL_ERROR
        handshake.context = chosen
        return None


def _bare_context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # An API server keeps its connections; a resumed session would outlive a rotation.
    context.num_tickets = 0
    context.options |= ssl.OP_NO_TICKET
    return context


def _load(context: ssl.SSLContext, pem: bytes) -> None:
    descriptor = os.memfd_create("floodplain-tls", os.MFD_CLOEXEC)
    try:
        with os.fdopen(os.dup(descriptor), "wb") as file:
            file.write(pem)
        # Never asks for a passphrase at a terminal.
        context.load_cert_chain(f"/proc/self/fd/{descriptor}", password=lambda: b"")
    finally:
        os.close(descriptor)
