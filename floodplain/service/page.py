"""The page for people: a form that plans, the plan in words with its chart, and what was planned lately.

Works without script: the form's address is the answer's, and htmx only saves the reload.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime

from fastapi import APIRouter, HTTPException, Request, Response

from floodplain import __version__
from floodplain.problem import Problem, RuleError
from floodplain.service.answers import refusal
from floodplain.service.form import Form, address_of, read_form
from floodplain.service.metrics import ServiceMetrics
from floodplain.service.page_files import static_files, templates
from floodplain.service.planning import Remembered, remembered_charts
from floodplain.service.plans import no_pools
from floodplain.service.pools_source import PoolsSource
from floodplain.service.recent import Recent, RecentPlan
from floodplain.service.snapshot import Snapshot
from floodplain.sizing.chart import style
from floodplain.sizing.chart_scale import HEIGHT, WIDTH
from floodplain.sizing.explain import Explanation, explain
from floodplain.sizing.plan import Plan
from floodplain.sizing.workload import CapacityType, Engine

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self';"
    " form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_STYLE = base64.b64encode(hashlib.sha256(style().encode()).digest()).decode("ascii")
_CHART_POLICY = f"default-src 'none'; style-src 'sha256-{_STYLE}'; frame-ancestors 'none'"
KNOWN_OPTIONS = (
    "dsm",
    "dtm",
    "fast-orthophoto",
    "skip-3dmodel",
    "pc-quality=high",
    "pc-quality=ultra",
    "feature-quality=high",
    "feature-quality=ultra",
    "split=400",
    "dsm,dtm",
)
"""Those that move the peak most; every other may be written."""


@dataclass(frozen=True)
class ShownPlan:
    """One of the recent plans as the page shows it."""

    time_full: str
    time_short: str
    feasible: bool
    explanation: Explanation
    address: str | None
    """None for a job that the form cannot ask for."""


def page_routes(source: PoolsSource, plans: Remembered[Plan], recent: Recent, metrics: ServiceMetrics) -> APIRouter:
    """GET / and what it loads."""
    router = APIRouter(include_in_schema=False)
    page, static = templates().get_template("page.html"), static_files()
    addresses = {name: file.address for name, file in static.items()}

    @router.get("/")
    async def get_page(request: Request) -> Response:
        snapshot = source.snapshot
        names = tuple(pool.name for pool in snapshot.pools) if snapshot else ()
        form = read_form(request.query_params, names)
        plan, trouble = None, None
        if form.workload is not None and snapshot is None:
            trouble = str(no_pools(source))
        elif form.workload is not None and snapshot is not None:
            try:
                plan = plans.of(form.workload, snapshot, form.pool)
            except RuleError as error:
                trouble = str(error)
            else:
                recent.add(form.workload, plan)
                metrics.plans.labels(str(plan.feasible).lower()).inc()
        priced = snapshot is not None and snapshot.prices is not None
        content = page.render(
            banner=_banner(source, snapshot),
            capacity_types=[one.value for one in CapacityType],
            chart=address_of(form.workload, form.pool, "/chart.svg") if form.workload and plan else None,
            chart_height=HEIGHT,
            chart_width=WIDTH,
            explanation=explain(plan, priced=priced) if plan else None,
            form=form,
            known_options=KNOWN_OPTIONS,
            most_recent=Recent.KEPT,
            plan=plan,
            pools=names,
            recent=[_shown(one, priced) for one in recent.plans()],
            static=addresses,
            trouble=trouble,
            version=__version__,
        )
        # htmx shows only answers that went well, and what is wrong is part of the page.
        status = 200 if "hx-request" in request.headers else _status(form, plan, trouble)
        headers = {"content-security-policy": POLICY, "cache-control": "no-store"}
        return Response(content, status, headers, "text/html")

    charts, drawing = remembered_charts(), ThreadPoolExecutor(1, "chart")

    @router.get("/chart.svg")
    async def get_chart(request: Request) -> Response:
        snapshot = source.snapshot
        if snapshot is None:
            return refusal(503, [no_pools(source)], {"retry-after": "5"})
        form = read_form(request.query_params, tuple(pool.name for pool in snapshot.pools))
        if form.workload is None:
            told = [Problem(name, text) for name, texts in form.errors.items() for text in texts]
            return refusal(422, told or [Problem("images", "is required", "set it")])
        loop = asyncio.get_running_loop()
        svg = await loop.run_in_executor(drawing, charts.of, form.workload, snapshot, form.pool)
        headers = {"content-security-policy": _CHART_POLICY, "cache-control": "no-cache"}
        return Response(svg, headers=headers, media_type="image/svg+xml")

    @router.get("/static/{name}")
    async def get_static(name: str) -> Response:
        file = static.get(name)
        if file is None:
            raise HTTPException(404)
        return Response(
            file.content, headers={"cache-control": "public, max-age=31536000, immutable"}, media_type=file.media_type
        )

    return router


def _status(form: Form, plan: Plan | None, trouble: str | None) -> int:
    if trouble:
        return 503
    return 422 if form.asked and plan is None else 200


def _banner(source: PoolsSource, snapshot: Snapshot | None) -> str | None:
    if snapshot is None:
        return f"No plans can be made yet: {source.problem or 'the pools have not been read'}"
    if snapshot.problem:
        age = int(max(0, time.time() - snapshot.read_at))
        return f"Plans are made with what was good {age} s ago, since now something is wrong: {snapshot.problem}"
    if snapshot.example:
        return "Plans are for an example pool, since none is named. Set FLOODPLAIN_POOLS or --pools to plan for yours."
    return None


def _shown(one: RecentPlan, priced: bool) -> ShownPlan:
    at = datetime.fromtimestamp(one.at, UTC)
    return ShownPlan(
        time_full=at.isoformat(timespec="seconds"),
        time_short=at.strftime("%H:%M:%S UTC"),
        feasible=one.plan.feasible,
        explanation=explain(one.plan, priced=priced),
        address=address_of(one.workload) if one.workload.engine is Engine.ODM else None,
    )
