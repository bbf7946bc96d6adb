"""Heads of requests that come slowly or not at all, on a real socket with a short patience."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
import uvicorn
from starlette.responses import Response
from uvicorn.server import ServerState

from floodplain.service import http_heads
from floodplain.service.http_heads import BoundedHeads

Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Coroutine[Any, Any, bytes]]
SHORT_SECONDS = 1.0
REQUEST = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


@pytest.fixture
def answered(monkeypatch: pytest.MonkeyPatch) -> Callable[[Talk], bytes]:
    """Runs one side of a conversation with an app that answers `ok`."""
    monkeypatch.setattr(http_heads, "_SECONDS", SHORT_SECONDS)
    config = uvicorn.Config(
        Response("ok"), http=BoundedHeads, ws="none", lifespan="off", log_config=None, timeout_keep_alive=2
    )
    config.load()

    async def run(talk: Talk) -> bytes:
        state = ServerState()
        server = await asyncio.get_running_loop().create_server(lambda: BoundedHeads(config, state, {}), "127.0.0.1", 0)
        async with server:
            reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
            try:
                async with asyncio.timeout(30):
                    return await talk(reader, writer)
            finally:
                writer.close()
                for connection in list(state.connections):
                    connection.shutdown()

    return lambda talk: asyncio.run(run(talk))


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHost:"], ids=["nothing", "half a head"])
def test_a_connection_that_brings_no_request_is_closed(answered: Callable[[Talk], bytes], sent: bytes) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        writer.write(sent)
        return await reader.read()

    assert answered(talk) == b""


def test_a_second_head_must_end_as_well(answered: Callable[[Talk], bytes]) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        writer.write(REQUEST)
        first = await reader.readuntil(b"ok")
        writer.write(b"GET / HTTP/1.1\r\nHos")
        assert await reader.read() == b""
        return first

    assert answered(talk).startswith(b"HTTP/1.1 200 OK\r\n")


def test_between_requests_a_connection_may_rest(answered: Callable[[Talk], bytes]) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        writer.write(REQUEST)
        await reader.readuntil(b"ok")
        # Longer than a head may take.
        await asyncio.sleep(SHORT_SECONDS * 1.3)
        writer.write(REQUEST)
        return await reader.readuntil(b"ok")

    assert answered(talk).endswith(b"ok")


def test_a_head_of_many_parts_is_taken_up_to_its_limit(answered: Callable[[Talk], bytes]) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\nX-Long: ")
        for _ in range(40):
            writer.write(b"x" * 1000)
            await writer.drain()
        writer.write(b"\r\n\r\n")
        return await reader.readuntil(b"ok")

    assert answered(talk).startswith(b"HTTP/1.1 200 OK\r\n")
