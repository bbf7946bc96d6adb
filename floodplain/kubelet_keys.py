"""Which of kubelet's settings Karpenter knows, and the words that stand in them.

For settings, CRD rules and policies alike. Values are not judged here.
"""

from __future__ import annotations

from typing import Final

KARPENTERS_KEYS: Final = (
    "clusterDNS",
    "cpuCFSQuota",
    "evictionHard",
    "evictionMaxPodGracePeriod",
    "evictionSoft",
    "evictionSoftGracePeriod",
    "imageGCHighThresholdPercent",
    "imageGCLowThresholdPercent",
    "kubeReserved",
    "maxPods",
    "podsPerCore",
    "systemReserved",
)
"""The keys of EC2NodeClass spec.kubelet (CRD of Karpenter 1.14.1). Others are dropped there without a word."""

EVICTION_SIGNALS: Final = (
    "memory.available",
    "nodefs.available",
    "nodefs.inodesFree",
    "imagefs.available",
    "imagefs.inodesFree",
    "pid.available",
)
"""Keys of evictionHard, evictionSoft and evictionSoftGracePeriod."""

RESERVABLE: Final = ("cpu", "memory", "ephemeral-storage", "pid")
"""Keys of kubeReserved and systemReserved."""
