"""The kubelet section of an EC2NodeClass: the twelve keys that Karpenter 1.14 takes.

Everything else of kubelet, swap above all, goes into the NodeConfig of spec.userData (`nodeconfig`); the API server
drops it here without a word.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Annotated, Any

from pydantic import Field

from floodplain.kubelet_keys import EVICTION_SIGNALS, RESERVABLE
from floodplain.problem import RuleError

from .amounts import go_duration, reserve, threshold
from .model import CrdModel, Raw, has
from .scalars import flag, listed, text, text_map, whole
from .violation import RuntimeRuleError

PERCENT_MOST = 100

IN_USER_DATA = "put it in the NodeConfig of spec.userData, under spec.kubelet.config"

# Keys of KubeletConfiguration (kubelet.config.k8s.io/v1beta1) that Karpenter does not take.
# fmt: off
_NOT_KARPENTERS = (
    "address", "allowedUnsafeSysctls", "authentication", "authorization", "cgroupDriver", "cgroupRoot",
    "cgroupsPerQOS", "clusterDomain", "configMapAndSecretChangeDetectionStrategy", "containerLogMaxFiles",
    "containerLogMaxSize", "containerRuntimeEndpoint", "contentType", "cpuCFSQuotaPeriod",
    "cpuManagerPolicy", "cpuManagerPolicyOptions", "cpuManagerReconcilePeriod", "crashLoopBackOff",
    "enforceNodeAllocatable", "eventBurst", "eventRecordQPS", "evictionMinimumReclaim",
    "evictionPressureTransitionPeriod", "failSwapOn", "featureGates", "hairpinMode", "imageMaximumGCAge",
    "imageMinimumGCAge", "kernelMemcgNotification", "kubeAPIBurst", "kubeAPIQPS", "kubeReservedCgroup",
    "localStorageCapacityIsolation", "logging", "makeIPTablesUtilChains", "maxOpenFiles",
    "maxParallelImagePulls", "memoryManagerPolicy", "memorySwap", "memoryThrottlingFactor",
    "mergeDefaultEvictionSettings", "nodeStatusReportFrequency", "nodeStatusUpdateFrequency", "oomScoreAdj",
    "podPidsLimit", "protectKernelDefaults", "readOnlyPort", "registerNode", "registerWithTaints",
    "registryBurst", "registryPullQPS", "reservedMemory", "reservedSystemCPUs", "resolvConf",
    "rotateCertificates", "runtimeRequestTimeout", "seccompDefault", "serializeImagePulls",
    "serverTLSBootstrap", "shutdownGracePeriod", "shutdownGracePeriodByPodPriority",
    "shutdownGracePeriodCriticalPods", "singleProcessOOMKill", "streamingConnectionIdleTimeout",
    "syncFrequency", "systemCgroups", "systemReservedCgroup", "topologyManagerPolicy",
    "topologyManagerPolicyOptions", "topologyManagerScope", "volumePluginDir", "volumeStatsAggPeriod",
)
# fmt: on


def _only(known: Iterable[str]) -> Callable[[Mapping[str, Any]], Iterator[RuleError]]:
    names = tuple(known)

    def rule(entries: Mapping[str, Any]) -> Iterator[RuleError]:
        for key in entries:
            if key not in names:
                yield RuleError("is not a key here", f"known here: {', '.join(names)}", (key,))

    return rule


def _address(value: str) -> Iterator[RuleError]:
    try:
        ipaddress.ip_address(value)
    except ValueError:
        yield RuntimeRuleError("is not an IP address, and kubelet passes it over", "write one", value=value)


def _grace_for_each_signal(raw: Raw) -> Iterator[RuleError]:
    soft, grace = ("evictionSoft", "threshold", "10%"), ("evictionSoftGracePeriod", "grace period", "1m30s")
    for (key, _, _), (other, what, example) in ((soft, grace), (grace, soft)):
        there = raw.get(other) or {}
        for signal, value in (raw.get(key) or {}).items():
            if signal not in there:
                remedy = f"add {signal} to {other}, for example {example}"
                yield RuleError(f"has no {what} for its signal", remedy, (key, signal), value)


def _high_above_low(raw: Raw) -> Iterator[RuleError]:
    high, low = "imageGCHighThresholdPercent", "imageGCLowThresholdPercent"
    if has(raw, high) and has(raw, low) and raw[high] <= raw[low]:
        yield RuleError(f"must be greater than {low} ({raw[low]})", "raise it or lower the other", (high,), raw[high])


Thresholds = Annotated[dict[str, str] | None, text_map(_only(EVICTION_SIGNALS), value=threshold)]
Reserves = Annotated[dict[str, str] | None, text_map(_only(RESERVABLE), value=reserve)]
Percent = Annotated[int | None, whole(0, PERCENT_MOST)]


class KubeletSpec(CrdModel):
    """Kubelet settings of the nodes, as far as Karpenter reckons with them."""

    rules = (_grace_for_each_signal, _high_above_low)
    elsewhere = dict.fromkeys(_NOT_KARPENTERS, IN_USER_DATA)

    cluster_dns: Annotated[tuple[Annotated[str, text(_address)], ...] | None, listed] = Field(
        default=None, alias="clusterDNS"
    )
    max_pods: Annotated[int | None, whole(0)] = None
    pods_per_core: Annotated[int | None, whole(0)] = None
    system_reserved: Reserves = None
    kube_reserved: Reserves = None
    eviction_hard: Thresholds = None
    eviction_soft: Thresholds = None
    eviction_soft_grace_period: Annotated[
        dict[str, str] | None, text_map(_only(EVICTION_SIGNALS), value=go_duration)
    ] = None
    eviction_max_pod_grace_period: Annotated[int | None, whole()] = None
    image_gc_high_threshold_percent: Percent = Field(default=None, alias="imageGCHighThresholdPercent")
    image_gc_low_threshold_percent: Percent = Field(default=None, alias="imageGCLowThresholdPercent")
    cpu_cfs_quota: Annotated[bool | None, flag] = Field(default=None, alias="cpuCFSQuota")
