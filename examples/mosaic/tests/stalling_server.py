"""A server of one raster that answers for its header, and is silent once when its pixels are asked for."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

HEADER_BYTES = 16384
"""What GDAL asks for first."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    content: bytes
    stalled = 0
    """Connections that waited for pixels until their client was gone."""
    silent = True


class _Answers(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"

    def do_HEAD(self) -> None:
        self._answer(b"")

    def do_GET(self) -> None:
        first, last = 0, len(self.server.content) - 1
        if asked := self.headers.get("Range"):
            low, _, high = asked.removeprefix("bytes=").partition("-")
            first, last = int(low), min(last, int(high or last))
        if first >= HEADER_BYTES and self.server.silent:
            # Returns when the other end is closed, which is when its process is killed.
            self.rfile.read(1)
            self.server.stalled += 1
            self.server.silent = False
            self.close_connection = True
            return
        self._answer(self.server.content[first : last + 1], first, last)

    def _answer(self, body: bytes, first: int | None = None, last: int | None = None) -> None:
        whole = len(self.server.content)
        if not self.path.endswith("/raster.tif"):
            self.send_error(404)
            return
        self.send_response(200 if first is None else 206)
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("Content-Length", str(whole if first is None else len(body)))
        if first is not None:
            self.send_header("Content-Range", f"bytes {first}-{last}/{whole}")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None: ...


@contextlib.contextmanager
def stalling_server(raster: Path) -> Iterator[tuple[str, _Server]]:
    """Its address for GDAL, and the server."""
    server = _Server(("127.0.0.1", 0), _Answers)
    server.content = raster.read_bytes()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"/vsicurl/http://127.0.0.1:{server.server_port}/raster.tif", server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
