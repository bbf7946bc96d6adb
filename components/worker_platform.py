"""What raster workers and the rest of a platform ask of each other: names, namespaces, and room in a swap pool."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from floodplain import duration, quantity
from floodplain.byte_amount import mib
from floodplain.problem import RuleError, did_you_mean

from .cluster import ClusterVersions
from .pool_document import pool_document
from .swap_pool import SwapPool
from .worker_names import BIG
from .worker_pods import ephemeral_bytes, memory
from .worker_settings import Workers


def twins(entries: Sequence[Workers]) -> Iterator[RuleError]:
    """Workers that share a name, or a namespace that both would make."""
    for index, workers in enumerate(entries):
        for first, other in enumerate(entries[:index]):
            if other.name == workers.name:
                rule = f"is the name of workerPools[{first}] too"
                yield RuleError(rule, "give each its own name", ("worker_pools", index, "name"), workers.name)
            elif other.place == workers.place and workers.make_namespace and other.make_namespace:
                yield RuleError(
                    f"is made for workerPools[{first}] already",
                    "leave it out, or set makeNamespace: false here",
                    ("worker_pools", index, "namespace"),
                    workers.place,
                )


def namespace_problems(workers: Workers, owners: Mapping[str, str]) -> Iterator[RuleError]:
    """A namespace that another part of the platform makes, or in which workers could not start."""
    owner = owners.get(workers.place)
    if owner is not None:
        yield RuleError(
            f"is the namespace of {owner}",
            "give the workers a namespace of their own",
            ("namespace" if workers.namespace else "name",),
            workers.place,
        )


def swap_pool_problems(workers: Workers, pools: Sequence[SwapPool], cluster: ClusterVersions) -> Iterator[RuleError]:
    """Why no node of the swap pool could take the big worker, or would not let it end its task."""
    name = workers.big.swap_pool
    if name is None:
        return
    pool = next((one for one in pools if one.name == name), None)
    if pool is None:
        names = [one.name for one in pools]
        remedy = did_you_mean(name, names) or f"there are {', '.join(names)}"
        yield RuleError("is none of the stack's pools", remedy, ("big", "swap_pool"), name)
        return
    room = pool_document(pool, cluster).largest_job_memory_bytes
    request, limit = memory(workers, BIG)
    key = "memory" if workers.big.memory is not None else "task_peak"
    if request > room:
        yield RuleError(
            f"makes a limit of {mib(limit)}, and the largest node of pool {name} has {mib(room)} for one pod",
            "lower it, or add larger sizes to the pool",
            ("big", key),
            getattr(workers.big, key),
        )
    most = int(pool.disk.per_memory * request)
    if ephemeral_bytes(workers) > most:
        yield RuleError(
            f"is, with 1 GiB for logs, more than pool {name} gives the big worker's memory, {mib(most)} of disk",
            f"lower it to {max(0, most - quantity.GIB) // quantity.MIB}Mi, or raise the pool's disk.perMemory",
            ("scratch",),
            workers.scratch,
        )
    if duration.parse(pool.longest_job) < workers.big.longest_task_seconds:
        yield RuleError(
            f"is longer than the longest job of pool {name} ({pool.longest_job}), whose nodes may end then",
            f"raise the pool's longestJob to {workers.big.longest_task}",
            ("big", "longest_task"),
            workers.big.longest_task,
        )
