"""The sizing service as one ASGI app: API, page, limits, log. Knows nothing of sockets and signals."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.openapi.utils import get_openapi
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp

from floodplain import __version__
from floodplain.problem import Problem
from floodplain.service import openapi
from floodplain.service.answers import refusal
from floodplain.service.metrics import ServiceMetrics
from floodplain.service.page import page_routes
from floodplain.service.planning import remembered_plans
from floodplain.service.plans import api_routes, health_routes, not_found, readiness_of
from floodplain.service.pools_source import PoolsSource
from floodplain.service.readiness import Draining
from floodplain.service.recent import Recent
from floodplain.service.request_limits import RequestLimits
from floodplain.service.request_log import RequestLog
from floodplain.service.settings import ServiceSettings


def sizing_app(source: PoolsSource, settings: ServiceSettings, metrics: ServiceMetrics, draining: Draining) -> ASGIApp:
    """The app that `floodplain serve sizing` runs."""
    limited = RequestLimits(
        sizing_api(source, metrics, draining),
        body_bytes=settings.body_bytes,
        in_flight=settings.in_flight,
        seconds=settings.request_seconds,
        busy=metrics.in_flight,
    )
    return RequestLog(limited, metrics)


def sizing_api(source: PoolsSource, metrics: ServiceMetrics, draining: Draining) -> FastAPI:
    """API and page without limits and log. Their own pages of documentation are off: they load from other hosts."""
    api = FastAPI(
        title="floodplain sizing",
        version=__version__,
        summary=openapi.SUMMARY,
        description=openapi.DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        exception_handlers={HTTPException: _http_error},
    )
    plans, recent = remembered_plans(), Recent()
    api.include_router(api_routes(source, plans, recent, metrics))
    api.include_router(page_routes(source, plans, recent, metrics))
    api.include_router(health_routes(readiness_of(source, draining), metrics))
    document: dict[str, Any] = {}

    def described() -> dict[str, Any]:
        if not document:
            document.update(
                get_openapi(
                    title=api.title,
                    version=api.version,
                    summary=api.summary,
                    description=api.description,
                    routes=api.routes,
                )
            )
            document.setdefault("components", {}).setdefault("schemas", {}).update(openapi.schemas())
        return document

    api.openapi = described  # type: ignore[method-assign]
    return api


async def _http_error(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    headers = error.headers if isinstance(error, HTTPException) else None
    path = request.url.path
    if status == 404:
        return refusal(404, [not_found(path)], headers)
    if status == 405:
        allowed = (headers or {}).get("Allow") or (headers or {}).get("allow") or "another method"
        return refusal(405, [Problem(path, f"does not take {request.method}", f"use {allowed}")], headers)
    detail = error.detail if isinstance(error, HTTPException) else "failed"
    return refusal(status, [Problem(path, str(detail))], headers)
