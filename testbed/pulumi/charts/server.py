"""The stand-in as a proxy: whoever is told to reach the internet through it gets its charts, and nothing else.

It ends TLS itself, with certificates of an authority that only the testbed's engines are told to trust.
"""

from __future__ import annotations

import contextlib
import ssl
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from testbed.cluster.certificates import Authority
from testbed.pulumi.charts.answers import Answer, answers
from testbed.pulumi.charts.catalogue import published
from testbed.state import State


class ChartStandIn:
    """A running stand-in. `asked` are the addresses that were asked for, also those that it does not have."""

    def __init__(self, folder: Path) -> None:
        self._authority = Authority(folder)
        self._contexts: dict[str, ssl.SSLContext] = {}
        self._lock = threading.Lock()
        self.answers: Mapping[tuple[str, str], Answer] = answers(published())
        self.asked: list[str] = []
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self.server.daemon_threads = True

    @property
    def environment(self) -> dict[str, str]:
        """What makes a program reach the internet through it, and this machine not."""
        proxy = f"http://127.0.0.1:{self.server.server_port}"
        return {
            **dict.fromkeys(("HTTPS_PROXY", "HTTP_PROXY"), proxy),
            "NO_PROXY": "127.0.0.1,localhost",
            "SSL_CERT_FILE": str(self._authority.certificate),
        }

    def context(self, host: str) -> ssl.SSLContext:
        """TLS as the server of that name."""
        with self._lock:
            if host not in self._contexts:
                pair = self._authority.issue(host, host, hosts=(host,))
                self._contexts[host] = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                self._contexts[host].load_cert_chain(pair.certificate, pair.key)
            return self._contexts[host]


@contextlib.contextmanager
def chart_stand_in(state: State) -> Iterator[ChartStandIn]:
    """Serves on a free loopback port until the block is left."""
    stand_in = ChartStandIn(state.path("pulumi-charts", "ca.crt").parent)
    thread = threading.Thread(target=stand_in.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield stand_in
    finally:
        stand_in.server.shutdown()
        stand_in.server.server_close()
        thread.join()


def _handler(stand_in: ChartStandIn) -> type[BaseHTTPRequestHandler]:
    class Tunnel(BaseHTTPRequestHandler):
        """The proxy's side: CONNECT HOST:PORT, then TLS to whom it believes to be HOST."""

        protocol_version = "HTTP/1.1"

        def do_CONNECT(self) -> None:
            host = self.path.rpartition(":")[0]
            self.send_response(200)
            self.end_headers()
            self.close_connection = True
            tunnelled = type("Tunnelled", (Charts,), {"host": host})
            with (
                contextlib.suppress(OSError),
                stand_in.context(host).wrap_socket(self.connection, server_side=True) as connection,
            ):
                tunnelled(connection, self.client_address, self.server)

        def do_GET(self) -> None:
            stand_in.asked.append(self.path)
            self.send_error(404, "the testbed's stand-in has no page without https")

        def log_message(self, format: str, *arguments: object) -> None:
            """Nobody reads it: `asked` tells."""

    class Charts(BaseHTTPRequestHandler):
        """Inside the tunnel."""

        protocol_version = "HTTP/1.1"
        host = ""

        def do_GET(self) -> None:
            stand_in.asked.append(f"{self.host}{self.path}")
            answer = stand_in.answers.get((self.host, self.path.partition("?")[0]))
            if answer is None:
                self.send_error(404, "the testbed's stand-in for chart registries does not have this")
                return
            self.send_response(200)
            self.send_header("Content-Type", answer.content_type)
            self.send_header("Content-Length", str(len(answer.body)))
            if answer.digest:
                self.send_header("Docker-Content-Digest", answer.digest)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(answer.body)

        do_HEAD = do_GET  # noqa: N815

        def log_message(self, format: str, *arguments: object) -> None:
            """As above."""

    return Tunnel
