"""What a history would have cost: on one fleet sized for its largest task, and on two pools.

Pure. Memory-hours are limit x workers x the time until a pool's last task ends. Tasks take slots in the order of the
history, each for the seconds that it took; tasks of the big pool run alone, one after the other.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import median

from floodplain.problem import RuleError
from floodplain.quantity import GIB
from floodplain.raster.peaks import Task, layer_peaks
from floodplain.raster.record import Record
from floodplain.raster.sized_worker import ESTIMATE_SHARE, SizedWorker, Wishes, size_worker
from floodplain.raster.worker import WorkerMemory

ASSUMED_SECONDS = 60.0
"""Of every task where no record has its time: amounts then mean little, their ratio holds."""
_MOST_REPLICAS = 10_000
_ROUNDING = 1 + 1e-9


@dataclass(frozen=True)
class Fleet:
    """Workers of one size and what they ran."""

    name: str
    limit_bytes: int
    """Of one worker."""
    slots: int
    """Of one worker."""
    workers: int
    tasks: int
    wall_seconds: float
    """Until its last task ends."""

    @property
    def gib_hours(self) -> float:
        return self.workers * self.limit_bytes / GIB * self.wall_seconds / 3600


@dataclass(frozen=True)
class Bill:
    """Both ways to run a history."""

    sized: SizedWorker
    tasks: tuple[Task, ...]
    one: Fleet
    small: Fleet
    big: Fleet
    routed_by_estimate: int
    """The others have none and went by what they really held."""
    unknown_demand: int
    """Of the tasks of the big pool those of which only a lower bound is known."""
    over_slot: tuple[str, ...]
    """Tasks that their estimate sent to the small pool and that held more than a slot: they die there, and run again in
    the big pool. Both runs are in the bill."""
    balanced_replicas: int
    """Big workers with which the big pool ends when the small one does, or as near to it as its longest task lets."""
    balanced_seconds: float
    """Wall time of both pools with that many."""
    assumed_seconds: float | None
    """What tasks without a time were taken to need; None: all have one."""

    @property
    def gib_hours(self) -> float:
        """Of both pools, each until its own last task ends."""
        return self.small.gib_hours + self.big.gib_hours

    @property
    def wall_seconds(self) -> float:
        """Until the last task of both pools ends."""
        return max(self.small.wall_seconds, self.big.wall_seconds)

    @property
    def kept_gib_hours(self) -> float:
        """If neither pool is taken down before the other ends."""
        return self._kept(self.big.workers, self.wall_seconds)

    @property
    def balanced_gib_hours(self) -> float:
        """The same with `balanced_replicas` big workers: they wait for each other less."""
        return self._kept(self.balanced_replicas, self.balanced_seconds)

    def _kept(self, big_workers: int, seconds: float) -> float:
        big = big_workers * self.big.limit_bytes if self.big.tasks else 0
        return (self.small.workers * self.small.limit_bytes + big) / GIB * seconds / 3600

    @property
    def share(self) -> float:
        """Two pools' memory-hours by those of one fleet."""
        return self.gib_hours / self.one.gib_hours if self.one.gib_hours else 0.0


def make_bill(
    records: Sequence[Record], wishes: Wishes | None = None, *, workers: int = 1, layer: str | None = None
) -> Bill:
    """The bill of a history for `workers` workers of many slots, in both ways.

    One fleet: every slot holds the largest task with the headroom. Two pools: slots hold the p99 with the headroom, and
    tasks whose estimate (or, without one, whose peak) lies above half of a slot go to one big worker. Tasks of unknown
    demand go there too. Raises RuleError and ProblemsError as `size_worker` does.
    """
    if workers < 1:
        raise RuleError("is less than one", "give one worker or more", ("workers",), workers)
    wishes = wishes or Wishes()
    sized = size_worker(records, wishes, layer=layer)
    pools = sized.pools
    tasks = [task for found in layer_peaks(records, layer).values() for task in found.tasks]
    seconds, assumed = _seconds(tasks)

    small: list[float] = []
    big: list[float] = []
    over: list[str] = []
    unknown = 0
    threshold, slot = pools.threshold_bytes, pools.slot_budget_bytes  # as `route` compares, without its sentences
    for number, (task, taken) in enumerate(zip(tasks, seconds, strict=True), start=1):
        estimate = task.record.estimate_bytes
        if task.bound or (task.bytes if estimate is None else estimate) > threshold:
            big.append(taken)
            unknown += task.bound
            continue
        small.append(taken)
        if task.bytes > slot:
            over.append(task.record.task or f"task {number}")
            big.append(taken)

    worker = sized.worker
    one_limit = _for_the_largest(worker, sized.largest_bytes).limit_bytes
    slots = pools.slots
    small_fleet = Fleet(
        "small pool", pools.small_limit_bytes, slots, workers, len(small), makespan(small, slots * workers)
    )
    big_fleet = Fleet("big pool", pools.big_limit_bytes, 1, 1, len(big), math.fsum(big))
    replicas = balanced(big, small_fleet.wall_seconds)
    return Bill(
        sized=sized,
        tasks=tuple(tasks),
        one=Fleet("one fleet", one_limit, slots, workers, len(tasks), makespan(seconds, slots * workers)),
        small=small_fleet,
        big=big_fleet,
        routed_by_estimate=sum(task.record.estimate_bytes is not None for task in tasks),
        unknown_demand=unknown,
        over_slot=tuple(over),
        balanced_replicas=replicas,
        balanced_seconds=max(small_fleet.wall_seconds, makespan(big, replicas)) if big else small_fleet.wall_seconds,
        assumed_seconds=assumed,
    )


def at_higher_threshold(
    records: Sequence[Record], wishes: Wishes, *, workers: int = 1, layer: str | None = None
) -> Bill | None:
    """The same with a threshold of 0.8 of a slot, for comparison; None where the wishes have no lower one."""
    if wishes.threshold_share >= ESTIMATE_SHARE:
        return None
    return make_bill(records, replace(wishes, threshold_share=ESTIMATE_SHARE), workers=workers, layer=layer)


def makespan(seconds: Iterable[float], slots: int) -> float:
    """When the last task ends: each takes the slot that is free first, in the order given."""
    free = [0.0] * slots
    for taken in seconds:
        heapq.heapreplace(free, free[0] + taken)
    return max(free)


def balanced(seconds: Sequence[float], wall: float) -> int:
    """How many workers of one slot end within `wall`; if their longest task takes longer, within that. At least 1."""
    if not seconds:
        return 1
    target = max(wall, *seconds)
    if not target:
        return 1
    in_time = target * _ROUNDING
    replicas = max(1, math.ceil(math.fsum(seconds) / in_time))
    while replicas < min(len(seconds), _MOST_REPLICAS) and makespan(seconds, replicas) > in_time:
        replicas += 1
    return replicas


def _for_the_largest(worker: WorkerMemory, largest: int) -> WorkerMemory:
    """The same worker with every slot for the largest task; a cache inside of it is not counted twice either."""
    return replace(worker, marginal_bytes=max(largest, worker.marginal_bytes))


def _seconds(tasks: Sequence[Task]) -> tuple[list[float], float | None]:
    """Of every task, and what those without were taken to need: the median of the others, or a minute."""
    known = [task.record.seconds for task in tasks if task.record.seconds is not None]
    assumed = median(known) if known else ASSUMED_SECONDS
    found = [assumed if task.record.seconds is None else task.record.seconds for task in tasks]
    return found, None if len(known) == len(tasks) else assumed
