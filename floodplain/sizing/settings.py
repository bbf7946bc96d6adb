"""How a cluster sizes: the few choices that are neither a pool's nor a job's. Defaults suit EKS."""

from __future__ import annotations

from enum import StrEnum
from functools import cached_property
from typing import Annotated

from pydantic import Field

from floodplain.quantity import BytesText, QuantityText, to_bytes, to_millicores
from floodplain.settings import Settings


class Compatibility(StrEnum):
    """Other planners' rules that can be reproduced."""

    SCALEODM = "scaleodm"
    """ScaleODM, an API over Argo Workflows that runs OpenDroneMap: its table of peaks and its request and limit."""


class Placement(StrEnum):
    """How a planned pod is put on its pool's nodes."""

    RUNTIME_CLASS = "runtime-class"
    """The pool's RuntimeClass carries node selector, toleration and the overhead that containment rests on."""
    SELECTOR = "selector"
    """Node selector and toleration in the pod itself, for pools that have no RuntimeClass."""


class SizingSettings(Settings):
    """What the planner takes for granted."""

    compatibility: Compatibility | None = None
    """Size as another planner does, and warn where that breaks containment."""
    on_demand_from_images: Annotated[int, Field(ge=0, strict=True)] = 5000
    """Jobs of this many images or more run on-demand where the pool has it: a lost spot node costs them days. 0: never.
    The threshold of ScaleODM in production."""
    ephemeral_share: Annotated[float, Field(ge=0, le=10, allow_inf_nan=False)] = 0.3
    """Ephemeral storage per byte of predicted peak, where work is kept on a volume (ScaleODM's figure)."""
    ephemeral_least: BytesText = "10Gi"
    """At least this much ephemeral storage."""
    placement: Placement = Placement.RUNTIME_CLASS
    """Read by admission alone."""
    capacity_selector: bool = True
    """Whether admission selects nodes by Karpenter's capacity type. False where nodes are not Karpenter's."""
    daemonset_memory: BytesText = "128Mi"
    """What DaemonSets request on each node, the pool's headroom apart."""
    daemonset_cpu: QuantityText = "300m"
    """EKS's own take 175m (aws-node, kube-proxy, pod identity agent); the rest is for logs and metrics."""

    @cached_property
    def ephemeral_least_bytes(self) -> int:
        return to_bytes(self.ephemeral_least)

    @cached_property
    def daemonset_memory_bytes(self) -> int:
        return to_bytes(self.daemonset_memory)

    @cached_property
    def daemonset_cpu_millicores(self) -> int:
        return to_millicores(self.daemonset_cpu)
