"""Findings as Prometheus metrics: into a file for node_exporter's textfile collector, or to a pushgateway. Edge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from prometheus_client import CollectorRegistry, Gauge, push_to_gateway, write_to_textfile

from floodplain.doctor.finding import Finding, Severity, exit_status
from floodplain.doctor.seen import Cluster

JOB = "floodplain-doctor"


class MetricsError(Exception):
    """They could not be written or sent. `str()` says where and why."""


def registry(cluster: Cluster, findings: Iterable[Finding]) -> CollectorRegistry:
    """Metrics of one run."""
    found = tuple(findings)
    made = CollectorRegistry()
    by_kind = Counter((one.check, one.severity) for one in found)
    told = Gauge("floodplain_doctor_findings", "Findings of the last run", ["check", "severity"], registry=made)
    for check in sorted({one.check for one in found}):
        for severity in Severity:
            told.labels(check, severity.value).set(by_kind[check, severity])
    status = Gauge("floodplain_doctor_exit_status", "0 nothing above info, 1 warnings, 2 errors", registry=made)
    status.set(exit_status(found))
    Gauge("floodplain_doctor_pool_nodes", "Nodes of pools in the last run", registry=made).set(len(cluster.pool_nodes))
    last = Gauge("floodplain_doctor_last_run_timestamp_seconds", "When it looked", registry=made)
    last.set(cluster.now.timestamp())
    return made


def write(path: str, made: CollectorRegistry) -> None:
    """Write a file at once: a reader never sees half of it. Raises MetricsError."""
    try:
        write_to_textfile(path, made)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise MetricsError(f"--metrics-file: {path!r} cannot be written ({reason}); name another file") from error


def push(url: str, made: CollectorRegistry) -> None:
    """Replace what the pushgateway at `url` holds of doctor. Raises MetricsError."""
    try:
        push_to_gateway(url, job=JOB, registry=made, timeout=10)
    except (OSError, ValueError) as error:
        told = f"--push: {url!r} does not take the metrics ({error}); give the address of a pushgateway"
        raise MetricsError(told) from error
