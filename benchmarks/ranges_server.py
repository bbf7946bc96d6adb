"""A local HTTP server with byte ranges that logs every request and fails on demand, for tests and benchmarks.

    with serving(folder) as server:
        read_header(f"{server.url}/scene.tif")
        server.requests()   # [Request("HEAD", "/scene.tif", None, 200, 0), Request("GET", ...)]

It runs in a process of its own: GDAL may hold Python's lock while it waits for an answer. Faults are folders of the
address, in front of the file's path:

    /status-503/a.tif      always answers 503 (403, 404, 500 ... alike)
    /flaky-503-2/a.tif     answers 503 to the first two requests of this path
    /html/a.tif            a page in place of the file, with status 200
    /cut-1000/a.tif        the file as if it ended after 1000 bytes
    /slow-1.5/a.tif        waits 1.5 seconds before each answer
    /no-ranges/a.tif       ignores Range, as simple servers do
    /no-head/a.tif         answers 405 to HEAD
    /hang-up/a.tif         closes the connection without an answer
    /as/NAME/a.tif         the same file under one more address, so that nothing of it is cached
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

PAGE = b"<!DOCTYPE html><html><head><title>Sign in</title></head><body>Please sign in.</body></html>"


@dataclass(frozen=True)
class Request:
    """One request as the server saw it."""

    method: str
    path: str
    range: str | None
    status: int
    bytes: int
    """Of the answer's body."""


@dataclass(frozen=True)
class Server:
    """A running server."""

    url: str
    log: Path

    def requests(self, part: str = "") -> list[Request]:
        """Everything asked so far whose path contains `part`. A request is logged before it is answered."""
        lines = self.log.read_text(encoding="utf-8").splitlines()
        found = [Request(**json.loads(line)) for line in lines]
        return [one for one in found if part in one.path]


@contextmanager
def serving(folder: Path) -> Iterator[Server]:
    """Serve the files below `folder` on a free port of the loopback until the block ends."""
    with tempfile.TemporaryDirectory() as scratch:
        log = Path(scratch) / "requests.jsonl"
        log.touch()
        command = [sys.executable, str(Path(__file__).resolve()), str(folder), str(log)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            try:
                assert process.stdout is not None
                yield Server(f"http://127.0.0.1:{int(process.stdout.readline())}", log)
            finally:
                process.terminate()


@dataclass(frozen=True)
class _Answer:
    status: int
    body: bytes = b""
    headers: tuple[str, ...] = ()
    length: int | None = None
    """Said of an answer whose body is not sent: that to HEAD."""


class _Connection(asyncio.Protocol):
    """HTTP/1.1 with keep-alive; requests have no body."""

    def __init__(self, folder: Path, log: int, seen: Counter[str]) -> None:
        self.folder, self.log, self.seen = folder, log, seen
        self.waiting = b""
        self.tail: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.waiting += data
        while b"\r\n\r\n" in self.waiting:
            head, _, self.waiting = self.waiting.partition(b"\r\n\r\n")
            self._handle(head.decode("latin-1"))

    def _handle(self, head: str) -> None:
        first, *lines = head.split("\r\n")
        method, target, _ = first.split(" ", 2)
        path = unquote(urlsplit(target).path)
        headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        if "/hang-up/" in path:
            self._write_log(Request(method, path, headers.get("range"), 0, 0))
            self.transport.close()
            return
        answer = self._answer(method, path, headers.get("range"))
        body = b"" if method == "HEAD" else answer.body
        self._write_log(Request(method, path, headers.get("range"), answer.status, len(body)))
        reply = [
            f"HTTP/1.1 {answer.status} -",
            f"Content-Length: {len(answer.body) if answer.length is None else answer.length}",
            *answer.headers,
            "",
            "",
        ]
        message = "\r\n".join(reply).encode("latin-1") + body
        slow = re.search(r"/slow-([\d.]+)/", path)
        if slow:
            asyncio.get_running_loop().call_later(float(slow[1]), self.transport.write, message)
        else:
            self.transport.write(message)

    def _write_log(self, request: Request) -> None:
        os.write(self.log, (json.dumps(asdict(request)) + "\n").encode())

    def _answer(self, method: str, path: str, wanted: str | None) -> _Answer:
        self.seen[path] += 1
        status = re.search(r"/status-(\d+)/", path)
        if status:
            return _Answer(int(status[1]))
        flaky = re.search(r"/flaky-(\d+)-(\d+)/", path)
        if flaky and self.seen[path] <= int(flaky[2]):
            return _Answer(int(flaky[1]))
        if "/no-head/" in path and method == "HEAD":
            return _Answer(405)
        if "/html/" in path:
            return _Answer(200, PAGE, ("Content-Type: text/html",))
        plain = re.sub(r"/(flaky-\d+-\d+|cut-\d+|slow-[\d.]+|no-ranges|no-head|as/[^/]+)(?=/)", "", path)
        file = self.folder / plain.lstrip("/")
        if not file.is_file() or self.folder not in file.resolve().parents:
            return _Answer(404)
        cut = re.search(r"/cut-(\d+)/", path)
        size = min(file.stat().st_size, int(cut[1])) if cut else file.stat().st_size
        if method == "HEAD":
            return _Answer(200, b"", ("Accept-Ranges: bytes",), size)
        return _ranged(file, size, None if "/no-ranges/" in path else wanted)


def _ranged(file: Path, size: int, wanted: str | None) -> _Answer:
    stamp = f'ETag: "{file.stat().st_mtime_ns}-{size}"'
    match = re.fullmatch(r"bytes=(\d+)-(\d*)", wanted or "")
    if match is None:
        return _Answer(200, file.read_bytes()[:size], ("Accept-Ranges: bytes" if wanted is None else stamp, stamp))
    start, end = int(match[1]), min(int(match[2] or size - 1), size - 1)
    if start > end:
        return _Answer(416, b"", (f"Content-Range: bytes */{size}",))
    with file.open("rb") as opened:
        opened.seek(start)
        body = opened.read(end - start + 1)
    return _Answer(206, body, (f"Content-Range: bytes {start}-{end}/{size}", "Accept-Ranges: bytes", stamp))


async def _serve(folder: Path, log: Path) -> None:
    seen: Counter[str] = Counter()
    descriptor = os.open(log, os.O_WRONLY | os.O_APPEND)
    server = await asyncio.get_running_loop().create_server(
        lambda: _Connection(folder, descriptor, seen), "127.0.0.1", 0, backlog=1024
    )
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_serve(Path(sys.argv[1]).resolve(), Path(sys.argv[2])))
