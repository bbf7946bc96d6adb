"""The API: plans, pools, health, metrics, and what is told of addresses that there are not."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Callable
from dataclasses import asdict

from fastapi import APIRouter, Request, Response

from floodplain.pools import dump
from floodplain.problem import Problem, RuleError
from floodplain.service.answers import refusal
from floodplain.service.metrics import CONTENT_TYPE, ServiceMetrics
from floodplain.service.openapi import planned, refused, request_body
from floodplain.service.planning import Remembered
from floodplain.service.pools_source import PoolsSource
from floodplain.service.readiness import Draining, Readiness, readiness
from floodplain.service.recent import Recent
from floodplain.service.workloads import AskedError, read_workloads
from floodplain.sizing.plan import Plan
from floodplain.sizing.workload import Workload

VERSIONS = ("v1",)
ADDRESSES = (
    "POST /v1/plans",
    "GET /v1/pools",
    "GET /openapi.json",
    "GET /healthz",
    "GET /readyz",
    "GET /metrics",
    "GET /",
)
_AT_A_STRETCH_SECONDS = 0.002
"""Of planning, before others get their turn: a thousand plans take longer than anybody's p99."""
_AT_ONCE_BYTES = 4096
_NOT_READY = {"retry-after": "5"}


def api_routes(source: PoolsSource, plans: Remembered[Plan], recent: Recent, metrics: ServiceMetrics) -> APIRouter:
    """POST /v1/plans and GET /v1/pools."""
    router = APIRouter(tags=["plans"])

    @router.post(
        "/v1/plans",
        summary="Plan one job or many",
        operation_id="plan",
        openapi_extra=request_body(),
        responses={
            200: planned(),
            413: refused("The body is larger than the limit."),
            422: refused("The body asks for nothing that can be planned."),
            503: refused("Busy, or no pools are known yet; see Retry-After."),
        },
    )
    async def post_plans(request: Request) -> Response:
        """Send one workload and get its plan, or a list and get plans in the same order. A job that no pool takes is
        answered as well: its plan is not `feasible`, and says why and what to change."""
        try:
            body = await request.body()
            # A thousand workloads take longer to read than others should wait.
            large = len(body) > _AT_ONCE_BYTES
            asked = await asyncio.to_thread(read_workloads, body) if large else read_workloads(body)
        except AskedError as error:
            return refusal(422, error.problems)
        snapshot = source.snapshot
        if snapshot is None:
            return refusal(503, [no_pools(source)], _NOT_READY)
        try:
            made = await _planned(asked.workloads, lambda workload: plans.of(workload, snapshot))
        except RuleError as error:
            return refusal(
                422, [Problem(".".join(map(str, error.path)) or "body", error.rule, error.remedy, error.value)]
            )
        for plan in made:
            metrics.plans.labels(str(plan.feasible).lower()).inc()
        for workload, plan in zip(asked.workloads[-Recent.KEPT :], made[-Recent.KEPT :], strict=True):
            recent.add(workload, plan)
        texts = [plan.model_dump_json() for plan in made]
        return Response(f"[{','.join(texts)}]" if asked.many else texts[0], media_type="application/json")

    @router.get(
        "/v1/pools",
        summary="The pools that plans are made for",
        operation_id="pools",
        responses={
            200: {
                "description": "The pool documents, as `python -m preview show pools --json` prints them.",
                "content": {"application/json": {"schema": {"type": "object"}}},
            },
            503: refused("No pools are known yet; see Retry-After."),
        },
    )
    async def get_pools() -> Response:
        """The documents as they were last read."""
        snapshot = source.snapshot
        if snapshot is None:
            return refusal(503, [no_pools(source)], _NOT_READY)
        return Response(dump(snapshot.pools), media_type="application/json")

    return router


def health_routes(ready: Callable[[], Readiness], metrics: ServiceMetrics) -> APIRouter:
    """GET /healthz, /readyz and /metrics, of any process of the service."""
    router = APIRouter(tags=["health"])

    @router.get("/healthz", summary="Whether the process runs", operation_id="health")
    async def healthz() -> Response:
        """200 as long as it answers at all."""
        return Response("ok\n", media_type="text/plain")

    @router.get(
        "/readyz",
        summary="Whether requests should be sent here",
        operation_id="ready",
        responses={503: {"description": "Not now; the detail says why."}},
    )
    async def readyz() -> Response:
        """With what it plans, how old that is, and what is wrong with the files."""
        state = ready()
        return Response(json.dumps(asdict(state)) + "\n", 200 if state.ready else 503, media_type="application/json")

    @router.get("/metrics", summary="Metrics for Prometheus", operation_id="metrics")
    async def get_metrics() -> Response:
        """In Prometheus' text format."""
        return Response(metrics.exposition(), headers={"content-type": CONTENT_TYPE})

    return router


def readiness_of(source: PoolsSource, draining: Draining) -> Callable[[], Readiness]:
    """Asks a source at this moment."""
    return lambda: readiness(source.snapshot, draining, problem=source.problem, now=time.time())


def no_pools(source: PoolsSource) -> Problem:
    """Why nothing can be planned yet."""
    return Problem(
        "the pools", f"are not known yet ({source.problem or 'not read'})", "mend the file; it is read again"
    )


def not_found(path: str) -> Problem:
    """What is told of an address that there is not."""
    version = re.match(r"/(v[0-9]+[a-z0-9]*)(/|$)", path)
    if version and version[1] not in VERSIONS:
        return Problem(
            path, f"asks for version {version[1]} of the API", f"there is {', '.join(VERSIONS)}: {ADDRESSES[0]}"
        )
    return Problem(path, "is no address here", f"there are {', '.join(ADDRESSES)}")


async def _planned(workloads: tuple[Workload, ...], plan: Callable[[Workload], Plan]) -> list[Plan]:
    made: list[Plan] = []
    since = time.perf_counter()
    for workload in workloads:
        made.append(plan(workload))
        if time.perf_counter() - since > _AT_A_STRETCH_SECONDS:
            await asyncio.sleep(0)
            since = time.perf_counter()
    return made
