"""What a request must keep to before an app sees it: how many at once, how large a body, how long. ASGI.

A body is read here, whole, before the app runs, and never beyond its limit, whatever its headers say.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection

from prometheus_client import Gauge
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from floodplain.problem import Problem
from floodplain.service.answers import refusal

PROBES = frozenset({"/healthz", "/readyz", "/metrics"})
"""Answered however busy the process is: else kubelet would restart it for being busy."""
_LINGER_BYTES = 1 << 20
_LINGER_SECONDS = 1.0


class _TooLargeError(Exception):
    pass


class _GoneError(Exception):
    pass


class RequestLimits:
    """Wraps an app. `busy` shows how many requests are worked on."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        body_bytes: int,
        in_flight: int,
        seconds: float,
        busy: Gauge,
        probes: Collection[str] = PROBES,
    ) -> None:
        self._app, self._body_bytes, self._in_flight, self._seconds = app, body_bytes, in_flight, seconds
        self._busy, self._probes = busy, probes
        self._running = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in self._probes:
            await self._app(scope, receive, send)
            return
        if self._running >= self._in_flight:
            told = Problem("the service", f"is busy with {self._running} requests", "try again in a second")
            await refusal(503, [told], {"retry-after": "1"})(scope, receive, send)
            return
        self._running += 1
        self._busy.set(self._running)
        try:
            await self._limited(scope, receive, send)
        finally:
            self._running -= 1
            self._busy.set(self._running)

    async def _limited(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            async with asyncio.timeout(self._seconds):
                body = await self._body(scope, receive)
        except _GoneError:
            return
        except _TooLargeError:
            await self._refuse_body(scope, receive, send)
            return
        except TimeoutError:
            told = Problem("body", f"did not arrive within {self._seconds:g} s", "send it at once")
            await refusal(408, [told], {"connection": "close"})(scope, receive, send)
            return
        started = False

        async def watched(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            async with asyncio.timeout(self._seconds):
                await self._app(scope, _given(body, receive), watched)
        except TimeoutError:
            if started:
                raise
            told = Problem("the answer", f"takes more than {self._seconds:g} s", "ask for less at once, or try again")
            await refusal(503, [told], {"retry-after": "5"})(scope, receive, send)

    async def _body(self, scope: Scope, receive: Receive) -> bytes:
        names = {name: value for name, value in scope["headers"] if name in (b"content-length", b"transfer-encoding")}
        if not names:
            return b""
        length = names.get(b"content-length", b"")
        if length.isdigit() and (len(length) > 18 or int(length) > self._body_bytes):
            raise _TooLargeError
        parts: list[bytes] = []
        size = 0
        while True:
            message = await receive()
            if message["type"] != "http.request":
                raise _GoneError
            part = message.get("body", b"")
            size += len(part)
            if size > self._body_bytes:
                raise _TooLargeError
            parts.append(part)
            if not message.get("more_body", False):
                return b"".join(parts)

    async def _refuse_body(self, scope: Scope, receive: Receive, send: Send) -> None:
        told = Problem("body", f"is larger than {self._body_bytes} bytes", "ask for less at once")
        answer = refusal(413, [told], {"connection": "close"})
        await send({"type": "http.response.start", "status": 413, "headers": answer.raw_headers})
        await send({"type": "http.response.body", "body": answer.body, "more_body": True})
        # Closed at once, the connection would be reset while the client still writes, and it never see the answer.
        read = 0
        try:
            async with asyncio.timeout(_LINGER_SECONDS):
                while read < _LINGER_BYTES:
                    message = await receive()
                    read += len(message.get("body", b""))
                    if message["type"] != "http.request" or not message.get("more_body", False):
                        break
        except TimeoutError:
            pass
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def _given(body: bytes, receive: Receive) -> Receive:
    """The body in one message, then whatever the server says: that the client has gone."""
    handed = False

    async def give() -> Message:
        nonlocal handed
        if handed:
            return await receive()
        handed = True
        return {"type": "http.request", "body": body, "more_body": False}

    return give
