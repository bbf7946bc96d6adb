"""The model of ODM's peak: a table in images times what options and megapixels do to it. Arithmetic only.

The table's shape and the fixed factors are what is known of ODM or was seen once; the constants come from `fit`.
What to say of a prediction is `model`. Evidence for each factor: docs/how-we-size.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from floodplain.sizing.odm.options import OdmOptions, Quality
from floodplain.sizing.workload import Workload

KNEE_IMAGES = 5000
"""From here on memory grows faster: depth maps are estimated with more neighbours a view (ScaleODM,
docs/system-requirements.md), and OpenSfM adjusts another way above 4000 shots."""
ASSUMED_MEGAPIXELS = 20.0
"""Of an image of which nothing is known: the camera of most drones of today."""
SMALLEST_MEGAPIXELS = 3.1
"""Nobody has shown that smaller images save more: the one such job failed with 8 GB."""
MEGAPIXELS_POWER = 0.5
"""Half of the growth of the pixels: points and views do not grow with them."""
LOW_QUALITY = 0.76
"""A step below medium: 709 GiB against more than 932 for the same 11,972 images."""
SURFACE_SHARE = 0.84
"""What dsm or dtm takes whatever the cloud's quality, of the peak at medium: surface model and orthophoto held 779 GiB
where depth maps of medium took more than 932. At medium and above the dense cloud's peak hides it."""
FEATURE_GIB_PER_THREAD = 3.5
"""Feature extraction of quality ultra, 20 megapixels: three times 9.3 GB with 8 CPUs."""
ASSUMED_THREADS = 8
WHOLE_SHARE = 0.2
"""What a split does not make smaller, of the unsplit peak: structure from motion held 192 of more than 932 GiB."""
OVERLAP_SHARE = 0.25
"""Images that a submodel gets of its neighbours at the default overlap. An assumption: nobody has reported any."""
OVERLAP_METERS = 150
"""ODM's default split-overlap."""
FLOOR_GIB = 2.0
"""Below this no ODM starts: 16 images ran with 4 GB."""


@dataclass(frozen=True)
class Constants:
    """What the observations decide. GiB of memory and swap together, at 20 megapixels and ODM's own defaults."""

    base_gib: float
    gib_per_image: float
    steeper: float
    """Times that for each image beyond the knee."""
    high_quality: float
    """Factor of a step above pc-quality=medium."""
    fast_orthophoto: float


FITTED = Constants(base_gib=2.75, gib_per_image=0.078, steeper=1.2, high_quality=1.4, fast_orthophoto=1.0)
"""What `fit` makes of the packaged observations; a test fits them again."""

_STEPS = {Quality.ULTRA: 2, Quality.HIGH: 1, Quality.MEDIUM: 0, Quality.LOW: -1, Quality.LOWEST: -2}


def peak_gib(workload: Workload, constants: Constants = FITTED) -> float:
    """The peak in GiB. More images, more megapixels and more quality never give less."""
    options = workload.options
    megapixels = workload.megapixels or ASSUMED_MEGAPIXELS
    size = math.pow(max(megapixels, SMALLEST_MEGAPIXELS) / ASSUMED_MEGAPIXELS, MEGAPIXELS_POWER)
    factor = max(_dense_factor(options, constants), SURFACE_SHARE if options.dsm or options.dtm else 0.0)
    part = _table_gib(submodel_images(workload), constants) * factor
    whole = _table_gib(workload.image_count, constants) * WHOLE_SHARE
    return max(max(part, whole) * size, _features_gib(workload, megapixels), FLOOR_GIB)


def submodel_images(workload: Workload) -> int:
    """Images that are worked on at a time: all of them, unless the job is split."""
    split = workload.options.split
    if split is None:
        return workload.image_count
    overlap = workload.options.split_overlap
    share = OVERLAP_SHARE * (OVERLAP_METERS if overlap is None else overlap) / OVERLAP_METERS
    return min(workload.image_count, math.ceil(split * (1 + share)))


def _table_gib(images: int, constants: Constants) -> float:
    beyond = max(0, images - KNEE_IMAGES)
    return constants.base_gib + constants.gib_per_image * (images - beyond + constants.steeper * beyond)


def _dense_factor(options: OdmOptions, constants: Constants) -> float:
    steps = _STEPS[options.pc_quality or Quality.MEDIUM]
    factor = math.pow(constants.high_quality if steps > 0 else LOW_QUALITY, abs(steps))
    # Without a dense cloud its quality costs nothing; a lower one than medium would save memory also then.
    return min(factor, constants.fast_orthophoto) if options.fast_orthophoto else factor


def _features_gib(workload: Workload, megapixels: float) -> float:
    """Quality high, ODM's default, and those below stay under the table; ultra does not for few images."""
    options = workload.options
    if options.feature_quality is not Quality.ULTRA:
        return 0.0
    if options.resize_to is not None and options.resize_to > 0:
        megapixels = min(megapixels, options.resize_to**2 * 0.75 / 1e6)
    threads = min(workload.image_count, options.max_concurrency or ASSUMED_THREADS)
    return FEATURE_GIB_PER_THREAD * threads * megapixels / ASSUMED_MEGAPIXELS
