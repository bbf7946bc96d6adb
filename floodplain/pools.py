"""The one description of a pool: what SwapNodePool outputs, preview prints and the sizing service mounts.

A document holds facts about places for jobs, in bytes, millicores and seconds. It is not the pool's
settings (those are components.swap_pool) and says nothing about what runs there.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError, model_validator

from floodplain.catalogue import InstanceType, KubeletReserves, allocatable
from floodplain.problem import Problem, ProblemsError, RuleError, problems_of, raise_rules
from floodplain.settings import Settings
from floodplain.swap import Number, disk_left_bytes, swap_file_bytes, swap_total_bytes

SCHEMA_VERSION = 1

DOMAIN = "floodplain.dev"
"""Of our labels and annotations."""
POOL_LABEL = f"{DOMAIN}/pool"
"""On nodes and on a pool's objects: the name of their pool. The key of the default taint as well."""
SWAP_RATIO_ANNOTATION = f"{DOMAIN}/swap-ratio"
"""On a NodePool: swap per byte of memory of its nodes."""

Count = Annotated[int, Field(ge=0, strict=True)]
Positive = Annotated[int, Field(gt=0, strict=True)]
Name = Annotated[str, Field(min_length=1, max_length=253)]


class PoolTaint(Settings):
    """The taint that keeps other pods off the pool's nodes."""

    key: Name
    value: str = ""
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] = "NoSchedule"


class PoolLimits(Settings):
    """Karpenter's limits of the pool. They count whole nodes, not what pods request."""

    cpu_millicores: Count
    memory_bytes: Count
    nodes: Positive | None = None


class PoolType(Settings):
    """One instance type the pool may launch, planned with Karpenter's pessimistic figures."""

    name: Name
    vcpu: Positive
    memory_bytes: Positive
    """Advertised by EC2. MemTotal on the node is a few per cent less."""
    nvme_bytes: Count
    allocatable_memory_bytes: Positive
    allocatable_cpu_millicores: Positive
    pods: Positive
    swap_bytes_at_most: Count
    """k x advertised memory: the swap file follows MemTotal and so is smaller."""
    ephemeral_bytes_for_pods: Count
    """What is left of the disk for pods' ephemeral storage, after swap and images, below image GC's 85 %."""


class PoolDocument(Settings):
    """A pool as sizing, guardrails and doctor see it."""

    schema_version: Literal[1] = 1
    name: Name
    taint: PoolTaint
    node_selector: dict[str, str]
    """The node label that selects the pool, as one entry."""
    architecture: Literal["amd64", "arm64"]
    capacity_types: Annotated[tuple[Literal["spot", "on-demand", "reserved"], ...], Field(min_length=1)]
    families: Annotated[tuple[Name, ...], Field(min_length=1)]
    types: Annotated[tuple[PoolType, ...], Field(min_length=1)]
    swap_ratio: Annotated[float, Field(ge=0, le=64, strict=True)]
    """k: node swap / node MemTotal. 0 means no swap."""
    margin: Annotated[float, Field(ge=0, le=10, strict=True)]
    """m: what is added to a predicted peak, as a share of it."""
    hot_share: Annotated[float, Field(ge=0, le=1, strict=True)]
    """The share of a peak that is touched all the time and so must be resident."""
    swappiness: Annotated[int, Field(ge=0, le=200, strict=True)]
    limits: PoolLimits
    longest_job_seconds: Positive
    runtime_class: Name
    overhead_bytes: Count
    """Memory overhead of the RuntimeClass, added to each pod's request by admission."""
    headroom_bytes: Count
    """Memory that the headroom DaemonSet requests on each node for DaemonSets that request too little."""
    ephemeral_bytes_per_memory_byte: Annotated[float, Field(ge=0, strict=True, allow_inf_nan=False)]
    """Cap on a pod's ephemeral-storage request, per byte of its memory request."""

    @model_validator(mode="after")
    def _consistent(self) -> PoolDocument:
        raise_rules(_broken_rules(self))
        return self

    @property
    def largest_allocatable_memory_bytes(self) -> int:
        """Allocatable memory of the largest type, before DaemonSets and overhead."""
        return max(kind.allocatable_memory_bytes for kind in self.types)

    @property
    def smallest_allocatable_memory_bytes(self) -> int:
        """Allocatable memory of the smallest type, before DaemonSets and overhead."""
        return min(kind.allocatable_memory_bytes for kind in self.types)

    @property
    def largest_job_memory_bytes(self) -> int:
        """The largest memory request of one pod: the largest type less headroom and overhead."""
        return max(0, self.largest_allocatable_memory_bytes - self.headroom_bytes - self.overhead_bytes)


def pool_type(
    kind: InstanceType, *, ratio: Number, images_bytes: int, reserves: KubeletReserves | None = None
) -> PoolType:
    """The entry of one instance type in a pool with this swap ratio and these kubelet reserves."""
    offered = allocatable(kind, reserves)
    left = disk_left_bytes(
        memory_bytes=kind.memory_bytes, nvme_bytes=kind.nvme_bytes, ratio=ratio, images_bytes=images_bytes
    )
    return PoolType(
        name=kind.name,
        vcpu=kind.vcpu,
        memory_bytes=kind.memory_bytes,
        nvme_bytes=kind.nvme_bytes,
        allocatable_memory_bytes=offered.memory_bytes,
        allocatable_cpu_millicores=offered.cpu_millicores,
        pods=offered.pods,
        swap_bytes_at_most=swap_total_bytes(swap_file_bytes(kind.memory_bytes, ratio)),
        ephemeral_bytes_for_pods=max(0, left),
    )


class PoolDocumentError(ProblemsError):
    """Pool documents that cannot be read. `problems` lists everything wrong, each with its path."""


def dump(documents: Iterable[PoolDocument]) -> bytes:
    """Canonical JSON: sorted by pool name, sorted keys, two spaces, ASCII, one trailing newline."""
    ordered = sorted(documents, key=lambda document: document.name)
    content = {"pools": [document.model_dump(mode="json", by_alias=True, exclude_none=True) for document in ordered]}
    return (json.dumps(content, indent=2, sort_keys=True) + "\n").encode("ascii")


def read(content: bytes) -> tuple[PoolDocument, ...]:
    """The documents in JSON bytes. Raises PoolDocumentError with every problem."""
    place = "the pool documents"
    try:
        loaded: Any = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise PoolDocumentError([Problem(place, f"is not JSON ({error})", "write the file anew")]) from error
    entries = loaded.get("pools") if isinstance(loaded, dict) else None
    if not isinstance(entries, list):
        raise PoolDocumentError([Problem(place, "has no list `pools` at the top", "write the file anew")])
    documents: list[PoolDocument] = []
    problems: list[Problem] = []
    for position, entry in enumerate(entries):
        path = f"pools[{position}]"
        if not isinstance(entry, dict):
            problems.append(Problem(path, "is not a map of settings", "write one map a pool"))
            continue
        version = entry.get("schemaVersion", SCHEMA_VERSION)
        if version != SCHEMA_VERSION:
            remedy = f"this release reads {SCHEMA_VERSION}; write the file with the same release"
            problems.append(Problem(f"{path}.schemaVersion", "is another version", remedy, version))
            continue
        try:
            documents.append(PoolDocument.model_validate(entry))
        except ValidationError as error:
            problems += problems_of(error, PoolDocument, prefix=path)
    names = [document.name for document in documents]
    for name in sorted({name for name in names if names.count(name) > 1}):
        problems.append(Problem(place, "names two pools", "give each pool its own name", name))
    if problems:
        raise PoolDocumentError(problems)
    return tuple(documents)


def _broken_rules(document: PoolDocument) -> Iterable[RuleError]:
    if len(document.node_selector) != 1:
        remedy = f"name the pool's label only, such as {POOL_LABEL}"
        yield RuleError("needs exactly one label", remedy, ("node_selector",), document.node_selector)
    seen: set[str] = set()
    for position, kind in enumerate(document.types):
        if kind.name in seen:
            remedy = "list each instance type once"
            yield RuleError("is listed twice", remedy, ("types", position, "name"), kind.name)
        seen.add(kind.name)
        if kind.allocatable_memory_bytes > kind.memory_bytes:
            path = ("types", position, "allocatable_memory_bytes")
            remedy = f"the type has {kind.memory_bytes} bytes; write the file anew"
            yield RuleError("is more than the memory of the type", remedy, path, kind.allocatable_memory_bytes)
