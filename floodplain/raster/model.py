"""What one raster task will hold at its peak: terms that add up, each with its arithmetic.

Pure: no GDAL, no numpy. The peak is marginal: memory beyond what a worker holds that has loaded its libraries and has
warped once. The form is that of facts/sizing.md 3.3; what each term stands on is in docs/how-we-size-rasters.md.
"""

from __future__ import annotations

from collections.abc import Sequence

from floodplain.quantity import MIB
from floodplain.raster.header import Header
from floodplain.raster.kernel import radius
from floodplain.raster.pixel_size import itemsize, widest
from floodplain.raster.task import Destination, GdalSettings, SourceWindow, Way
from floodplain.raster.terms import Estimate, Term

FIXED = 4 * MIB


def estimate_task(
    header: Header,
    windows: Sequence[SourceWindow],
    destination: Destination,
    settings: GdalSettings,
    *,
    source_bands: int | None = None,
    factor: float = 1.0,
    notes: Sequence[str] = (),
) -> Estimate:
    """The marginal peak of reading `windows` into `destination`. `source_bands` where not all bands are read.

    Raises RuleError for an unknown dtype or resampling.
    """
    bands = header.bands if source_bands is None else source_bands
    working = itemsize(widest(header.dtypes))
    source_pixels = sum(window.pixels for window in windows)
    extra = 32 if header.alpha_bands else bands if any(n is not None for n in header.nodata) else 0
    destination_bytes = destination.pixels * destination.bands * itemsize(destination.dtype)
    touched = sum(_touched(header, window, bands) for window in windows)
    chunk_bits = source_pixels * (bands * working * 8 + extra) + destination.pixels * (bands * working * 8 + extra)
    terms = [Term("destination", destination_bytes, f"{destination.width} x {destination.height} px")]
    terms.append(Term("block cache", min(settings.cache_bytes, touched), f"{touched} bytes touched"))
    if settings.way is not Way.READ:
        radius(settings.resampling)
        terms.append(Term("warp chunk", min(settings.warp_memory_bytes, chunk_bits // 8), f"{chunk_bits // 8} bytes"))
    if settings.way is Way.ARRAY:
        arrays = source_pixels * bands * working + destination_bytes
        terms.append(Term("arrays", arrays, "source array and one more copy of the destination"))
    if settings.masked:
        terms.append(Term("mask", 2 * destination.pixels * destination.bands, "one byte a pixel, read and kept"))
    if settings.remote:
        terms.append(Term("remote cache", 16 * MIB, "CPL_VSIL_CURL_CACHE_SIZE"))
    terms.append(Term("fixed", FIXED, "small allocations"))
    return Estimate(tuple(terms), factor, tuple(notes))


def _touched(header: Header, window: SourceWindow, bands: int) -> int:
    def side(length: int, block: int, whole: int) -> int:
        return min((-(-length // block) + 1) * block, -(-whole // block) * block)

    pixels = side(window.width, header.block_width, window.level_width)
    pixels *= side(window.height, header.block_height, window.level_height)
    return pixels * sum(itemsize(dtype) for dtype in header.dtypes[:bands])
