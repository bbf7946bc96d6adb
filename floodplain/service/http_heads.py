"""How large a request's head may be and how long it may take: uvicorn bounds neither with httptools. Edge.

Everything after the head is `request_limits`'.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_LARGEST_BYTES = 64 << 10
_SECONDS = 10.0
"""From a head's first byte to its last. Before it, on a new connection too, uvicorn's keep-alive timeout holds."""


class BoundedHeads(HttpToolsProtocol):
    """HTTP/1.1 by httptools, with heads that end."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._in_head, self._head_bytes, self._heads = True, 0, 0
        self._late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._late = self.loop.call_later(self.config.timeout_keep_alive, self._end)

    def connection_lost(self, exc: Exception | None) -> None:
        self._not_late()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        heads = self._heads
        super().data_received(data)
        if self._in_head and heads == self._heads and not self.transport.is_closing():
            self._head_bytes += len(data)
            if self._head_bytes > _LARGEST_BYTES:
                self.send_400_response("The request's head is larger than 64 KiB.")

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._not_late()
        self._late = self.loop.call_later(_SECONDS, self._end)
        self._in_head, self._head_bytes, self._heads = True, 0, self._heads + 1

    def on_headers_complete(self) -> None:
        self._not_late()
        self._in_head = False
        super().on_headers_complete()

    def _not_late(self) -> None:
        if self._late is not None:
            self._late.cancel()

    def _end(self) -> None:
        if not self.transport.is_closing():
            self.transport.close()
