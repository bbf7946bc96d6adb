"""ScaleODM's settings of its sizing rules, and the values they have in its code, its chart and in production.

Source: hotosm/ScaleODM 5f9e187, app/config/main.go and chart/values.yaml; production as in hotosm/k8s-infra,
apps/scaleodm/helm/values.yaml. Not our settings: those are `settings`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class ScaleOdmSettings:
    """Amounts in GiB and cores, as ScaleODM has them. The defaults are those of its code."""

    swap_ratio: float = 0.0
    """What of the peak is left to swap: the request is peak / (1 + ratio). 0: no swap."""
    margin_percent: float = 20.0
    memory_min_gib: float = 4.0
    memory_max_gib: float = 256.0
    request_min_gib: float = 4.0
    cpu_per_gib: float = 0.125
    cpu_limit_multiplier: float = 1.5
    """0 leaves out the CPU limit."""
    cpu_max_cores: float = 0.0
    """0 is no cap."""
    ephemeral_per_gib: float = 1.0
    ephemeral_limit_multiplier: float = 1.2
    fast_multiplier: float = 0.5
    dsm_multiplier: float = 1.5
    pvc_max_gib: float = 1024.0
    on_demand_threshold: int = 5000
    """Images from which a spot job goes on-demand. 0: never."""


CODE = ScaleOdmSettings()
CHART = replace(CODE, ephemeral_per_gib=0.3)
PROD = replace(CHART, memory_max_gib=1200.0, swap_ratio=1.0, cpu_limit_multiplier=0.0, pvc_max_gib=2048.0)
