"""How much memory a worker needs for tasks of a known peak, term by term; or how many slots a given memory holds.

Pure. Which peak that is follows from a history in `quantile`; budgets and the threshold of such a worker are
`two_pools`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields
from fractions import Fraction

from floodplain.byte_amount import mib
from floodplain.problem import Problem, ProblemsError
from floodplain.quantity import MIB
from floodplain.raster.counted import LEAST_BYTES, count_problem, idle_processes
from floodplain.raster.terms import Term
from floodplain.raster.two_pools import BASELINE_BYTES, CACHE_BYTES, TwoPools

HEADROOM = 1.3
Z_P99 = 2.3263
"""Standard normal quantile of 0.99."""


@dataclass(frozen=True)
class WorkerMemory:
    """One worker: P processes with `slots` tasks at once in all of them. Bytes.

    Source: facts/sizing.md 3.6. Raises ProblemsError with everything that is wrong.
    """

    marginal_bytes: int
    """Peak of one task beyond the baseline, such as the p99 of a layer."""
    slots: int = 8
    processes: int = 1
    baseline_bytes: int = BASELINE_BYTES
    cache_bytes: int = CACHE_BYTES
    cache_in_marginal_bytes: int = 0
    """Of `marginal_bytes` what is block cache: the cache is counted once a process, and not again in every slot."""
    headroom: float = HEADROOM
    """On the working part only: a pinned cache does not grow."""
    agent_bytes: int = 0
    mean_bytes: float | None = None
    deviation_bytes: float | None = None
    """Of the tasks' peaks beyond the baseline, standard deviation; for `independent_bytes`."""

    def __post_init__(self) -> None:
        problems = tuple(_problems(self))
        if problems:
            raise ProblemsError(problems)

    @property
    def fixed_bytes(self) -> int:
        """P x (baseline + pinned cache) + agent."""
        return self.processes * (self.baseline_bytes + self.cache_bytes) + self.agent_bytes

    @property
    def slot_bytes(self) -> int:
        """One task with headroom: (marginal - cache in it) x headroom, rounded up."""
        return slot_bytes(self.marginal_bytes, self.cache_in_marginal_bytes, self.headroom)

    @property
    def bytes(self) -> int:
        """What the worker's limit should be, as if all slots came to this peak together: fixed + slots x slot.

        Safe for tasks that have nothing to do with each other, and needed for neighbours of one scene.
        """
        return self.fixed_bytes + self.slots * self.slot_bytes

    @property
    def limit_bytes(self) -> int:
        """`bytes`, rounded up to whole MiB: what to write into the pod."""
        return -(-self.bytes // MIB) * MIB

    @property
    def independent_bytes(self) -> int | None:
        """For information: fixed + slots x mean + z x deviation x sqrt(slots), the p99 of a sum of independent tasks.

        Not what to set: tiles of one scene are alike. None without mean and deviation.
        """
        if self.mean_bytes is None or self.deviation_bytes is None:
            return None
        working = self.slots * self.mean_bytes + Z_P99 * self.deviation_bytes * math.sqrt(self.slots)
        return self.fixed_bytes + math.ceil(working)

    @property
    def terms(self) -> tuple[Term, ...]:
        """Parts that add up to `bytes`, each with its arithmetic."""
        processes, slots = _counted(self.processes, "process"), _counted(self.slots, "slot")
        of_each = mib(self.marginal_bytes)
        if self.cache_in_marginal_bytes:
            of_each = f"({of_each} - {mib(self.cache_in_marginal_bytes)} of cache in it)"
        found = [
            Term(
                "baseline",
                self.processes * self.baseline_bytes,
                f"{processes} x {mib(self.baseline_bytes)} before any task",
            ),
            Term(
                "block cache",
                self.processes * self.cache_bytes,
                f"{processes} x {mib(self.cache_bytes)}, one cache a process",
            ),
            Term("tasks", self.slots * self.slot_bytes, f"{slots} x {of_each} x {self.headroom:g} headroom"),
        ]
        if self.agent_bytes:
            found.append(Term("agent", self.agent_bytes, "the engine's agent and what else runs in the pod"))
        return tuple(found)

    def pools(self, big_limit_bytes: int) -> TwoPools:
        """Both pools, the small one of workers like this. Raises ProblemsError where they cannot be."""
        return TwoPools(
            slots=self.slots,
            small_limit_bytes=self.limit_bytes,
            big_limit_bytes=big_limit_bytes,
            baseline_bytes=self.baseline_bytes,
            cache_bytes=self.cache_bytes,
            processes=self.processes,
            agent_bytes=self.agent_bytes,
        )


def worker_memory(
    marginal_bytes: int,
    *,
    slots: int = 8,
    processes: int = 1,
    baseline_bytes: int = BASELINE_BYTES,
    cache_bytes: int = CACHE_BYTES,
    cache_in_marginal_bytes: int = 0,
    headroom: float = HEADROOM,
    agent_bytes: int = 0,
    mean_bytes: float | None = None,
    deviation_bytes: float | None = None,
) -> WorkerMemory:
    """Memory of a worker whose tasks peak at `marginal_bytes` beyond the baseline. See WorkerMemory for each term.

        worker_memory(420 * MIB, slots=8).bytes

    With threads a worker has one process. Where each task has its own, `processes` equals `slots`, and each has its
    baseline and cache. Raises ProblemsError with everything that is wrong.
    """
    return WorkerMemory(
        marginal_bytes=marginal_bytes,
        slots=slots,
        processes=processes,
        baseline_bytes=baseline_bytes,
        cache_bytes=cache_bytes,
        cache_in_marginal_bytes=cache_in_marginal_bytes,
        headroom=headroom,
        agent_bytes=agent_bytes,
        mean_bytes=mean_bytes,
        deviation_bytes=deviation_bytes,
    )


def slot_bytes(marginal_bytes: int, cache_in_marginal_bytes: int = 0, headroom: float = HEADROOM) -> int:
    """(marginal - cache in it) x headroom, rounded up; exact for the decimal that was written."""
    return math.ceil((marginal_bytes - cache_in_marginal_bytes) * Fraction(str(headroom)))


def slots_within(
    limit_bytes: int, slot: int, *, processes: int | None, baseline_bytes: int, cache_bytes: int, agent_bytes: int = 0
) -> int:
    """How many slots of `slot` bytes a worker of this limit holds; 0: not one. `processes` None: one for each slot."""
    process = baseline_bytes + cache_bytes
    if processes is None:
        return max(0, (limit_bytes - agent_bytes) // max(1, slot + process))
    found = max(0, (limit_bytes - agent_bytes - processes * process) // max(1, slot))
    # A process without a slot is none that one would start.
    return found if found >= processes else 0


def _problems(worker: WorkerMemory) -> Iterator[Problem]:
    wrong: set[str] = set()
    for field in fields(worker):
        problem = _wrong(field.name, getattr(worker, field.name))
        if problem is not None:
            wrong.add(field.name)
            yield problem
    if not wrong & {"slots", "processes"}:
        yield from idle_processes(worker.processes, worker.slots)
    if not wrong & {"marginal_bytes", "cache_in_marginal_bytes", "cache_bytes"}:
        most = min(worker.marginal_bytes, worker.cache_bytes)
        if worker.cache_in_marginal_bytes > most:
            rule = f"is more than the peak or the cache has ({mib(most)})"
            yield Problem("cache_in_marginal_bytes", rule, "write 0 if it is not known", worker.cache_in_marginal_bytes)


_LEAST_BYTES = {"cache_bytes": LEAST_BYTES, "baseline_bytes": LEAST_BYTES, "marginal_bytes": 64 * 1024}
"""A task may well hold less than 1 MiB; a thousand bytes are a wrong unit."""


def _wrong(name: str, value: object) -> Problem | None:
    if name not in ("mean_bytes", "deviation_bytes", "headroom"):
        return count_problem(name, value, least_bytes=_LEAST_BYTES.get(name, 0))
    if value is None and name != "headroom":
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return Problem(name, "should be a number", "write digits without quotes", value)
    if name == "headroom":
        return None if 1 <= value <= 10 else Problem(name, "is not from 1 to 10", "write a factor such as 1.3", value)
    return Problem(name, "is negative", "write zero or more", value) if value < 0 else None


def _counted(count: int, noun: str) -> str:
    plural = f"{noun}es" if noun.endswith("s") else f"{noun}s"
    return f"{count} {noun if count == 1 else plural}"
