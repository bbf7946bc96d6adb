"""A plan: what a job gets, where it runs, and why it holds. The answer as every door gives it.

One model for `floodplain plan --json`, `POST /v1/plans` and the annotation. Figures are bytes; quantities only for CPU.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

from floodplain.sizing.prediction import Confidence
from floodplain.sizing.settings import Compatibility
from floodplain.sizing.workload import Engine


class MonthlyCost(BaseModel):
    """What a place costs if it is kept for a month of 730 hours."""

    model_config = ConfigDict(frozen=True)

    instance_type: str
    capacity_type: str
    usd: float
    """The share of the type's on-demand or spot price that the pod's memory request takes."""
    priced: str
    """Region and day of the price."""


class Plan(BaseModel):
    """What a job gets. One that is not feasible says what would be needed, and `advice` what to change."""

    model_config = ConfigDict(frozen=True)

    schema_version: Literal[1] = 1
    engine: Engine
    images: int | None
    """None for an engine that has no count of images."""
    options: tuple[str, ...]
    compatibility: Compatibility | None

    peak_bytes: int
    peak_source: str
    confidence: Confidence
    confidence_reason: str
    hot_bytes: int
    """The part of the peak that must be resident."""
    hot_source: str

    pool: str
    runtime_class: str
    capacity_type: str
    request_bytes: int
    limit_bytes: int
    swap_grant_bytes: int
    """memory.swap.max that kubelet grants on the least of the instance types; 0 without swap."""
    cpu: str
    """CPU request as a Kubernetes quantity."""
    cpu_limit: str | None
    max_concurrency: int | None
    """What ODM is told where a CPU limit keeps it from using all cores it sees."""
    ephemeral_bytes: int
    """Request and limit of ephemeral storage."""

    instance_types: tuple[str, ...]
    """Those the pod fits, smallest memory first."""
    smallest_allocatable_bytes: int | None
    """Memory for pods on the smallest of them, before DaemonSets; None if the pod fits none."""
    containment_margin_bytes: int
    """What the smallest node has left beside DaemonSets and the pod. Negative: what it lacks, or by how much the
    limits of the pod's containers pass what is reserved for them."""
    completion_margin_bytes: int
    """Limit and grant beyond the predicted peak."""
    feasible: bool
    reasons: tuple[str, ...]
    """Why it is not feasible."""
    advice: tuple[str, ...]
    """What to change, the smallest change first; for a feasible plan what would make it better."""
    notes: tuple[str, ...]
    """What was assumed, changed or left alone."""
    monthly_cost: MonthlyCost | None = None
    peak_as_ram_cost: MonthlyCost | None = None
    """The cheapest type that holds the peak with its margin in memory."""

    @property
    def holds_times_peak(self) -> float:
        """(limit + grant) / peak."""
        return (self.limit_bytes + self.swap_grant_bytes) / self.peak_bytes
