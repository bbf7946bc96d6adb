"""Which keys of KubeletConfiguration may be set by hand in the node text, and why the others may not.

Source of the names: kubelet.config.k8s.io/v1beta1 in k8s.io/kubelet v0.36.3. Values are kubelet's to check.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from typing import Any

from floodplain.kubelet_keys import KARPENTERS_KEYS
from floodplain.problem import RuleError

_NAMES = """
    address allowedUnsafeSysctls authentication authorization cgroupDriver cgroupRoot cgroupsPerQOS clusterDNS
    clusterDomain configMapAndSecretChangeDetectionStrategy containerLogMaxFiles containerLogMaxSize
    containerLogMaxWorkers containerLogMonitorInterval containerRuntimeEndpoint contentType cpuCFSQuota
    cpuCFSQuotaPeriod cpuManagerPolicy cpuManagerPolicyOptions cpuManagerReconcilePeriod crashLoopBackOff
    enableContentionProfiling enableControllerAttachDetach enableDebugFlagsHandler enableDebuggingHandlers
    enableProfilingHandler enableServer enableSystemLogHandler enableSystemLogQuery enforceNodeAllocatable
    eventBurst eventRecordQPS evictionHard evictionMaxPodGracePeriod evictionMinimumReclaim
    evictionPressureTransitionPeriod evictionSoft evictionSoftGracePeriod failCgroupV1 failSwapOn featureGates
    fileCheckFrequency hairpinMode healthzBindAddress healthzPort httpCheckFrequency
    imageGCHighThresholdPercent imageGCLowThresholdPercent imageMaximumGCAge imageMinimumGCAge
    imagePullCredentialsVerificationPolicy imageServiceEndpoint iptablesDropBit iptablesMasqueradeBit
    kernelMemcgNotification kubeAPIBurst kubeAPIQPS kubeReserved kubeReservedCgroup kubeletCgroups
    localStorageCapacityIsolation logging makeIPTablesUtilChains maxOpenFiles maxParallelImagePulls maxPods
    memoryManagerPolicy memoryReservationPolicy memorySwap memoryThrottlingFactor mergeDefaultEvictionSettings
    nodeLeaseDurationSeconds nodeStatusMaxImages nodeStatusReportFrequency nodeStatusUpdateFrequency
    oomScoreAdj podCIDR podLogsDir podPidsLimit podsPerCore port preloadedImagesVerificationAllowlist
    protectKernelDefaults providerID qosReserved readOnlyPort registerNode registerWithTaints registryBurst
    registryPullQPS reservedMemory reservedSystemCPUs resolvConf rotateCertificates runOnce
    runtimeRequestTimeout seccompDefault serializeImagePulls serverTLSBootstrap showHiddenMetricsForVersion
    shutdownGracePeriod shutdownGracePeriodByPodPriority shutdownGracePeriodCriticalPods singleProcessOOMKill
    staticPodPath staticPodURL staticPodURLHeader streamingConnectionIdleTimeout syncFrequency systemCgroups
    systemReserved systemReservedCgroup tlsCertFile tlsCipherSuites tlsCurvePreferences tlsMinVersion
    tlsPrivateKeyFile topologyManagerPolicy topologyManagerPolicyOptions topologyManagerScope tracing
    userNamespaces volumePluginDir volumeStatsAggPeriod
"""
_KNOWN = frozenset(_NAMES.split())

OVERWRITTEN_BY_KARPENTER = ("clusterDNS", "maxPods", "registerWithTaints")
"""Karpenter's own NodeConfig is the last part and sets these (karpenter-provider-aws v1.14.1, nodeadm.go)."""

SEEN_BY_KARPENTER = tuple(key for key in KARPENTERS_KEYS if key not in OVERWRITTEN_BY_KARPENTER)
"""The other keys of EC2NodeClass spec.kubelet: set elsewhere they stay hidden from Karpenter."""

_OWN_SETTINGS = {
    "failSwapOn": "it follows from the swap ratio",
    "memorySwap": "it follows from the swap ratio",
    "singleProcessOOMKill": "use singleProcessOomKill",
}


def broken_kubelet_rules(config: Mapping[str, Any]) -> Iterator[RuleError]:
    """What is wrong with extra kubelet settings, each with its key below the map."""
    for key, value in config.items():
        place = ("kubeletConfig", key)
        if key in OVERWRITTEN_BY_KARPENTER or key == "cluster":
            yield RuleError("is overwritten by Karpenter's part", "set it on the pool or remove it", place, value)
        elif key in SEEN_BY_KARPENTER:
            yield RuleError(
                "would be hidden from Karpenter, which plans with what spec.kubelet says",
                f"set {key} among the pool's kubelet settings",
                place,
                value,
            )
        elif key in _OWN_SETTINGS:
            yield RuleError("is set by floodplain", _OWN_SETTINGS[key], place, value)
        elif key not in _KNOWN:
            near = difflib.get_close_matches(key, _KNOWN, n=1, cutoff=0.6)
            yield RuleError(
                "is not a key of KubeletConfiguration, and kubelet refuses to start with one it does not know",
                f"did you mean {near[0]}?" if near else "remove it",
                place,
                value,
            )
    gates = config.get("featureGates")
    if isinstance(gates, Mapping) and gates.get("NodeSwap") is False:
        yield RuleError(
            "turns swap off for every pod", "remove it", ("kubeletConfig", "featureGates", "NodeSwap"), False
        )
