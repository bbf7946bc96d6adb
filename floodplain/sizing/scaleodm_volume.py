"""The size that ScaleODM gives the volume of a job's workspace. Not ephemeral storage: that follows the memory peak.

Source: hotosm/ScaleODM 5f9e187, app/workflows/standard.go. Doubles in its order, as in `scaleodm`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from floodplain.quantity import GIB

_UNKNOWN_IMAGE_MIB = 20.0


@dataclass(frozen=True)
class _Profile:
    """How a kind of job fills its workspace."""

    bytes_multiplier: float
    gib_per_image: float
    min_gib: float


_FAST = _Profile(6.0, 0.075, 20.0)
_STANDARD = _Profile(8.0, 0.10, 30.0)
_DSM = _Profile(12.0, 0.15, 100.0)


def workspace_size(image_total_bytes: int, images: int, flags: Sequence[str], max_gib: float) -> str | None:
    """Whole Gi as a quantity, from the images' bytes or, if that is more, their count.

    None where ScaleODM sets no size: nothing is known of the images, or the bounds make no sense.
    """
    profile = _profile(flags)
    if max_gib <= 0 or max_gib < profile.min_gib:
        return None
    total = float(image_total_bytes)
    if total <= 0 and images > 0:
        total = float(images) * _UNKNOWN_IMAGE_MIB * 1024 * 1024
    by_bytes = (total / GIB) * profile.bytes_multiplier
    by_count = float(images) * profile.gib_per_image if images > 0 else 0.0
    wanted = max(by_bytes, by_count)
    if wanted <= 0:
        return None
    return f"{math.ceil(min(max(wanted, profile.min_gib), max_gib))}Gi"


def _profile(flags: Sequence[str]) -> _Profile:
    if "--fast-orthophoto" in flags:
        return _FAST
    return _DSM if "--dsm" in flags or "--dtm" in flags else _STANDARD
