"""What the API server asks at /observe and /enforce, answered from memory; health and metrics on a door of their own.

Bare ASGI: a question costs its arithmetic and little more. What is decided is `floodplain.admission`'s.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace

from fastapi import FastAPI
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from floodplain.admission.decision import Mode, Outcome
from floodplain.admission.review import Answer, answer
from floodplain.problem import Problem
from floodplain.service.admission_metrics import AdmissionMetrics, Certificates
from floodplain.service.admission_settings import AdmissionSettings
from floodplain.service.answers import refusal
from floodplain.service.logs import logger
from floodplain.service.metrics import ServiceMetrics
from floodplain.service.plans import health_routes, readiness_of
from floodplain.service.pools_source import PoolsSource
from floodplain.service.readiness import Draining, Readiness
from floodplain.service.request_limits import RequestLimits
from floodplain.service.serving_tls import ServingTls
from floodplain.sizing.settings import SizingSettings

_MODES = {f"/{mode.value}": mode for mode in Mode}
_LONGEST_REASON = 300
_QUIET = (Outcome.IGNORED, Outcome.UNCHANGED)
_LARGE_BYTES = 256 << 10
_LARGE_AT_ONCE = 12
"""A pod is some 10 KiB. Whoever may make pods of megabytes could else fill the memory of the process with them."""


def admission_app(
    source: PoolsSource,
    settings: AdmissionSettings,
    metrics: ServiceMetrics,
    counted: AdmissionMetrics,
    draining: Draining,
) -> ASGIApp:
    """The app behind the TLS door of `floodplain serve admission`."""
    limited = RequestLimits(
        _Admission(source, counted, draining),
        body_bytes=settings.body_bytes,
        in_flight=settings.in_flight,
        seconds=settings.request_seconds,
        busy=metrics.in_flight,
        probes=(),
    )
    return _FewLarge(limited)


def health_app(
    source: PoolsSource, metrics: ServiceMetrics, draining: Draining, tls: ServingTls, certificates: Certificates
) -> ASGIApp:
    """The app behind the plain door: ready with pools and a certificate."""
    pools_ready = readiness_of(source, draining)

    def ready() -> Readiness:
        state = pools_ready()
        if state.ready and tls.certificate is None:
            told = f"no certificate yet: {certificates.problem or 'none was looked for'}"
            return replace(state, ready=False, detail=told)
        return state

    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False)
    app.include_router(health_routes(ready, metrics))
    return app


class _FewLarge:
    """Lets few large bodies be read at once. The others wait, unread, in their sockets."""

    def __init__(self, app: ASGIApp) -> None:
        self._app, self._room = app, asyncio.Semaphore(_LARGE_AT_ONCE)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        length = dict(scope.get("headers", ())).get(b"content-length", b"")
        if length.isdigit() and len(length) < 18 and int(length) <= _LARGE_BYTES:
            await self._app(scope, receive, send)
            return
        async with self._room:
            await self._app(scope, receive, send)


class _Admission:
    def __init__(self, source: PoolsSource, counted: AdmissionMetrics, draining: Draining) -> None:
        self._source, self._counted, self._draining = source, counted, draining

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        mode, method = _MODES.get(scope["path"]), scope["method"]
        if mode is None:
            told = Problem(scope["path"], "is not asked here", f"post to {' or '.join(_MODES)}")
            await refusal(404, [told])(scope, receive, send)
        elif method != "POST":
            told = Problem(scope["path"], f"does not take {method}", "use POST")
            await refusal(405, [told], {"allow": "POST"})(scope, receive, send)
        else:
            message = await receive()  # the limits have read the whole body
            await self._answered(message.get("body", b""), mode)(scope, receive, send)

    def _answered(self, body: bytes, mode: Mode) -> Response:
        begun = time.perf_counter()
        snapshot = self._source.snapshot
        found = answer(
            body, snapshot.pools if snapshot else (), snapshot.settings if snapshot else SizingSettings(), mode
        )
        content = found.body
        seconds = time.perf_counter() - begun
        self._counted.decided(mode, found.decision.outcome, seconds)
        _tell(found, mode, seconds)
        # Told to end, we let go of the API server's connections one by one, each after an answer.
        headers = {"connection": "close"} if self._draining.begun else None
        return Response(content, headers=headers, media_type="application/json")


def _tell(found: Answer, mode: Mode, seconds: float) -> None:
    """A line for each decision: of what and what came of it, never the object."""
    decision = found.decision
    log = logger()
    if found.error is not None:
        log.error("fault", uid=found.uid, exc_info=found.error)
    more: dict[str, object] = {"reason": decision.message[:_LONGEST_REASON]} if decision.message else {}
    if decision.plan is not None:
        more["pool"] = decision.plan.pool
    (log.debug if decision.outcome in _QUIET else log.info)(
        "decision",
        mode=mode.value,
        outcome=decision.outcome.value,
        allowed=decision.allowed,
        kind=found.kind[:63],
        namespace=found.namespace[:63],
        name=found.name[:253],
        uid=found.uid[:63],
        dry_run=found.dry_run,
        ms=round(seconds * 1000, 2),
        **more,
    )
