"""What is allowed in a platform but should be known before `up`: each a key, what follows from it, what to do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from fractions import Fraction

from floodplain import quantity
from floodplain.problem import Problem

from . import compatibility, controllers_settings, karpenter_settings
from .karpenter_settings import SpotServiceLinkedRole
from .node_text_import import kernel_reserve
from .platform_settings import PlatformSettings
from .pool_choices import CapacityType, GuardrailMode
from .pool_types import admitted, allocatable
from .swap_pool import SwapPool


def warnings(platform: PlatformSettings) -> list[Problem]:
    """Everything worth knowing about a valid platform, in the order of its keys."""
    found = [*_karpenter(platform)]
    for index, pool in enumerate(platform.pools):
        found += _below(f"pools[{index}]", _pool(pool, platform))
    found += _below("controllers", controllers_settings.warnings(platform.controllers))
    if platform.protected and platform.images.service is None:
        found.append(
            Problem(
                "images.service",
                "holds no digest, so floodplain's services stay off in this protected stack",
                "merge the pull request of a release, which writes the digests",
            )
        )
    return [*found, *_sizing(platform)]


def _below(place: str, problems: Iterable[Problem]) -> list[Problem]:
    return [replace(problem, path=f"{place}.{problem.path}") for problem in problems]


def _karpenter(platform: PlatformSettings) -> Iterator[Problem]:
    karpenter, kubernetes = platform.karpenter, platform.cluster.kubernetes_version
    texts = (
        karpenter_settings.warnings(karpenter, kubernetes)
        if platform.install_karpenter
        # How a controller that is there already was set up is not for us to say.
        else compatibility.warnings(kubernetes, karpenter.version)
    )
    for text in texts:
        yield Problem("karpenter", text)
    planned = [pool.name for pool in platform.pools if pool.kubelet.max_pods is None]
    if karpenter.reserved_enis and planned:
        yield Problem(
            "karpenter.reservedEnis",
            "lets fewer pods onto a node than floodplain counts with: its figures for pods per node know only the "
            f"instance type (pools {', '.join(planned)})",
            "set kubelet.maxPods of these pools to what a node really takes",
            karpenter.reserved_enis,
        )


def _sizing(platform: PlatformSettings) -> Iterator[Problem]:
    sizing, monitoring = platform.sizing, platform.controllers.kube_prometheus_stack
    if platform.images.service is None:
        if "sizing" in platform.model_fields_set and not platform.protected:
            yield Problem(
                "sizing",
                "is set, but images.service holds no digest, so that nothing is sized",
                "set images.service to the image of a release, by digest",
            )
        return
    if sizing.guardrails is not GuardrailMode.ENFORCE:
        yield Problem(
            "sizing.guardrails",
            "lets pods run unsized when the webhook has missed them",
            "set it to enforce once the audit is quiet",
            sizing.guardrails.value,
        )
    if sizing.doctor.enabled and sizing.doctor.kubelets:
        yield Problem(
            "sizing.doctor.kubelets",
            "gives an account of the cluster get on nodes/proxy, which also allows running commands in pods"
            " (kubernetes/kubernetes#119640)",
            f"see to it that nobody else may start pods in the namespace {sizing.namespace}",
            True,
        )
    if monitoring and monitoring.namespace != sizing.metrics_namespace:
        yield Problem(
            "sizing.metricsNamespace",
            f"is not the namespace of kubePrometheusStack ({monitoring.namespace}), which then cannot read metrics of"
            " sizing",
            "set it to that",
            sizing.metrics_namespace,
        )


def _pool(pool: SwapPool, platform: PlatformSettings) -> Iterator[Problem]:
    if CapacityType.SPOT in pool.capacity_types:
        yield Problem(
            "capacityTypes",
            f"includes spot, and jobs may run {pool.longest_job}: AWS takes spot nodes back with two minutes' notice",
            "keep long jobs on demand, or make them resume",
        )
        if platform.karpenter.spot_service_linked_role is SpotServiceLinkedRole.EXISTING:
            yield Problem(
                "capacityTypes",
                "includes spot, which needs the account's role AWSServiceRoleForEC2Spot",
                "make sure it exists, or set karpenter.spotServiceLinkedRole: Create once for the account",
            )
    if not pool.ami.pinned:
        yield Problem("ami.alias", "rolls the nodes whenever AWS publishes an image", "pin it", pool.ami.alias)
    if pool.guardrails is not GuardrailMode.ENFORCE:
        yield Problem(
            "guardrails",
            "lets pods in that can get others evicted",
            "set it to enforce once the audit is quiet",
            pool.guardrails.value,
        )
    if not pool.swap.power_off_on_failure:
        yield Problem(
            "swap.powerOffOnFailure",
            "keeps a node whose swap failed running and paid for until Karpenter gives up on it after 15 minutes",
            "leave it on outside debugging",
            False,
        )
    yield from _early_eviction(pool, platform.karpenter.vm_memory_overhead_percent)
    yield from _unreachable_sizes(pool)


def _early_eviction(pool: SwapPool, overhead_percent: float) -> Iterator[Problem]:
    """Thresholds above the memory that the kernel keeps free: kubelet then evicts what could have been swapped out.

    Kubernetes asks for the reverse (kubernetes.io, "Swap memory management"); see nodeconfig.kernel_reserve.
    """
    thresholds = {"evictionHard": pool.kubelet.eviction_hard, "evictionSoft": pool.kubelet.eviction_soft}
    for key, text in ((key, found.get("memory.available")) for key, found in thresholds.items()):
        early: list[str] = []
        for kind in admitted(pool.families, pool.architecture, pool.vcpus) if text else ():
            memory_bytes = allocatable(kind, pool.kubelet, overhead_percent).capacity_memory_bytes
            free_bytes = kernel_reserve(memory_bytes).min_free_kib * quantity.KIB
            if text and _threshold_bytes(text, memory_bytes) > free_bytes:
                early.append(f"{kind.name}: {free_bytes // quantity.MIB}Mi")
        if early:
            yield Problem(
                f"kubelet.{key}.memory.available",
                "is more than the kernel keeps free, so that kubelet evicts pods before the kernel swaps "
                f"({', '.join(early[:3])}{' and more' if len(early) > 3 else ''})",
                "lower it below that; 256Mi suits nodes from 4 GiB on",
                text,
            )


def _threshold_bytes(text: str, memory_bytes: int) -> int:
    if text.endswith("%"):
        return int(Fraction(text.removesuffix("%")) * memory_bytes / 100)
    return quantity.to_bytes(text)


def _unreachable_sizes(pool: SwapPool) -> Iterator[Problem]:
    """Sizes that the limits exclude: Karpenter drops them and its message hides the cause."""
    types = admitted(pool.families, pool.architecture, pool.vcpus)
    memory_bytes = quantity.to_bytes(pool.limits.memory)
    cpu = quantity.to_millicores(pool.limits.cpu)
    out = [kind.name for kind in types if kind.memory_bytes > memory_bytes or kind.vcpu * 1000 > cpu]
    if out:
        yield Problem(
            "limits",
            f"never allow {', '.join(out[:3])}{' and more' if len(out) > 3 else ''}: limits count whole nodes",
            "raise the limits, or name the sizes wanted in vcpus",
        )
