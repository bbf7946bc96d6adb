"""Requests at a fixed rate, whatever the answers take: how long each took from the moment it was due.

A client that waits for an answer before it asks again would slow down with the server and see little of its pauses.
HTTP/1.1 by hand over kept connections: a client library costs more than the server that is measured.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Sequence
from dataclasses import dataclass

import uvloop

_CONNECTIONS = 48
"""Fewer than the service works on at once: it shall not refuse."""


@dataclass(frozen=True)
class Measured:
    """Milliseconds, sorted."""

    took: tuple[float, ...]
    """From when a request was due to the last byte of its answer."""
    late: tuple[float, ...]
    """Of that, until it was sent: how far this client and the machine lag behind."""
    refused: int
    """Answers with another status than 200."""

    def at(self, share: float) -> float:
        """The time that this share of the requests stayed within."""
        return quantile(self.took, share)


def quantile(ordered: Sequence[float], share: float) -> float:
    """Of sorted figures, the one that `share` of them do not pass."""
    return ordered[min(len(ordered) - 1, max(0, round(share * len(ordered)) - 1))]


def drive(
    port: int, path: str, bodies: Sequence[bytes], *, per_second: float, tls: ssl.SSLContext | None = None
) -> Measured:
    """POST each body once to 127.0.0.1."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_drive(port, path, bodies, per_second, tls))


class _Connections:
    def __init__(self, port: int, tls: ssl.SSLContext | None) -> None:
        self._port, self._tls = port, tls
        self._free: asyncio.Queue[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = asyncio.Queue()

    async def post(self, head: bytes, body: bytes) -> int:
        reader, writer = pair = await self._free.get()
        writer.write(head % len(body) + body)
        answer = await reader.readuntil(b"\r\n\r\n")
        lengths = [line for line in answer.lower().split(b"\r\n") if line.startswith(b"content-length:")]
        await reader.readexactly(int(lengths[0].partition(b":")[2]))
        self._free.put_nowait(pair)
        return int(answer[9:12])

    async def open(self, count: int) -> None:
        """Connections in advance: a handshake is not what is measured. A request that finds none free waits."""
        name = "localhost" if self._tls else None
        for _ in range(count):
            pair = await asyncio.open_connection("127.0.0.1", self._port, ssl=self._tls, server_hostname=name)
            self._free.put_nowait(pair)

    def close(self) -> None:
        while not self._free.empty():
            self._free.get_nowait()[1].close()


async def _drive(
    port: int, path: str, bodies: Sequence[bytes], per_second: float, tls: ssl.SSLContext | None
) -> Measured:
    connections = _Connections(port, tls)
    await connections.open(_CONNECTIONS)
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n".encode()
    head += b"Content-Length: %d\r\n\r\n"
    took: list[float] = []
    late: list[float] = []
    refused = 0
    begun = time.perf_counter() + 0.1

    async def one(due: float, body: bytes) -> None:
        nonlocal refused
        late.append((time.perf_counter() - due) * 1000)
        status = await connections.post(head, body)
        refused += status != 200
        took.append((time.perf_counter() - due) * 1000)

    asking = []
    for number, body in enumerate(bodies):
        due = begun + number / per_second
        wait = due - time.perf_counter()
        if wait > 0:
            await asyncio.sleep(wait)
        asking.append(asyncio.create_task(one(due, body)))
    await asyncio.gather(*asking)
    connections.close()
    return Measured(tuple(sorted(took)), tuple(sorted(late)), refused)
