"""Findings as a person, a script and a log collector read them. Pure."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from typing import Any

from floodplain.byte_amount import counted
from floodplain.doctor.finding import Finding, Severity, exit_status, worst
from floodplain.doctor.seen import Cluster

SCHEMA_VERSION = 1


def document(cluster: Cluster, findings: Iterable[Finding]) -> dict[str, Any]:
    """Everything, as `--json` prints it."""
    found = tuple(findings)
    return {
        "schema_version": SCHEMA_VERSION,
        "looked_at": cluster.now.isoformat(timespec="seconds"),
        "kubernetes": cluster.server_version,
        "pools": [pool.name for pool in cluster.pools],
        "pool_nodes": len(cluster.pool_nodes),
        "pods": len(cluster.pods or ()),
        "severity": worst(found).value,
        "exit_status": exit_status(found),
        "counts": counts(found),
        "findings": [entry(one) for one in found],
    }


def entry(finding: Finding) -> dict[str, Any]:
    """One finding, whole."""
    return {
        "check": finding.check,
        "severity": finding.severity.value,
        "object": finding.object,
        "seen": finding.seen,
        "expected": finding.expected,
        "levers": list(finding.levers),
        "source": finding.source,
    }


def lines(cluster: Cluster, findings: Iterable[Finding]) -> list[str]:
    """A JSON object a finding, for logs."""
    at = cluster.now.isoformat(timespec="seconds")
    return [json.dumps({"time": at, "event": "finding", **entry(one)}) for one in findings]


def counts(findings: Iterable[Finding]) -> dict[str, int]:
    """How many of each severity."""
    found = Counter(one.severity for one in findings)
    return {severity.value: found[severity] for severity in Severity}


def printable(text: str) -> str:
    """A text on one line, whatever a cluster's objects hold: names and messages are anybody's."""
    return "".join(letter if letter.isprintable() else "?" for letter in " ".join(text.split()))


def summary(cluster: Cluster, findings: Iterable[Finding]) -> str:
    """The last line for a person."""
    found = counts(findings)
    told = ", ".join(f"{count} {name}" for name, count in reversed(found.items()))
    nodes = len(cluster.pool_nodes)
    return f"Kubernetes {printable(cluster.server_version) or '?'}, {counted(nodes, 'node')} of pools: {told}"
