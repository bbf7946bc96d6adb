"""What admission counts beside what every process of the service does. Labels never hold a user's text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from floodplain.admission.decision import Mode, Outcome
from floodplain.service.authority import not_after
from floodplain.service.serving_tls import ServingTls

_BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.015, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0)


class Certificates(Protocol):
    """Whoever looks after the certificate."""

    @property
    def problem(self) -> str | None: ...

    @property
    def bundle_current(self) -> bool | None: ...


class AdmissionMetrics:
    """Counters in the registry of the process."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry
        self._requests = Counter(
            "floodplain_admission_requests_total",
            "Objects that the API server asked about.",
            ("mode", "outcome"),
            registry=registry,
        )
        self._seconds = Histogram(
            "floodplain_admission_request_seconds",
            "From the whole question to the answer.",
            ("mode",),
            buckets=_BUCKETS,
            registry=registry,
        )
        for mode in Mode:
            self._seconds.labels(mode.value)
            for outcome in Outcome:
                self._requests.labels(mode.value, outcome.value)

    def decided(self, mode: Mode, outcome: Outcome, seconds: float) -> None:
        """One answer."""
        self._requests.labels(mode.value, outcome.value).inc()
        self._seconds.labels(mode.value).observe(seconds)

    def watch(self, tls: ServingTls, certificates: Certificates) -> None:
        """Tell the state of the certificate at each scrape."""

        def ends() -> float:
            return not_after(tls.certificate).timestamp() if tls.certificate else 0.0

        self._gauge("certificate_not_after_seconds", "Unix time at which the served certificate ends; 0: none.", ends)
        self._gauge(
            "certificate_problem",
            "1 while the certificate cannot be looked after; the log says why.",
            lambda: float(certificates.problem is not None),
        )
        if certificates.bundle_current is not None:
            self._gauge(
                "ca_bundle_current",
                "1 while the webhook configuration trusts the certificate's authority.",
                lambda: float(bool(certificates.bundle_current)),
            )

    def _gauge(self, name: str, told: str, value: Callable[[], float]) -> None:
        Gauge(f"floodplain_admission_{name}", told, registry=self._registry).set_function(value)
