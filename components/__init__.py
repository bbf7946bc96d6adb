"""Pulumi components of floodplain. Import them from here: `from floodplain_pulumi import SwapNodePool`.

Each class is loaded when it is first asked for, so that the pure modules below (`crd`, `swap_pool`) can be used
without loading a provider SDK.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .batch_platform import Platform, PlatformArgs
    from .cluster_args import ClusterArgs, PlacedClusterArgs
    from .controllers import Controllers, ControllersArgs
    from .guardrails import Guardrails, GuardrailsArgs
    from .karpenter_controller import KarpenterController, KarpenterControllerArgs
    from .pool_args import SwapPoolArgs
    from .sizing_service import SizingService, SizingServiceArgs
    from .swap_node_pool import SwapNodePool, SwapNodePoolArgs
    from .worker_args import WorkersArgs
    from .worker_pools import WorkerPools, WorkerPoolsArgs

_HOMES = {
    "ClusterArgs": "cluster_args",
    "Controllers": "controllers",
    "ControllersArgs": "controllers",
    "Guardrails": "guardrails",
    "GuardrailsArgs": "guardrails",
    "KarpenterController": "karpenter_controller",
    "KarpenterControllerArgs": "karpenter_controller",
    "PlacedClusterArgs": "cluster_args",
    "Platform": "batch_platform",
    "PlatformArgs": "batch_platform",
    "SizingService": "sizing_service",
    "SizingServiceArgs": "sizing_service",
    "SwapNodePool": "swap_node_pool",
    "SwapNodePoolArgs": "swap_node_pool",
    "SwapPoolArgs": "pool_args",
    "WorkerPools": "worker_pools",
    "WorkerPoolsArgs": "worker_pools",
    "WorkersArgs": "worker_args",
}

__all__ = [  # noqa: RUF022 in the order of the docs
    "SwapNodePool",
    "SwapNodePoolArgs",
    "KarpenterController",
    "KarpenterControllerArgs",
    "Controllers",
    "ControllersArgs",
    "Guardrails",
    "GuardrailsArgs",
    "SizingService",
    "SizingServiceArgs",
    "WorkerPools",
    "WorkerPoolsArgs",
    "Platform",
    "PlatformArgs",
    "SwapPoolArgs",
    "WorkersArgs",
    "ClusterArgs",
    "PlacedClusterArgs",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)
