"""Into which chunks GDAL splits a warp, and what one chunk allocates. Pure; not what stays in memory beside it.

The rules are those of GDAL 3.10: `GDALWarpOperation::CollectChunkListInternal` and `WarpRegionToBuffer` in
alg/gdalwarpoperation.cpp, `VRTWarpedDataset::IRasterIO` in frmts/vrt/vrtwarped.cpp.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from floodplain.quantity import MIB
from floodplain.raster.header import Header
from floodplain.raster.kernel import radius
from floodplain.raster.pixel_size import itemsize, widest
from floodplain.raster.placement import UNPLACED, Placement
from floodplain.raster.task import Destination, GdalSettings, SourceWindow, Way
from floodplain.raster.warp_parts import SMALLEST_SIDE, Part, halves_width, parts_of

VRT_BLOCK = (512, 128)
"""Columns and rows of a block of a warped VRT, where the raster is as large."""
HEAP = 32 * MIB
"""The most that glibc's dynamic threshold for mmap becomes on 64 bits (mallopt(3), M_MMAP_THRESHOLD)."""


@dataclass(frozen=True)
class PixelCost:
    """Bytes of one pixel in the buffers of a warp; masks are fractions of a byte."""

    values: int
    """Of all bands in the working type: that of the source buffer and of the destination buffer."""
    source_mask: float
    destination_mask: float
    scratch: float
    """Of a source pixel, while masks are made."""


@dataclass(frozen=True)
class Chunk:
    """The largest piece that is warped at once."""

    width: int
    height: int
    count: int
    """Pieces in all."""
    source_bytes: int
    """Source pixels with their masks."""
    source_mask_bytes: int
    """Of them the masks."""
    destination_bytes: int
    """Destination pixels without masks."""
    mask_bytes: int
    """Masks of the destination."""
    kept_bytes: int = 0
    """Of source buffers of earlier pieces, what malloc keeps: glibc takes buffers below HEAP from the heap once one was
    freed, and a cached block above a freed buffer keeps the heap from shrinking."""
    small_pixels: int = 0
    """Of the destination, in pieces of a warped VRT that are as small as its blocks beside this one that is not: they
    are read through the cache."""


def pixel_cost(header: Header, bands: int, destination: Destination, settings: GdalSettings) -> PixelCost:
    """What the warp keeps for each pixel: 4 bytes (a float density) for an alpha band on each side that has one, a bit
    a band for nodata, a bit for a mask of the dataset.

    rasterio takes the source's alpha band as such only in a WarpedVRT: `reproject` warps it as one more band.
    """
    # GDAL's union of types begins with uint8, so that int8 is warped as int16.
    working = itemsize(widest(("uint8", *header.dtypes[:bands], destination.dtype)))
    alpha = settings.way is Way.VRT and any(number <= bands for number in header.alpha_bands)
    nodata = bands / 8 if any(value is not None for value in header.nodata) else 0.0
    masked = header.dataset_mask and settings.way is not Way.ARRAY and not alpha
    source_mask = nodata + (4 if alpha else 1 / 8 if masked else 0)
    destination_mask = nodata + (4 if alpha or settings.add_alpha else 0)
    # GDALWarpSrcMaskMasker reads the mask as bytes before it makes bits of it; nodata has one more mask for all bands.
    scratch = (1 if masked else 0) + (1 / 8 if nodata else 0)
    return PixelCost(working * bands, source_mask, destination_mask, scratch)


def largest_chunk(
    cost: PixelCost,
    windows: Sequence[SourceWindow],
    destination: Destination,
    settings: GdalSettings,
    placement: Placement = UNPLACED,
) -> Chunk:
    """The destination's longer side is halved until source and destination pixels with masks fit `warp_memory_bytes`.

    A part of the destination needs the same part of the source window, and the kernel's halo on each side of it. A
    side of 2 pixels is not split, so that one chunk may exceed the limit. `reproject` also halves what reaches mostly
    beyond the source, as `placement` tells.
    """
    parts = [Part(tuple(windows), destination.width, destination.height)]
    if placement.corners is not None and len(windows) == 1:
        fits = partial(_fits, cost, settings)
        parts = parts_of(windows[0], destination, settings, placement.corners, fits)
    chunks = [_halved(cost, part, settings, placement.even) for part in parts]
    pairs = list(zip(parts, chunks, strict=True))
    at_once = pairs
    if settings.way is Way.VRT and len(pairs) > 1:
        at_once = [(part, chunk) for part, chunk in pairs if not as_small_as_blocks(chunk)] or pairs
    largest = max(
        (chunk for _, chunk in at_once),
        key=lambda chunk: chunk.source_bytes + chunk.destination_bytes + chunk.mask_bytes,
    )
    small = destination.pixels - sum(part.width * part.height for part, _ in at_once)
    count = sum(chunk.count for chunk in chunks)
    kept = max(map(_heap_bytes, chunks)) if count > 1 else 0
    return replace(largest, count=count, kept_bytes=kept, small_pixels=small)


def _heap_bytes(chunk: Chunk) -> int:
    buffers = (chunk.source_bytes - chunk.source_mask_bytes, chunk.source_mask_bytes)
    return sum(buffer for buffer in buffers if buffer < HEAP)


def as_small_as_blocks(chunk: Chunk) -> bool:
    """Of a warped VRT."""
    return chunk.width <= VRT_BLOCK[0] or chunk.height <= VRT_BLOCK[1]


def _fits(cost: PixelCost, settings: GdalSettings, part: Part) -> bool:
    pixels = sum(window.pixels for window in part.windows)
    return _asked(cost, pixels, part.width * part.height) <= settings.warp_memory_bytes


def _asked(cost: PixelCost, source_pixels: int, pixels: int) -> float:
    """Bytes that GDAL holds against its limit: both sides with their masks."""
    return source_pixels * (cost.values + cost.source_mask) + pixels * (cost.values + cost.destination_mask)


def _halved(cost: PixelCost, part: Part, settings: GdalSettings, even: bool) -> Chunk:
    """The largest chunk of a part, by memory alone."""
    width, height, count = part.width, part.height, 1
    while True:
        size = (width, height) if even else (part.width, part.height)
        pixels = sum(_source_pixels(window, part, *size, settings) for window in part.windows)
        fits = _asked(cost, pixels, width * height) <= settings.warp_memory_bytes
        if fits or min(width, height) <= SMALLEST_SIDE:
            break
        if halves_width(width, height, settings):
            width = math.ceil(width / 2)
        else:
            height = math.ceil(height / 2)
        count *= 2
    return Chunk(
        width,
        height,
        count,
        math.ceil(pixels * (cost.values + cost.source_mask + cost.scratch)),
        math.ceil(pixels * cost.source_mask),
        width * height * cost.values,
        math.ceil(width * height * cost.destination_mask),
    )


def vrt_block(destination: Destination) -> tuple[int, int]:
    """Columns and rows of a block of a warped VRT of this size."""
    return min(VRT_BLOCK[0], destination.width), min(VRT_BLOCK[1], destination.height)


def _source_pixels(window: SourceWindow, part: Part, width: int, height: int, settings: GdalSettings) -> int:
    across = _share(window.width, part.width, width, settings)
    return across * _share(window.height, part.height, height, settings)


def _share(length: int, whole: int, part: int, settings: GdalSettings) -> int:
    """Of one side of the window, which has its halo already."""
    if part >= whole:
        return length
    halo = math.ceil(radius(settings.resampling) * max(1.0, length / whole))
    return min(length, math.ceil((length - 2 * halo) * part / whole) + 2 * halo)
