"""All checks, one after the other, and what could not be seen. Pure: the same cluster gives the same findings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from floodplain.doctor import containment, deaths, grants, limit_ranges, node_swap, queue, versions, webhook_ca
from floodplain.doctor.finding import Finding, by_severity, names
from floodplain.doctor.seen import Cluster, Unseen

UNSEEN = "cannot-see"
CHECKS: tuple[Callable[[Cluster], Iterable[Finding]], ...] = (
    node_swap.check,
    grants.check,
    deaths.check,
    containment.check,
    limit_ranges.check,
    queue.check,
    webhook_ca.check,
    versions.check,
)


def examine(cluster: Cluster) -> tuple[Finding, ...]:
    """Every finding, the worst first."""
    found = [finding for check in CHECKS for finding in check(cluster)]
    return by_severity([*found, *unseen(cluster.unseen)])


def unseen(readings: Iterable[Unseen]) -> Iterator[Finding]:
    """One finding for each cause: a thousand kubelets behind one missing right are told once."""
    places: dict[Unseen, list[str]] = {}
    for one in readings:
        places.setdefault(replace(one, where=""), []).append(one.where)
    for cause, where in places.items():
        there = sorted(place for place in where if place)
        title = names(there) if there else "the cluster"
        seen = f"cannot see {cause.what}: {cause.why}"
        yield Finding(UNSEEN, cause.severity, title, seen, levers=(cause.remedy,))
