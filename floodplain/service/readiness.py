"""Whether this process should be sent requests, and why not. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from floodplain.service.snapshot import Snapshot


@dataclass
class Draining:
    """Set once, when the process is told to end."""

    begun: bool = False


@dataclass(frozen=True)
class Readiness:
    """The answer of /readyz."""

    ready: bool
    detail: str
    pools: tuple[str, ...] = ()
    age_seconds: int | None = None
    """Since the files were last found good."""
    problem: str | None = None
    """What is wrong with the files now, while the last good ones serve."""


def readiness(snapshot: Snapshot | None, draining: Draining, *, problem: str | None, now: float) -> Readiness:
    """Ready with any good snapshot, however old: an old pool is better than none, and its age is told."""
    if snapshot is None:
        told = f"no pools yet: {problem}" if problem else "no pools yet"
        return Readiness(False, told, problem=problem)
    names = tuple(pool.name for pool in snapshot.pools)
    age = max(0, int(now - snapshot.read_at))
    if draining.begun:
        return Readiness(False, "ends: no new requests, please", names, age, snapshot.problem)
    return Readiness(True, _detail(snapshot, age), names, age, snapshot.problem)


def _detail(snapshot: Snapshot, age: int) -> str:
    if snapshot.example:
        return "plans for the example pool, since no pools are named: set FLOODPLAIN_POOLS or --pools"
    if snapshot.problem:
        return f"plans with what was good {age} s ago"
    return "plans"
