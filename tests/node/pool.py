"""Which pool do the machines of these tests belong to? One like a stack's, with sizes that an emulated machine can fill
in seconds."""

from __future__ import annotations

from typing import Any

from components.pool_boot import boot_text
from components.swap_pool import SwapPool
from floodplain.pools import POOL_LABEL
from testbed.cluster.control_plane import ControlPlane
from testbed.node.karpenter_part import merged_user_data

MEMORY_MIB = 2048
"""Of a machine. No pool has nodes this small; what a test touches grows with it, at some 60 MiB a second emulated."""

DISK_BYTES = 59 * 10**9
"""The smallest NVMe disk of a family in the catalogue (medium sizes)."""

MAX_PODS = 20

SETTINGS: dict[str, Any] = {
    "name": "odm",
    "families": ["c5d"],
    "limits": {"cpu": "100", "memory": "400Gi"},
    "ami": {"alias": "al2023@v20260625"},
    # Below what the kernel keeps free on this size (a twelfth of it), as a pool's has to be.
    "kubelet": {
        "evictionHard": {"memory.available": "128Mi", "nodefs.available": "10%", "nodefs.inodesFree": "5%"},
    },
    # After an eviction a node stays closed for five minutes by default, which would be minutes of each test.
    "kubeletConfig": {"evictionPressureTransitionPeriod": "10s"},
}


def pool(**changes: Any) -> SwapPool:
    """The pool, with top-level settings changed."""
    return SwapPool.model_validate({**SETTINGS, **changes})


def user_data(settings: SwapPool, control_plane: ControlPlane, *, ours: str | None = None) -> bytes:
    """What Karpenter would put into the launch template of the pool's nodes, without its own startup taint, which
    nobody would take off here. `ours` is an archive in place of the pool's."""
    taint = settings.node_taint
    return merged_user_data(
        boot_text(settings) if ours is None else ours,
        endpoint=control_plane.endpoint,
        certificate_authority=control_plane.authority.certificate.read_bytes(),
        kubelet={**settings.kubelet.manifest(), "maxPods": MAX_PODS},
        taints=[{"key": taint.key, "value": taint.value, "effect": taint.effect.value}],
        labels={POOL_LABEL: settings.name, "karpenter.sh/nodepool": settings.name},
    )
