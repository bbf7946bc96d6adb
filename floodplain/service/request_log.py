"""Around every request: an id, a line in the log, counters, headers that hold for each answer. ASGI."""

from __future__ import annotations

import re
import secrets
import time

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from floodplain.problem import Problem
from floodplain.service.answers import refusal
from floodplain.service.logs import logger
from floodplain.service.metrics import ServiceMetrics
from floodplain.service.request_limits import PROBES

_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
_LONGEST_PATH = 200
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_GONE = 499
"""As other servers count it: the client went before the answer."""
_HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
}


class RequestLog:
    """The outermost layer. An error that no other layer answered becomes a 500 that names the request's id."""

    def __init__(self, app: ASGIApp, metrics: ServiceMetrics) -> None:
        self._app, self._metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        begun, status = time.perf_counter(), 0
        name = _request_id(scope)

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(raw=list(message.get("headers", [])))
                headers["x-request-id"] = name
                for header, value in _HEADERS.items():
                    headers.setdefault(header, value)
                message = {**message, "headers": headers.raw}
            await send(message)

        try:
            await self._app(scope, receive, watched)
        except Exception:
            logger().exception("failed", request=name)
            if not status:
                told = Problem("the service", "failed", f"look for request {name} in its log")
                await refusal(500, [told])(scope, receive, watched)
        finally:
            self._tell(scope, name, status or _GONE, begun)

    def _tell(self, scope: Scope, name: str, status: int, begun: float) -> None:
        route = getattr(scope.get("route"), "path", None) or "other"
        method = scope["method"] if scope["method"] in _METHODS else "other"
        self._metrics.request(route, method, status, begun)
        log = logger().debug if scope["path"] in PROBES and status < 400 else logger().info
        log(
            "request",
            request=name,
            method=method,
            path=scope["path"][:_LONGEST_PATH],
            status=status,
            ms=round((time.perf_counter() - begun) * 1000, 2),
            client=(scope.get("client") or ("",))[0],
        )


def _request_id(scope: Scope) -> str:
    """The caller's, if it can be written anywhere; else a new one."""
    for header, value in scope["headers"]:
        if header == b"x-request-id" and _ID.fullmatch(value):
            return str(value.decode("ascii"))
    return secrets.token_hex(8)
