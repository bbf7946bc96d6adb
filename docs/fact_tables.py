"""Tables of facts that the code knows: versions, policies, events, charts, families, what nodes and jobs get."""

from __future__ import annotations

from typing import Any

from components import compatibility
from components.controller_charts import ArgoWorkflowsSettings, KueueSettings, MonitoringSettings
from components.interruption import RULES
from components.karpenter_settings import KarpenterSettings
from components.pool_types import by_family
from components.swap_pool import DiskSettings, SwapSettings
from docs.markdown_table import code, table
from floodplain.quantity import GIB, KIB, MIB, to_bytes
from floodplain.swap import NoSwap, family_fits, limit_bytes, request_bytes
from nodeconfig import KernelReserve, kernel_reserve
from policies.rules import POLICIES
from preview.expected_unknowns import EXPECTED

NODE_GIB = (16, 32, 64, 128, 256, 384, 512, 768)
PEAK_GIB = (8, 16, 32, 64, 100, 200, 400)
HAND_WRITTEN = KernelReserve(min_free_kib=524_288, watermark_scale_factor=200)
"""What hotosm/k8s-infra sets on every size (facts of August 2026)."""


def versions() -> str:
    """Kubernetes against Karpenter."""
    rows = ((kubernetes, f"{karpenter} or newer", remark) for kubernetes, karpenter, remark in compatibility.table())
    return table(("Kubernetes", "Karpenter", ""), rows)


def since() -> str:
    """The first Karpenter with a field, setting, gate or permission."""
    rows = sorted((version, thing) for thing, version in compatibility.SINCE.items())
    return table(("Karpenter", "What came with it"), ((str(version), thing) for version, thing in rows))


def policies() -> str:
    """Every rule of the policy pack."""
    return table(
        ("Rule", "Level", "What it demands", "What to do"),
        (
            (
                code(policy.name),
                str(policy.enforcement_level.value if policy.enforcement_level else "advisory"),
                policy.description,
                str(getattr(policy, "remediation_steps", None) or ""),
            )
            for policy in POLICIES
        ),
    )


def policy_settings() -> str:
    """What can be configured about the rules."""
    rows: dict[str, tuple[Any, list[str]]] = {}
    for policy in POLICIES:
        schema = policy.config_schema
        for key, node in (schema.properties if schema else {}).items():
            rows.setdefault(key, (node, []))[1].append(policy.name)
    return table(
        ("Setting", "Default", "What it is", "Rules"),
        (
            (code(key), code(node.get("default")), str(node.get("description", "")), ", ".join(map(code, names)))
            for key, (node, names) in rows.items()
        ),
    )


def events() -> str:
    """What fills the interruption queue."""
    return table(
        ("Event", "Source", "What Karpenter does"), ((one.detail_type, code(one.source), one.does) for one in RULES)
    )


def charts() -> str:
    """Default charts and versions."""
    kueue, argo = KueueSettings(), ArgoWorkflowsSettings()
    monitoring, karpenter = MonitoringSettings(), KarpenterSettings()
    rows = [
        ("Karpenter", karpenter.controller_chart, karpenter.version, karpenter.namespace),
        ("its CRDs", karpenter.crd_chart, karpenter.version, karpenter.namespace),
        ("Kueue", kueue.chart, kueue.version, kueue.namespace),
        ("Argo Workflows", f"{argo.chart} of {argo.repository}", argo.version, argo.namespace),
        ("Prometheus", f"{monitoring.chart} of {monitoring.repository}", monitoring.version, monitoring.namespace),
        ("its CRDs", f"{monitoring.crd_chart} of the same", monitoring.crd_version, monitoring.namespace),
    ]
    return table(("What", "Chart", "Version", "Namespace"), rows)


def families() -> str:
    """Families whose every Nitro size holds the default swap ratio with the default shares of the disk."""
    swap, disk = SwapSettings(), DiskSettings()
    kinds = [kind for found in by_family().values() for kind in found if kind.category in ("c", "m", "r", "i", "z")]
    rows = []
    for fit in family_fits(
        kinds, ratio=swap.ratio, ephemeral_per_memory=disk.per_memory, images_bytes=to_bytes(disk.images)
    ):
        memory = [one.kind.memory_mib / 1024 for one in fit.types]
        rows.append(
            (
                code(fit.family),
                fit.types[0].kind.arch,
                f"{min(memory):g} to {max(memory):g}",
                f"{int(fit.largest_ratio * 100) / 100:.2f}",
                "yes" if all(not one.shortfall_bytes for one in fit.types) else "no",
            )
        )
    return table(
        ("Family", "Architecture", "Memory in GiB", "Largest k", f"Holds k = {swap.ratio:g}"), rows, right=(2, 3)
    )


def reserves() -> str:
    """What a node's kernel keeps free, by size, beside one constant for all sizes."""
    rows = []
    for size in NODE_GIB:
        kib = size * GIB // KIB
        ours = kernel_reserve(size * GIB)
        rows.append(
            (
                str(size),
                f"{ours.min_free_kib:,}",
                str(ours.watermark_scale_factor),
                *(_gib(value) for value in (ours.low_kib(kib), ours.high_kib(kib))),
                *(_gib(value) for value in (HAND_WRITTEN.low_kib(kib), HAND_WRITTEN.high_kib(kib))),
            )
        )
    titles = (
        "Node GiB",
        "`min_free_kbytes`",
        "`watermark_scale_factor`",
        "kswapd starts at",
        "stops at",
        "constant 524288 / 200: starts at",
        "stops at",
    )
    return table(titles, rows, right=range(7))


def _gib(kib: int) -> str:
    return f"{kib * KIB / GIB:.2f} GiB"


def limits() -> str:
    """Limit and request for a peak with a pool's default settings."""
    swap = SwapSettings()
    rows = []
    for peak in PEAK_GIB:
        limit = limit_bytes(peak * GIB, ratio=swap.ratio, margin=swap.margin, hot_share=swap.hot_share)
        request = request_bytes(limit)
        total = limit + swap.ratio * request
        rows.append(
            (
                f"{peak} GiB",
                f"{request // MIB}Mi",
                f"{limit // MIB}Mi",
                f"{swap.ratio * request / GIB:.1f} GiB",
                f"{total / GIB:.1f} GiB",
            )
        )
    return table(("Peak", "Request", "Limit", "Swap grant", "Limit and grant"), rows, right=range(5))


def unknowns() -> str:
    """What a preview may not know before the first update."""
    return table(
        ("Resource type", "Property", "Why"),
        (
            (code(one.type), ", ".join(code(part.replace("\\", "")) for part in one.path.split("|")), one.why)
            for one in EXPECTED
        ),
    )


def no_swap() -> str:
    """Why kubelet grants a container no swap."""
    return "".join(f"- {reason.value}\n" for reason in NoSwap)
