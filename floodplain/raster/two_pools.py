"""What a task may hold in a small worker of many slots and in a big one of a single slot, and from where it goes big.

Pure. Which pool one task goes to is `route`; how large the workers should be, from a history, is `worker`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields

from floodplain.byte_amount import mib
from floodplain.problem import Problem, ProblemsError
from floodplain.quantity import GIB, MIB
from floodplain.raster.counted import LEAST_BYTES, count_problem, idle_processes

BASELINE_BYTES = 104 * MIB
"""Resident memory of Python with rasterio, numpy and floodplain after a warm-up (measured: examples/mosaic; 67 MiB with
rasterio alone, facts/sizing.md 3.2). A worker that imports more has more: records say it as `baseline_bytes`."""
CACHE_BYTES = 64 * MIB


@dataclass(frozen=True)
class TwoPools:
    """Settings of both pools in bytes; the budgets follow. The big worker is one process with one slot.

    Raises ProblemsError with everything that is wrong; the paths of its problems are the names of these fields.
    """

    slots: int = 8
    """Tasks that run at once in one small worker, in all its processes together."""
    small_limit_bytes: int = 8 * GIB
    """Memory limit of one small worker's pod."""
    big_limit_bytes: int = 16 * GIB
    """Memory limit of the big worker's pod."""
    baseline_bytes: int = BASELINE_BYTES
    """Of one process that has warmed up and runs no task."""
    cache_bytes: int = CACHE_BYTES
    """GDAL_CACHEMAX of one process, pinned: GDAL has one cache a process, however many threads it has."""
    processes: int = 1
    """Of one small worker: 1 with threads, `slots` where each task has a process of its own."""
    agent_bytes: int = 0
    """What else runs in the pod: the engine's agent, the parent of a process pool."""
    given_threshold_bytes: int | None = None
    """A threshold of one's own; None: half the slot budget."""

    def __post_init__(self) -> None:
        problems = tuple(_problems(self))
        if problems:
            raise ProblemsError(problems)

    @property
    def fixed_bytes(self) -> int:
        """Of the small worker's limit what no task can have: P x (baseline + pinned cache) + agent.

        Source: facts/sizing.md 3.6.
        """
        return self.processes * (self.baseline_bytes + self.cache_bytes) + self.agent_bytes

    @property
    def slot_budget_bytes(self) -> int:
        """What one task may hold beyond the baseline: (small limit - fixed) / slots, rounded down.

        Source: facts/sizing.md 3.7.
        """
        return (self.small_limit_bytes - self.fixed_bytes) // self.slots

    @property
    def threshold_bytes(self) -> int:
        """An estimate above this goes to the big pool: half the slot budget (facts/sizing.md 3.7), or as given.

        Half, so that an estimate that is wrong by two still stays in its slot.
        """
        return self.slot_budget_bytes // 2 if self.given_threshold_bytes is None else self.given_threshold_bytes

    @property
    def big_budget_bytes(self) -> int:
        """What the one task of the big worker may hold: big limit - baseline - pinned cache - agent."""
        return self.big_limit_bytes - self.baseline_bytes - self.cache_bytes - self.agent_bytes


def _problems(pools: TwoPools) -> Iterator[Problem]:
    wrong = list(_wrong_fields(pools))
    yield from wrong
    named = {problem.path for problem in wrong}
    if not named & {"slots", "processes", "baseline_bytes", "cache_bytes", "agent_bytes"}:
        yield from _wrong_budgets(pools, named)


def _wrong_fields(pools: TwoPools) -> Iterator[Problem]:
    counted = True
    for field in fields(pools):
        name, value = field.name, getattr(pools, field.name)
        if value is None and name == "given_threshold_bytes":
            continue
        part = name in _PARTS
        problem = count_problem(name, value, least_bytes=LEAST_BYTES if part else 0)
        if problem is None and part and value == 0:
            problem = Problem(name, "is less than 1 MiB", _NO_CACHE if name == "cache_bytes" else "write bytes", value)
        if problem is not None:
            counted &= name not in ("slots", "processes")
            yield problem
    if counted:
        yield from idle_processes(pools.processes, pools.slots)


_PARTS = ("small_limit_bytes", "big_limit_bytes", "baseline_bytes", "cache_bytes")
_NO_CACHE = "without a cache GDAL decodes a block for every window that touches it; write 64 MiB or more, as bytes"


def _wrong_budgets(pools: TwoPools, wrong: set[str]) -> Iterator[Problem]:
    """Budgets of what is right in itself. A problem of a limit is not told twice."""
    small = "small_limit_bytes" not in wrong
    big = "big_limit_bytes" not in wrong
    if small and pools.slot_budget_bytes <= 0:
        yield Problem(
            "small_limit_bytes",
            f"leaves nothing for {pools.slots:,} tasks at once: {_fixed_text(pools)} are taken before the first",
            "raise it, or have fewer slots or processes, or a smaller cache",
            pools.small_limit_bytes,
        )
        small = False
    if big and pools.big_budget_bytes <= 0:
        yield Problem(
            "big_limit_bytes",
            "leaves nothing for a task after baseline, cache and agent",
            f"raise it above {mib(pools.big_limit_bytes - pools.big_budget_bytes)}",
            pools.big_limit_bytes,
        )
        big = False
    if not small or "given_threshold_bytes" in wrong:
        return
    threshold, budget = pools.threshold_bytes, pools.slot_budget_bytes
    if threshold > budget:
        yield Problem(
            "given_threshold_bytes",
            f"is above the slot budget of {mib(budget)}: a task just below it would not fit its slot",
            f"write at most {budget}, better half of it, {budget // 2}",
            threshold,
        )
    elif threshold <= 0:
        rule = "sends every task to the big pool"
        if pools.given_threshold_bytes is None:
            yield Problem("small_limit_bytes", rule, "raise it", pools.small_limit_bytes)
        else:
            yield Problem("given_threshold_bytes", rule, f"leave it out for {budget // 2}", threshold)
    elif big and pools.big_budget_bytes <= threshold:
        yield Problem(
            "big_limit_bytes",
            f"gives a task {mib(pools.big_budget_bytes)}, not more than the threshold of {mib(threshold)}",
            "raise it above the largest estimate that shall be run",
            pools.big_limit_bytes,
        )


def _fixed_text(pools: TwoPools) -> str:
    agent = f" + agent {mib(pools.agent_bytes)}" if pools.agent_bytes else ""
    each = f"(baseline {mib(pools.baseline_bytes)} + cache {mib(pools.cache_bytes)})"
    return f"{mib(pools.fixed_bytes)} = {pools.processes} x {each}{agent}"
