"""How does the API server reach kubelets on this machine? Its proxy to nodes refuses every loopback address, so that
its way into the cluster leads through here: whatever it wants to reach is reached at 127.0.0.1, at the port it names.

HTTP CONNECT (RFC 9110, section 9.3.6), as its EgressSelectorConfiguration asks for.
"""

from __future__ import annotations

import contextlib
import socket
import socketserver
import threading
import uuid
from collections.abc import Iterator
from typing import Any

UNDIALLED = "198.18.0.1"
"""What a node's name resolves to for the API server: an address that it allows (of RFC 2544's range for benchmarks),
and that nobody dials."""
_CONNECT_SECONDS = 10
_AT_ONCE = 1 << 16


class _Connect(socketserver.StreamRequestHandler):
    """One connection of the API server: told where to, then carried both ways until either side ends it."""

    def handle(self) -> None:
        try:
            port = self._asked()
            with socket.create_connection(("127.0.0.1", port), timeout=_CONNECT_SECONDS) as kubelet:
                kubelet.settimeout(None)
                self.wfile.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                self._carry(kubelet)
        except (OSError, ValueError) as error:
            with contextlib.suppress(OSError):
                self.wfile.write(f"HTTP/1.1 502 {error}\r\nContent-Length: 0\r\n\r\n".encode())

    def _asked(self) -> int:
        """The port of `CONNECT name:port HTTP/1.1`; its headers are read and forgotten."""
        method, target, _ = self.rfile.readline().decode("latin-1").split(" ", 2)
        while self.rfile.readline().strip():
            pass
        if method != "CONNECT":
            raise ValueError(f"{method}: only CONNECT is known here")
        return int(target.rpartition(":")[2])

    def _carry(self, kubelet: socket.socket) -> None:
        back = threading.Thread(target=_pump, args=(kubelet.makefile("rb", 0), self.connection), daemon=True)
        back.start()
        _pump(self.rfile, kubelet)
        back.join()


def _pump(source: Any, target: socket.socket) -> None:
    """Everything from one to the other, then the end of it."""
    with contextlib.suppress(OSError), target.makefile("wb", 0) as out:
        read = getattr(source, "read1", source.read)  # what is there, not a whole buffer
        while some := read(_AT_ONCE):
            out.write(some)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)


class _Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 100


@contextlib.contextmanager
def tunnel() -> Iterator[dict[str, object]]:
    """The API server's EgressSelectorConfiguration; what it names is served until the block is left."""
    # Without a file: a path in a state folder may be longer than the 107 bytes that a socket's may have. (Over TCP
    # without TLS the API server 1.36 ends with a nil pointer.)
    name = f"floodplain-tunnel-{uuid.uuid4().hex}"
    with _Server(f"\0{name}", _Connect) as server:
        thread = threading.Thread(target=server.serve_forever, name="tunnel to kubelets", daemon=True)
        thread.start()
        try:
            yield _configuration(name)
        finally:
            server.shutdown()
            thread.join()


def _configuration(name: str) -> dict[str, object]:
    # Go writes the zero byte of a socket without a file as @.
    connection = {"proxyProtocol": "HTTPConnect", "transport": {"uds": {"udsName": f"@{name}"}}}
    return {
        "apiVersion": "apiserver.k8s.io/v1beta1",
        "kind": "EgressSelectorConfiguration",
        "egressSelections": [{"name": "cluster", "connection": connection}],
    }
