"""The report as data: what the terminal, Markdown and JSON forms are made of, and the documented JSON schema.

Bytes, counts and texts only; nothing here is formatted for one of the forms.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel


class Entry(BaseModel):
    """Part of a report. It holds what was found, so no text in it is refused, however odd."""

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True)


class FindingEntry(Entry):
    """Something that a check found."""

    severity: Literal["error", "warning"]
    check: str
    """Name of the check or policy."""
    place: str
    """What to change: file and key where that can be told, else resource and property."""
    message: str
    """The whole line: place, value, rule, remedy."""
    urn: str = ""
    property: str = ""


class ResourceNode(Entry):
    """One resource and what is below it."""

    urn: str
    type: str
    name: str
    detail: str = ""
    """What a reader wants to know of this one: chart and version, object name, image."""
    children: tuple[ResourceNode, ...] = ()


class TypeRow(Entry):
    """One instance type a pool may launch."""

    name: str
    vcpu: int
    memory_bytes: int
    nvme_bytes: int
    swap_bytes_at_most: int
    ephemeral_bytes_for_pods: int
    nodes_at_most: int
    """How many nodes of this type alone the pool's limits allow."""


class PoolEntry(Entry):
    """A pool as its document and its Karpenter objects describe it."""

    name: str
    place: str = ""
    families: tuple[str, ...]
    architecture: str
    capacity_types: tuple[str, ...]
    types: tuple[TypeRow, ...]
    limits: dict[str, str]
    nodes_at_most: int
    """With the type that allows most."""
    taint: str
    runtime_class: str
    swap_ratio: float
    swappiness: int
    margin: float
    hot_share: float
    longest_job_seconds: int
    machine_image: str = ""
    kubelet: dict[str, str] = Field(default_factory=dict)
    """Settings of the nodes' kubelet, from the EC2NodeClass and the boot text."""
    disruption: dict[str, str] = Field(default_factory=dict)
    user_data_bytes: int = 0


class WorkersEntry(Entry):
    """Two pools of raster workers."""

    name: str
    place: str = ""
    namespace: str
    slots: int
    """Of one small worker."""
    small_memory_bytes: int
    """Limit of one small worker."""
    small_workers: str
    """How many there are: `3`, or `1 to 20`."""
    big_memory_bytes: int
    """Limit of the big worker, of which there is one."""
    slot_budget_bytes: int
    threshold_bytes: int
    """A task whose estimate is above this goes to the big worker."""
    big_budget_bytes: int
    gdal_cachemax: str
    """Of each process."""


class UnknownEntry(Entry):
    """A property that is known only after the update, and why."""

    type: str
    property: str
    why: str
    resources: int


class PropertyChange(Entry):
    """One property before and after; `before` or `after` is absent where the property is."""

    path: str
    change: Literal["added", "changed", "removed"]
    before: Any = None
    after: Any = None
    effect: Literal["update", "replace", "refused"] = "update"
    """`refused`: the API server turns the edit down, and the provider does not replace the object by itself."""
    drift: bool = False
    """The property enters Karpenter's drift hash."""


class ResourceChange(Entry):
    """What happens to one resource."""

    action: Literal["replace", "delete", "create", "update"]
    urn: str
    former_urn: str = ""
    """Set when an alias connects it with another name."""
    type: str
    name: str
    properties: tuple[PropertyChange, ...] = ()
    reason: str = ""
    """Why it is replaced, or what else to know."""


class FleetRoll(Entry):
    """A pool whose nodes are all replaced because an edit enters Karpenter's drift hash."""

    pool: str
    fields: tuple[str, ...]
    nodes_at_most: int
    """Ceiling of the pool's nodes."""
    at_a_time: int
    """How many of them at most at once, by the pool's disruption budgets."""
    within_schedules: int
    """The same while all of `schedules` are active."""
    schedules: tuple[str, ...] = ()


class Diff(Entry):
    """Desired inputs of this checkout against those of another revision. Not the cluster's state."""

    base: str
    """The revision as it was asked for, and its commit."""
    note: tuple[str, ...] = ()
    """Why there is nothing to compare with, if so."""
    changes: tuple[ResourceChange, ...] = ()
    """Replaces first, then deletes, creations and updates, each by URN."""
    rolls: tuple[FleetRoll, ...] = ()
    same: int = 0


class Report(Entry):
    """What a stack would create, what is wrong with it, and how it differs from a base."""

    schema_version: Literal[1] = 1
    project: str
    stack: str
    file: str
    resources: int
    tree: tuple[ResourceNode, ...]
    pools: tuple[PoolEntry, ...]
    workers: tuple[WorkersEntry, ...] = ()
    unknowns: tuple[UnknownEntry, ...]
    findings: tuple[FindingEntry, ...]
    diff: Diff | None = None

    @property
    def errors(self) -> tuple[FindingEntry, ...]:
        return tuple(finding for finding in self.findings if finding.severity == "error")

    @property
    def warnings(self) -> tuple[FindingEntry, ...]:
        return tuple(finding for finding in self.findings if finding.severity == "warning")
