"""What to change where no pool takes a job: each lever is tried, and told only if it helps. The smallest comes first.

Pure: a lever is another pool document or another job, planned again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache

from floodplain.catalogue import InstanceType, load
from floodplain.pools import PoolDocument, PoolLimits, PoolType, pool_type
from floodplain.quantity import GIB, MIB, from_bytes
from floodplain.sizing.fit import Fit, Job, amount, fit
from floodplain.sizing.settings import SizingSettings
from floodplain.sizing.workload import LEAST_PEAK_BYTES, CapacityType, Engine, Workload
from floodplain.swap import type_fit

_IMAGES_BYTES = 20 * GIB
_LARGEST_RATIO = 8


def advice(
    job: Job,
    pools: Sequence[PoolDocument],
    settings: SizingSettings,
    best: Fit,
    peak_of: Callable[[int], int],
) -> tuple[str, ...]:
    """Sentences, the smallest change first; nothing for a job that fits.

    `peak_of` predicts the peak of the same job with another count of images.
    """
    if best.feasible:
        return ()
    found: list[str] = []
    for pool in sorted(pools, key=lambda pool: pool.name != best.pool.name):
        for lever in (_request, _limit, _limits_of_pool, _larger_type, _ratio):
            found += [told for told in lever(job, pool, settings) if told not in found]
    if job.workload.engine is Engine.RASTER:
        found += _smaller_task(job, pools, settings)
    else:
        found += _fewer_images(job, pools, settings, peak_of)
    return tuple(found) or (
        "no single change makes it fit: split the job, or give it a pool with larger nodes and look again",
    )


def _request(job: Job, pool: PoolDocument, settings: SizingSettings) -> Iterator[str]:
    """What the user asked for beside the count."""
    workload = job.workload
    for field, text in (("capacity_type", "the capacity type"), ("deadline_seconds", "the deadline")):
        if getattr(workload, field) is not None:
            without: Workload = workload.model_copy(update={field: None})
            if fit(replace(job, workload=without), pool, settings).feasible:
                yield f"leave out {text}: pool {pool.name} then takes the job"
    if workload.capacity_type is not None:
        wider = pool.model_copy(
            update={"capacity_types": tuple(sorted({*pool.capacity_types, workload.capacity_type.value}))}
        )
        if workload.capacity_type is not CapacityType.RESERVED and fit(job, wider, settings).feasible:
            yield f"add {workload.capacity_type.value} to capacityTypes of pool {pool.name}"
    if workload.deadline_seconds is not None:
        longer = pool.model_copy(update={"longest_job_seconds": workload.deadline_seconds})
        if fit(job, longer, settings).feasible:
            yield f"set longestJob of pool {pool.name} to {workload.deadline_seconds}s"


def _limit(job: Job, pool: PoolDocument, settings: SizingSettings) -> Iterator[str]:
    """A limit or request of the user's that cannot be had, and containers that nothing contains."""
    free = replace(job, given=replace(job.given, limit_bytes=None))
    if job.given.limit_bytes is not None and fit(free, pool, settings).feasible:
        limit = fit(free, pool, settings).limit_bytes
        word = "raise" if limit > job.given.limit_bytes else "lower"
        yield f"{word} the memory limit to {from_bytes(limit)}, or leave it out"
    modest = replace(job, given=replace(job.given, least_request_bytes=None))
    if modest != job and fit(modest, pool, settings).feasible:
        yield f"lower the memory request to {from_bytes(fit(modest, pool, settings).request_bytes)}, or leave it out"
    own = replace(job, given=replace(job.given, cpu_millicores=None, ephemeral_bytes=None))
    if own != job and fit(own, pool, settings).feasible:
        yield "leave out CPU request and ephemeral storage: the plan then sets what fits"
    rest = job.rest
    covered = replace(
        rest,
        limit_bytes=min(rest.limit_bytes, rest.request_bytes),
        init_limit_bytes=min(rest.init_limit_bytes, rest.init_request_bytes),
        unlimited=(),
    )
    if covered != rest and fit(replace(job, rest=covered), pool, settings).feasible:
        yield "give the other containers memory limits equal to their memory requests"


def _limits_of_pool(job: Job, pool: PoolDocument, settings: SizingSettings) -> Iterator[str]:
    taken = fit(job, _without_limits(pool), settings)
    if not fit(job, pool, settings).feasible and taken.feasible:
        least = taken.types[0]
        yield (
            f"raise the limits of pool {pool.name} to at least cpu {least.vcpu} and memory"
            f" {from_bytes(least.memory_bytes)}: they count whole nodes, and {least.name} is the smallest that fits"
        )


def _without_limits(pool: PoolDocument) -> PoolDocument:
    largest = PoolLimits(
        cpu_millicores=max(kind.vcpu for kind in pool.types) * 1000,
        memory_bytes=max(kind.memory_bytes for kind in pool.types),
    )
    return pool.model_copy(update={"limits": largest})


def _larger_type(job: Job, pool: PoolDocument, settings: SizingSettings) -> Iterator[str]:
    """The smallest type of the catalogue that takes the job with the pool's swap ratio."""
    if fit(job, _without_limits(pool), settings).types:
        return
    wanted = fit(job, pool, settings).pod_request_bytes
    offers = _offers(pool.architecture, pool.swap_ratio, pool.ephemeral_bytes_per_memory_byte)
    for kind, offered in sorted(offers, key=lambda offer: _preference(offer[0], pool)):
        if offered.allocatable_memory_bytes >= wanted and fit(job, _with_type(pool, offered), settings).feasible:
            yield f"add {kind.name} ({amount(kind.memory_bytes)}) to the families and vcpus of pool {pool.name}"
            return


@lru_cache
def _offers(architecture: str, ratio: float, per_memory: float) -> tuple[tuple[InstanceType, PoolType], ...]:
    """The types of the catalogue whose disk holds such a swap file."""
    return tuple(
        (kind, pool_type(kind, ratio=ratio, images_bytes=_IMAGES_BYTES))
        for kind in load()
        if kind.arch == architecture
        and not kind.metal
        and kind.hypervisor == "nitro"
        and not kind.gpu_count
        and type_fit(kind, ratio=ratio, ephemeral_per_memory=per_memory, images_bytes=_IMAGES_BYTES).fits
    )


def _preference(kind: InstanceType, pool: PoolDocument) -> tuple[int, bool, bool, int, int, str]:
    """Least memory first; of the pool's families before others, and general ones before those built for storage."""
    foreign, odd = kind.family not in pool.families, kind.category not in ("c", "m", "r")
    return kind.memory_bytes, foreign, odd, kind.vcpu, -kind.generation, kind.name


def _with_type(pool: PoolDocument, kind: PoolType) -> PoolDocument:
    room = PoolLimits(cpu_millicores=kind.vcpu * 1000, memory_bytes=kind.memory_bytes)
    return pool.model_copy(update={"types": (kind,), "limits": room})


def _ratio(job: Job, pool: PoolDocument, settings: SizingSettings) -> Iterator[str]:
    """The least swap ratio, in quarters, with which the job fits the nodes that the pool has."""
    most = pool.model_copy(update={"swap_ratio": float(_LARGEST_RATIO)})
    if not fit(job, most, settings).feasible:  # a larger ratio never asks for more memory
        return
    for quarters in range(int(pool.swap_ratio * 4) + 1, _LARGEST_RATIO * 4 + 1):
        ratio = quarters / 4
        kept = tuple(kind for kind in pool.types if _disk_holds(kind, pool, ratio))
        if not kept:
            return
        more = pool.model_copy(update={"swap_ratio": ratio, "types": kept})
        if fit(job, more, settings).feasible:
            yield f"raise the swap ratio of pool {pool.name} from {pool.swap_ratio:g} to {ratio:g}"
            return


def _disk_holds(kind: PoolType, pool: PoolDocument, ratio: float) -> bool:
    more = Fraction(str(ratio)) - Fraction(str(pool.swap_ratio))
    left = kind.ephemeral_bytes_for_pods - more * kind.memory_bytes
    return left >= Fraction(str(pool.ephemeral_bytes_per_memory_byte)) * kind.allocatable_memory_bytes


def _fewer_images(
    job: Job, pools: Sequence[PoolDocument], settings: SizingSettings, peak_of: Callable[[int], int]
) -> Iterator[str]:
    """The largest count that fits; peaks grow with the count."""

    def taken(images: int) -> bool:
        smaller = job.workload.model_copy(update={"images": images})
        trial = replace(job, workload=smaller, peak_bytes=peak_of(images))
        return any(fit(trial, pool, settings).feasible for pool in pools)

    if not taken(1):
        return
    fits, fails = 1, job.workload.image_count
    while fails - fits > 1:
        middle = (fits + fails) // 2
        fits, fails = (middle, fails) if taken(middle) else (fits, middle)
    yield f"give the job at most {fits} images, or split it"


def _smaller_task(job: Job, pools: Sequence[PoolDocument], settings: SizingSettings) -> Iterator[str]:
    """The largest peak that fits, in whole MiB."""

    def taken(mebibytes: int) -> bool:
        return any(fit(replace(job, peak_bytes=mebibytes * MIB), pool, settings).feasible for pool in pools)

    fits, fails = LEAST_PEAK_BYTES // MIB, -(-job.peak_bytes // MIB)
    if not taken(fits):
        return
    while fails - fits > 1:
        middle = (fits + fails) // 2
        fits, fails = (middle, fails) if taken(middle) else (fits, middle)
    yield f"make the task smaller, such as by smaller windows: a peak of up to {amount(fits * MIB)} fits"
