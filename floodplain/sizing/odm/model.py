"""What peak an ODM job will have, how far that can be trusted, and what was assumed. The figure itself is `peak`'s."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from functools import cache

from floodplain.quantity import GIB, MIB
from floodplain.sizing.odm.observations import counted
from floodplain.sizing.odm.options import Quality
from floodplain.sizing.odm.peak import (
    ASSUMED_MEGAPIXELS,
    ASSUMED_THREADS,
    FEATURE_GIB_PER_THREAD,
    FLOOR_GIB,
    WHOLE_SHARE,
    peak_gib,
    submodel_images,
)
from floodplain.sizing.prediction import Confidence, Prediction
from floodplain.sizing.workload import Workload

MODEL_VERSION = 1
"""One more whenever a prediction changes."""
LARGE_IMAGES = 2000
"""From here on it is worth saying that a canvas may blow up."""


def predict(workload: Workload) -> Prediction:
    """The peak of an ODM job, in whole MiB upwards."""
    peak = peak_gib(workload)
    confidence, reason = _confidence(workload)
    return Prediction(
        peak_bytes=math.ceil(peak * GIB / MIB) * MIB,
        peak_source=f"floodplain's ODM model {MODEL_VERSION}, fitted to {len(counted())} public observations",
        confidence=confidence,
        confidence_reason=reason,
        notes=_notes(workload, peak),
    )


def _confidence(workload: Workload) -> tuple[Confidence, str]:
    """Never high: public jobs of like size differ by a factor of two. High is for what was measured."""
    beyond = _unobserved(workload)
    if beyond:
        return Confidence.LOW, f"beyond what has been observed: {'; '.join(beyond)}"
    counts = _counts()
    above = counts[bisect_left(counts, workload.image_count)]
    place = bisect_right(counts, workload.image_count)
    if not place:
        return Confidence.MEDIUM, f"fewer images than the smallest job observed, which had {above:,}"
    below = counts[place - 1]
    near = f"a job of {above:,} images was" if below == above else f"jobs of {below:,} and of {above:,} images were"
    return Confidence.MEDIUM, f"{near} observed; jobs of like size differ by a factor of two"


def _unobserved(workload: Workload) -> list[str]:
    """In which ways nobody has reported a job like this."""
    options, largest = workload.options, _counts()[-1]
    found = []
    if workload.image_count > largest:
        found.append(f"{workload.image_count:,} images, and the largest job had {largest:,}")
    if workload.megapixels is not None and workload.megapixels > 1.1 * _largest_megapixels():
        found.append(f"{workload.megapixels:g} megapixels, and the largest images had {_largest_megapixels():.0f}")
    if submodel_images(workload) < workload.image_count:
        found.append("no split job was reported")
    if options.pc_quality in (Quality.ULTRA, Quality.LOWEST) and not options.fast_orthophoto:
        found.append(f"no job with pc-quality={options.pc_quality} was reported")
    return found


def _notes(workload: Workload, peak: float) -> tuple[str, ...]:
    options, images = workload.options, workload.image_count
    found = []
    if workload.megapixels is None:
        found.append(f"{ASSUMED_MEGAPIXELS:g} megapixels an image are assumed; say how many where they are others")
    part = submodel_images(workload)
    if part < images:
        found.append(
            f"split: {part:,} images at a time are assumed, neighbours' included; what works on all {images:,} is"
            f" taken for {WHOLE_SHARE:.0%} of the unsplit peak"
        )
    if options.feature_quality is Quality.ULTRA and options.max_concurrency is None:
        found.append(
            f"feature-quality=ultra takes about {FEATURE_GIB_PER_THREAD:g} GiB a thread at {ASSUMED_MEGAPIXELS:g}"
            f" megapixels, and {ASSUMED_THREADS} threads are assumed; on nodes with more set max-concurrency"
        )
    if options.resize_to is not None and options.resize_to > 0:
        found.append("resize-to is for feature extraction only; for images made smaller say their megapixels")
    if images >= LARGE_IMAGES and (options.dsm or options.dtm) and not _has_boundary(workload):
        found.append(
            "there is no boundary: one misplaced image inflates the canvas of surface model and orthophoto beyond any"
            " prediction; set boundary or auto-boundary"
        )
    if peak <= FLOOR_GIB:
        found.append(f"raised to {FLOOR_GIB:g} GiB, below which no job is sized")
    return tuple(found)


def _has_boundary(workload: Workload) -> bool:
    return workload.options.boundary or "auto-boundary" in workload.options.others


@cache
def _counts() -> tuple[int, ...]:
    return tuple(sorted({one.images for one in counted()}))


@cache
def _largest_megapixels() -> float:
    return max(one.megapixels for one in counted() if one.megapixels is not None)
