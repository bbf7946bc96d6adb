"""What ScaleODM gives a job, to the last MiB and millicore: its quirks are kept, for `compatibility="scaleodm"`.

Source: hotosm/ScaleODM 5f9e187, app/workflows/standard.go. It counts in doubles of GiB and cores and so do we here,
in its order of operations: 18 x 1.2 is not 21.6 and ends one MiB higher. Nowhere else is memory a double.
What its ways lack is told by the planner: its limits may land above a node's memory.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from floodplain.quantity import GIB, MIB, from_millicores
from floodplain.sizing.odm.options import OdmOptions
from floodplain.sizing.scaleodm_settings import CHART, CODE, PROD, ScaleOdmSettings
from floodplain.sizing.scaleodm_volume import workspace_size

__all__ = ["CHART", "CODE", "PROD", "ScaleOdmSettings", "ScaleOdmSize", "flags_of", "predicted_peak_gib", "size"]

_TABLE = (
    (40, 18.0),
    (200, 25.0),
    (500, 37.0),
    (1000, 58.0),
    (1500, 79.0),
    (2500, 121.0),
    (3500, 163.0),
    (5000, 227.0),
    (12000, 800.0),
)
"""Images and GiB of memory and swap together. Lines between, the last one goes on."""

_LEAST_EPHEMERAL_GIB = 10.0
_MAX_CONCURRENCY = "--max-concurrency"
_CAPACITY_TYPES = ("spot", "on-demand")


@dataclass(frozen=True)
class ScaleOdmSize:
    """The process container of a job. Bytes are whole MiB, CPU is a quantity."""

    peak_gib: float | None
    """None where there was no count of images, and so no prediction."""
    request_bytes: int
    limit_bytes: int
    cpu_request: str
    cpu_limit: str | None
    ephemeral_request_bytes: int
    ephemeral_limit_bytes: int
    capacity_type: str | None
    """None in scheduling mode `generic`, which selects none."""
    burst_headroom_gib: int
    """Of the annotation, which is left out for 0."""
    max_concurrency: int | None
    """What is added to ODM's flags; None where nothing is."""
    pvc_size: str | None


def predicted_peak_gib(images: int, flags: Sequence[str], settings: ScaleOdmSettings) -> float:
    """Memory and swap that ScaleODM expects a job to use.

    It clamps before the flags' factor and again after it: with a maximum of 256, 8000 images in fast mode are
    half of 256 and not half of what the table says.
    """
    return _clamp(_clamp(_table_gib(images, settings), settings) * _flag_factor(flags, settings), settings)


def size(
    images: int,
    flags: Sequence[str],
    settings: ScaleOdmSettings,
    *,
    capacity_type: str = "spot",
    image_total_bytes: int = 0,
    scheduling: str = "karpenter",
) -> ScaleOdmSize:
    """Everything ScaleODM sets by the count of images. Count 0 (an archive, an empty folder) gets fixed figures."""
    if images > 0:
        peak = predicted_peak_gib(images, flags, settings)
        request, limit = _memory_gib(peak, settings)
        cpu, cpu_limit = _cpu_millicores(request, settings)
        ephemeral = max(_LEAST_EPHEMERAL_GIB, peak * settings.ephemeral_per_gib)
        ephemeral_limit = max(ephemeral, ephemeral * settings.ephemeral_limit_multiplier)
    else:
        peak = None
        request, limit, cpu, cpu_limit, ephemeral, ephemeral_limit = 8.0, 10.0, 2000, 4000, 20.0, 30.0
    return ScaleOdmSize(
        peak_gib=peak,
        request_bytes=_whole_mib(request),
        limit_bytes=_whole_mib(limit),
        cpu_request=from_millicores(cpu),
        cpu_limit=None if cpu_limit is None else from_millicores(cpu_limit),
        ephemeral_request_bytes=_whole_mib(ephemeral),
        ephemeral_limit_bytes=_whole_mib(ephemeral_limit),
        capacity_type=_capacity_type(images, capacity_type, settings, scheduling),
        burst_headroom_gib=-(-max(0, _whole_mib(limit) - _whole_mib(request)) // GIB),
        max_concurrency=_max_concurrency(flags, cpu_limit),
        pvc_size=workspace_size(image_total_bytes, images, flags, settings.pvc_max_gib),
    )


def flags_of(options: OdmOptions) -> tuple[str, ...]:
    """The options as ScaleODM's API hands them on: what is true is a bare flag, what has a value is `--name=value`."""
    found = []
    for field in OdmOptions.model_fields:
        value = getattr(options, field)
        if field != "others" and value is not None and value is not False:
            name = f"--{field.replace('_', '-')}"
            found.append(name if value is True else f"{name}={value}")
    return (*found, *(f"--{text}" for text in options.others))


def _table_gib(images: int, settings: ScaleOdmSettings) -> float:
    (first_images, first_gib), *_, (before_images, before_gib), (last_images, last_gib) = _TABLE
    if images <= 0:
        return settings.memory_min_gib
    if images <= first_images:
        return first_gib
    if images >= last_images:
        slope = (last_gib - before_gib) / float(last_images - before_images)
        return last_gib + slope * float(images - last_images)
    right = next(place for place, (most, _) in enumerate(_TABLE) if images <= most)
    (from_images, from_gib), (to_images, to_gib) = _TABLE[right - 1], _TABLE[right]
    share = float(images - from_images) / float(to_images - from_images)
    return from_gib + share * (to_gib - from_gib)


def _flag_factor(flags: Sequence[str], settings: ScaleOdmSettings) -> float:
    """By exact text: `--dsm=true` counts for nothing, and `--dsm --dtm` no more than one of them."""
    if "--fast-orthophoto" in flags:
        return settings.fast_multiplier
    return settings.dsm_multiplier if "--dsm" in flags or "--dtm" in flags else 1.0


def _memory_gib(peak: float, settings: ScaleOdmSettings) -> tuple[float, float]:
    """Request and limit. With swap the limit follows the request and is above it, so that kubelet grants swap."""
    swap = settings.swap_ratio > 0
    request = peak / (1 + settings.swap_ratio) if swap else peak
    request = min(max(request, settings.request_min_gib), peak)
    margin = max(1.0, 1 + settings.margin_percent / 100)
    if not swap:
        return request, peak * margin
    limit = request * margin
    return request, limit if limit > request else request * 1.05


def _cpu_millicores(request_gib: float, settings: ScaleOdmSettings) -> tuple[int, int | None]:
    """Request, and limit if there is one. The cap comes after the floor of one core and may go below it."""
    cores = max(1.0, request_gib * settings.cpu_per_gib)
    if 0 < settings.cpu_max_cores < cores:
        cores = settings.cpu_max_cores
    if settings.cpu_limit_multiplier <= 0:
        return _whole_millicores(cores), None
    return _whole_millicores(cores), _whole_millicores(max(cores, cores * settings.cpu_limit_multiplier))


def _capacity_type(images: int, wanted: str, settings: ScaleOdmSettings, scheduling: str) -> str | None:
    if scheduling.strip().lower() == "generic":
        return None
    if wanted == "spot" and 0 < settings.on_demand_threshold <= images:
        return "on-demand"
    return wanted if wanted in _CAPACITY_TYPES else "spot"


def _max_concurrency(flags: Sequence[str], cpu_limit_millicores: int | None) -> int | None:
    chosen = any(flag == _MAX_CONCURRENCY or flag.startswith(f"{_MAX_CONCURRENCY}=") for flag in flags)
    if cpu_limit_millicores is None or chosen:
        return None
    return max(1, cpu_limit_millicores // 1000)


def _clamp(gib: float, settings: ScaleOdmSettings) -> float:
    """The minimum wins where it is above the maximum."""
    if gib < settings.memory_min_gib:
        return settings.memory_min_gib
    return min(gib, settings.memory_max_gib)


def _whole_mib(gib: float) -> int:
    return math.ceil((gib if gib > 0 else 1.0) * 1024) * MIB


def _whole_millicores(cores: float) -> int:
    return math.ceil(cores * 1000) if cores > 0 else 1000
