"""What a service process counts, in a registry of its own, as Prometheus text. Labels never hold a user's text."""

from __future__ import annotations

import time

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)

from floodplain import __version__
from floodplain.service.pools_source import PoolsSource

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.015, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0)


class ServiceMetrics:
    """The counters of one process."""

    def __init__(self) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self._requests = Counter(
            "floodplain_http_requests_total",
            "Requests by the route that answered (`other` where none did), method and status.",
            ("route", "method", "code"),
            registry=self.registry,
        )
        self._seconds = Histogram(
            "floodplain_http_request_seconds",
            "From the first byte of a request's head to the last of the answer.",
            ("route",),
            buckets=_BUCKETS,
            registry=self.registry,
        )
        self.in_flight = Gauge(
            "floodplain_http_requests_in_flight", "Requests that are worked on.", registry=self.registry
        )
        self.plans = Counter(
            "floodplain_plans_total",
            "Plans made, by whether a pool takes the job.",
            ("feasible",),
            registry=self.registry,
        )
        Gauge(
            "floodplain_build_info", "1, with the version of this process.", ("version",), registry=self.registry
        ).labels(__version__).set(1)

    def request(self, route: str, method: str, code: int, begun: float) -> None:
        """One request that has ended; `begun` by time.perf_counter."""
        self._requests.labels(route, method, str(code)).inc()
        self._seconds.labels(route).observe(time.perf_counter() - begun)

    def watch(self, source: PoolsSource) -> None:
        """Tell the state of the pools at each scrape."""
        for name, told, value in (
            ("age_seconds", "Since the pool files were last good.", source.age_seconds),
            ("problem", "1 while something is wrong with the pool files.", lambda: float(source.problem is not None)),
            ("known", "Pools that plans are made for.", lambda: float(len(_pools(source)))),
            (
                "example",
                "1 while plans are for the example pool, since none is named.",
                lambda: float(_example(source)),
            ),
        ):
            Gauge(f"floodplain_pools_{name}", told, registry=self.registry).set_function(value)

    def exposition(self) -> bytes:
        """The text that Prometheus reads."""
        return generate_latest(self.registry)


def _pools(source: PoolsSource) -> tuple[object, ...]:
    return source.snapshot.pools if source.snapshot else ()


def _example(source: PoolsSource) -> bool:
    return source.snapshot is not None and source.snapshot.example
