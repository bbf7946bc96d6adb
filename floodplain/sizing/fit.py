"""How one pool takes a job of a known peak: limit, request, grant, the types that fit, and what is in the way.

Design: the limit follows from peak, swap ratio and hot set (docs/decisions/0002), the request lies 1 MiB below it so
that the scheduler packs by limits (0001). Choosing between pools is `planner`, what to change is `levers`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction

from floodplain.pools import PoolDocument, PoolType
from floodplain.quantity import GIB, MIB, from_bytes
from floodplain.sizing.given import Given
from floodplain.sizing.pod_rest import PodRest
from floodplain.sizing.settings import SizingSettings
from floodplain.sizing.workload import CapacityType, Workload
from floodplain.swap import (
    REQUEST_BELOW_LIMIT_BYTES,
    grant_bytes,
    hot_bytes,
    limit_bytes,
    needed_bytes,
    page_floor,
    request_bytes,
    swap_file_bytes,
    swap_total_bytes,
)
from floodplain.swap.number import exact_number


@dataclass(frozen=True)
class Job:
    """Everything about a job that a pool has to take."""

    workload: Workload
    peak_bytes: int
    rest: PodRest = field(default_factory=PodRest)
    given: Given = field(default_factory=Given)
    hot_share: float | None = None
    """As of Prediction."""

    def hot_share_in(self, pool: PoolDocument) -> float:
        """The job's own, or what the pool says of its jobs."""
        return pool.hot_share if self.hot_share is None else self.hot_share


@dataclass(frozen=True)
class Fit:
    """A job in a pool. `problems` is empty if it fits."""

    pool: PoolDocument
    capacity_type: CapacityType
    limit_bytes: int
    request_bytes: int
    pod_request_bytes: int
    """Of all containers and the RuntimeClass's overhead: what the scheduler packs by."""
    hot_bytes: int
    grant_bytes: int
    cpu_millicores: int
    ephemeral_bytes: int
    types: tuple[PoolType, ...]
    containment_margin_bytes: int
    problems: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def feasible(self) -> bool:
        return not self.problems


def fit(job: Job, pool: PoolDocument, settings: SizingSettings) -> Fit:
    """The job in this pool, whether or not it fits."""
    share = job.hot_share_in(pool)
    hot = hot_bytes(job.peak_bytes, share)
    needed = limit_bytes(job.peak_bytes, ratio=pool.swap_ratio, margin=pool.margin, hot_share=share)
    wished = (job.given.least_request_bytes or 0) + REQUEST_BELOW_LIMIT_BYTES
    limit = job.given.limit_bytes or max(needed, wished)
    return fit_limit(job, pool, settings, limit=limit, request=request_bytes(limit), hot=hot)


def fit_limit(job: Job, pool: PoolDocument, settings: SizingSettings, *, limit: int, request: int, hot: int) -> Fit:
    """The job in this pool with a limit and a request that somebody else has chosen."""
    rest = job.rest
    pod_request = max(request + rest.request_bytes, rest.init_request_bytes) + pool.overhead_bytes
    reachable = tuple(kind for kind in pool.types if _may_launch(kind, pool))
    cpu = _cpu_millicores(job, pool, settings, pod_request, reachable or pool.types)
    ephemeral, capped = _ephemeral_bytes(job, pool, settings, request)
    cpu_of_pod = max(cpu + rest.cpu_millicores, rest.init_cpu_millicores) + settings.daemonset_cpu_millicores
    disk_of_pod = max(ephemeral + rest.ephemeral_bytes, rest.init_ephemeral_bytes)
    by_memory = tuple(kind for kind in reachable if room_bytes(kind, pool, settings) >= pod_request)
    types = tuple(
        kind
        for kind in sorted(by_memory, key=lambda kind: (kind.memory_bytes, kind.vcpu, kind.name))
        if kind.allocatable_cpu_millicores >= cpu_of_pod and kind.ephemeral_bytes_for_pods >= disk_of_pod
    )
    grant = min((_grant_bytes(request, kind, pool) for kind in types or pool.types), default=0)
    limits = max(limit + rest.limit_bytes, rest.init_limit_bytes)
    largest = max((room_bytes(kind, pool, settings) for kind in reachable or pool.types), default=0)
    room = room_bytes(types[0], pool, settings) if types else largest
    capacity, capacity_problem, capacity_note = capacity_type(job.workload, pool, settings)
    problems = [
        *_room_problems(pool, reachable, by_memory, types, pod_request, largest),
        *_containment_problems(rest, limits, pod_request),
        *_completion_problems(job, pool, limit, grant, hot),
        *([capacity_problem] if capacity_problem else []),
        *_deadline_problems(job.workload, pool),
    ]
    notes = [*([capacity_note] if capacity_note else []), *([capped] if capped else [])]
    return Fit(
        pool=pool,
        capacity_type=capacity,
        limit_bytes=limit,
        request_bytes=request,
        pod_request_bytes=pod_request,
        hot_bytes=hot,
        grant_bytes=grant,
        cpu_millicores=cpu,
        ephemeral_bytes=ephemeral,
        types=types,
        containment_margin_bytes=min(pod_request - limits, 0) or room - pod_request,
        problems=tuple(problems),
        notes=tuple(notes),
    )


def room_bytes(kind: PoolType, pool: PoolDocument, settings: SizingSettings) -> int:
    """Memory for jobs' pods on a node of this type: allocatable less headroom and what DaemonSets request."""
    return max(0, kind.allocatable_memory_bytes - pool.headroom_bytes - settings.daemonset_memory_bytes)


def capacity_type(
    workload: Workload, pool: PoolDocument, settings: SizingSettings
) -> tuple[CapacityType, str | None, str | None]:
    """Which capacity type; a problem when the pool does not have it; a note when size decided."""
    offered = pool.capacity_types
    wanted, threshold = workload.capacity_type, settings.on_demand_from_images
    upgraded = (
        wanted in (None, CapacityType.SPOT)
        and 0 < threshold <= (workload.images or 0)
        and CapacityType.ON_DEMAND.value in offered
        and CapacityType.SPOT.value in offered
    )
    if upgraded:
        return CapacityType.ON_DEMAND, None, f"on-demand, since {workload.images} images are {threshold} or more"
    if wanted is None:
        first = CapacityType.SPOT.value if CapacityType.SPOT.value in offered else offered[0]
        return CapacityType(first), None, None
    if wanted.value not in offered:
        problem = f"pool {pool.name} has no {wanted.value} nodes, only {', '.join(sorted(offered))}"
        return wanted, problem, None
    return wanted, None, None


def _may_launch(kind: PoolType, pool: PoolDocument) -> bool:
    """Karpenter counts whole nodes against the pool's limits, and says only that no instance type has enough."""
    return kind.memory_bytes <= pool.limits.memory_bytes and kind.vcpu * 1000 <= pool.limits.cpu_millicores


def _cpu_millicores(
    job: Job, pool: PoolDocument, settings: SizingSettings, pod_request: int, types: tuple[PoolType, ...]
) -> int:
    """CPU that goes with the memory on the pool's leanest type, so that it never asks for a larger node."""
    if job.given.cpu_millicores is not None:
        return job.given.cpu_millicores
    shares = [
        Fraction(max(0, kind.allocatable_cpu_millicores - settings.daemonset_cpu_millicores), room)
        for kind in types
        if (room := room_bytes(kind, pool, settings))
    ]
    cpu = max(1, math.floor(min(shares, default=Fraction(0)) * pod_request) - job.rest.cpu_millicores)
    # The API refuses a request above its limit.
    return min(cpu, job.given.cpu_limit_millicores or cpu)


def _ephemeral_bytes(job: Job, pool: PoolDocument, settings: SizingSettings, request: int) -> tuple[int, str | None]:
    """Ephemeral storage in whole MiB within the pool's cap, and a note where the cap took some."""
    if job.given.ephemeral_bytes is not None:
        return job.given.ephemeral_bytes, None
    share = exact_number(settings.ephemeral_share, "share of ephemeral storage")
    wanted = max(settings.ephemeral_least_bytes, math.ceil(share * job.peak_bytes / MIB) * MIB)
    # The guardrail counts containers' requests, without the overhead.
    reserved = max(request + job.rest.request_bytes, job.rest.init_request_bytes)
    cap = exact_number(pool.ephemeral_bytes_per_memory_byte, "cap on ephemeral storage") * reserved
    allowed = max(0, math.floor(cap) - job.rest.ephemeral_bytes) // MIB * MIB
    if wanted <= allowed:
        return wanted, None
    note = (
        f"ephemeral storage {amount(allowed)} instead of {amount(wanted)}: pool {pool.name} gives"
        f" {pool.ephemeral_bytes_per_memory_byte:g} bytes a byte of memory request;"
        " raise its ephemeralPerMemory, or keep work on a volume"
    )
    return allowed, note


def _grant_bytes(request: int, kind: PoolType, pool: PoolDocument) -> int:
    """The grant follows k, not the node's size, but for a page of rounding: any memory will do here."""
    memory = max(kind.memory_bytes, request)
    return grant_bytes(request, memory, swap_total_bytes(swap_file_bytes(memory, pool.swap_ratio)))


def _room_problems(
    pool: PoolDocument,
    reachable: tuple[PoolType, ...],
    by_memory: tuple[PoolType, ...],
    types: tuple[PoolType, ...],
    pod_request: int,
    largest: int,
) -> list[str]:
    if types:
        return []
    if not reachable:
        return [
            f"no node of pool {pool.name} stays within its limits (cpu {pool.limits.cpu_millicores // 1000}, memory"
            f" {amount(pool.limits.memory_bytes)}), which count whole nodes"
        ]
    if by_memory:
        return [f"the pod's CPU or ephemeral storage fits no node of pool {pool.name} that has the memory"]
    kept = {kind.name for kind in reachable}
    closed = [kind.name for kind in pool.types if kind.name not in kept]
    tail = f"; its limits, which count whole nodes, keep out {', '.join(closed)}" if closed else ""
    wanted, room = _unlike(pod_request, largest)
    return [f"the pod requests {wanted} and the largest node of pool {pool.name} has room for {room}{tail}"]


def _containment_problems(rest: PodRest, limits: int, pod_request: int) -> list[str]:
    if rest.unlimited:
        names = ", ".join(rest.unlimited)
        return [f"nothing contains the memory of {names}: without a memory limit they may use the whole node"]
    if limits > pod_request:
        together, reserved = _unlike(limits, pod_request)
        return [
            f"the limits of the pod's containers are {together} and {reserved} is reserved for them:"
            " with others on the node they pass what it has"
        ]
    return []


def _completion_problems(job: Job, pool: PoolDocument, limit: int, grant: int, hot: int) -> list[str]:
    """Only a limit that somebody else chose can fail here."""
    needed = needed_bytes(job.peak_bytes, pool.margin)
    held = page_floor(limit) + grant
    if held < needed:
        holds, peak = _unlike(held, needed)
        return [f"limit and swap hold {holds}, and the peak with its margin is {peak} (swap ratio {pool.swap_ratio:g})"]
    if limit < hot:
        least, resident = _unlike(limit, hot)
        return [f"the limit of {least} is below the hot set of {resident}, which cannot be swapped"]
    return []


def _deadline_problems(workload: Workload, pool: PoolDocument) -> list[str]:
    deadline = workload.deadline_seconds
    if deadline is None or deadline <= pool.longest_job_seconds:
        return []
    return [
        f"the job may run for {deadline} s and nodes of pool {pool.name} are replaced around jobs of up to"
        f" {pool.longest_job_seconds} s"
    ]


def amount(count: int) -> str:
    """Bytes for people: GiB with one decimal from 10 GiB on, else MiB, or bytes where those are not whole."""
    return f"{count / GIB:.1f} GiB" if count >= 10 * GIB else _exact_amount(count)


def _unlike(first: int, second: int) -> tuple[str, str]:
    """Two different amounts, never as the same text."""
    texts = amount(first), amount(second)
    return texts if texts[0] != texts[1] else (_exact_amount(first), _exact_amount(second))


def _exact_amount(count: int) -> str:
    return from_bytes(count) if count % MIB else f"{count // MIB} MiB"
