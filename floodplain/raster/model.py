"""What one raster task will hold at its peak: terms that add up, each with its arithmetic.

Pure: no GDAL, no numpy. The peak is marginal: memory beyond what a worker holds that has loaded its libraries and has
warped once. A task has several moments (source array read, last chunk warped, mask made ...); each is a list of terms,
and the estimate is the greatest of them. Where each term comes from: docs/how-we-size-rasters.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from floodplain.quantity import MIB
from floodplain.raster.block_cache import blocks
from floodplain.raster.header import Header
from floodplain.raster.mask_moments import masking
from floodplain.raster.mask_read import mask_read
from floodplain.raster.pixel_size import array_dtype, warped_dtype
from floodplain.raster.placement import UNPLACED, Placement
from floodplain.raster.task import Destination, GdalSettings, SourceWindow, Way
from floodplain.raster.task_buffers import (
    RasterTask,
    block_term,
    cache_terms,
    chunk_term,
    destination_term,
    edge_blocks_bytes,
    kept_term,
    size_of,
    source_terms,
    torn_term,
    vrt_blocks_bytes,
)
from floodplain.raster.terms import Estimate, Term
from floodplain.raster.warp_chunk import Chunk, as_small_as_blocks, largest_chunk, pixel_cost

FIXED = 3 * MIB // 8
"""Handles, the transformer's tables, Python's objects, what the allocator rounds up. Measured by
benchmarks/raster_warps.py: tasks below 20 MiB hold -1 to 1 MiB more than the other terms."""
FIXED_READ = MIB // 4
"""The same of a read without a warp."""
DATUM = MIB // 2
"""More where the datum changes: PROJ looks up the operations between both. Measured by the same."""
CLONE = 3 * MIB // 8
"""Of the transformer, for the warped VRT that stands for an overview of another. Measured by the same ..."""
DATUM_CLONE = MIB
"""... and where the datum changes."""
THREAD = MIB
"""Of a further thread: its own clone of the transformer with a PROJ context, the touched part of its stack, a malloc
arena. Measured by benchmarks/raster_warps.py: 0.1 to 1 MiB ..."""
DATUM_THREAD = 2 * MIB
"""... and where the datum changes 1.5 to 2.5 MiB."""
THREAD_PIXELS = 65_536
"""Of a chunk to one thread at least: GDAL starts no more (GWKRun in alg/gdalwarpkernel.cpp). Of the whole destination
here, since pieces of a turned one are hard to tell."""
MASK_HANDLES = MIB // 2
"""What GDAL opens for masks. Measured by benchmarks/raster_warps.py: 0.2 to 1 MiB."""
CURL_CACHE = 16_384_000
"""CPL_VSIL_CURL_CACHE_SIZE: fetched parts of remote files, one cache a process."""
CURL = 7 * MIB // 2
"""libcurl with its TLS library, its connections and their buffers, in a process that had not used them. Measured by
benchmarks/raster_warps.py: 2 to 4 MiB."""
ARRIVING = 20 * MIB
"""Compressed blocks that the GTiff driver fetches ahead of one read, GDAL_MAX_RAW_BLOCK_CACHE_SIZE (10 MiB), and the
buffer in which they arrive. Measured by benchmarks/raster_warps.py: 17 to 21 MiB beside the parts that are cached."""


def estimate_task(
    header: Header,
    windows: Sequence[SourceWindow],
    destination: Destination,
    settings: GdalSettings,
    *,
    placement: Placement = UNPLACED,
    source_bands: int | None = None,
    factor: float = 1.0,
    notes: Sequence[str] = (),
) -> Estimate:
    """The marginal peak of reading `windows` into `destination`.

    `windows` have the resampling's halo already; `placement` is how the destination lies in the source, where that is
    known; `source_bands` where not all bands are read, the first ones. Raises RuleError for an unknown dtype or
    resampling.
    """
    # reproject writes into an array; a WarpedVRT has bands of its own types, and is then read into one.
    dtype = warped_dtype(destination.dtype) if settings.way is Way.VRT else array_dtype(destination.dtype)
    warped = replace(destination, dtype=dtype)
    destination = replace(destination, dtype=array_dtype(dtype))
    bands = min(header.bands, header.bands if source_bands is None else source_bands)
    chunk = None
    if settings.way is not Way.READ:
        cost = pixel_cost(header, bands, warped, settings)
        chunk = largest_chunk(cost, windows, destination, settings, placement)
    masks = header.dataset_mask and (settings.masked or settings.way in {Way.VRT, Way.BAND})
    read = blocks(header, windows, bands, with_mask=masks, remote=settings.remote)
    task = RasterTask(header, tuple(windows), destination, settings, bands, masks, read, chunk, placement)
    moments = [*_reading(task), *_warping(task), *masking(task)]
    terms = max(moments, key=lambda terms: sum(term.bytes for term in terms))
    terms = [term for term in [*terms, *_always(task)] if term.bytes]
    return Estimate(tuple(terms), factor, tuple(notes))


def _reading(task: RasterTask) -> list[list[Term]]:
    """A read without a warp, or the source array's read before one."""
    if task.settings.way is Way.READ:
        return [[destination_term(task, 1.0), *cache_terms(task)]]
    if task.settings.way is Way.ARRAY:
        return [[*source_terms(task, 1), *cache_terms(task)]]
    return []


def _warping(task: RasterTask) -> list[list[Term]]:
    """While the last chunk is warped, and while it is written into the destination array.

    An array of numpy.zeros or numpy.empty takes memory as it is written, chunk by chunk.
    """
    chunk, settings = task.chunk, task.settings
    if chunk is None:
        return []
    arrays = source_terms(task, 2) if settings.way is Way.ARRAY else []
    if settings.way is Way.VRT and _by_blocks(task, chunk):
        return [_block_by_block(task)]
    # reproject warps with GDALChunkAndWarpMulti when it has threads: one chunk is read while another is warped.
    flying = 2 if settings.way is not Way.VRT and settings.threads > 1 and chunk.count > 1 else 1
    cached = math.ceil(vrt_blocks_bytes(task, task.destination.bands) * chunk.small_pixels / task.destination.pixels)
    if settings.way is Way.VRT and task.header.alpha_bands:
        # The alpha of a chunk is written into the VRT's own blocks. One on an edge is warped first, in all bands.
        cached = max(cached, vrt_blocks_bytes(task, 1) + edge_blocks_bytes(task))
    cache = cache_terms(task, cached)
    if _straight(task, chunk):
        straight = chunk_term(chunk, 1, 0, "straight into the destination")
        return [[*arrays, destination_term(task, 1.0), *cache, straight]]
    # Chunks side by side touch every page of the array's rows before the last is warped.
    before = max(0.0, 1 - flying / chunk.count) if chunk.width == task.destination.width or chunk.count == 1 else 1.0
    warped = chunk_term(chunk, flying, flying, "the last is warped")
    written = chunk_term(chunk, flying - 1, flying, "the last is written")
    kept = kept_term(chunk)
    moments = [
        [*arrays, destination_term(task, before), *cache, warped, kept],
        [*arrays, destination_term(task, 1.0), *cache, written, kept],
    ]
    return [*moments, _block_by_block(task)] if chunk.small_pixels else moments


def _block_by_block(task: RasterTask) -> list[Term]:
    """While a warped VRT is read through the cache."""
    cache, block = cache_terms(task, vrt_blocks_bytes(task, task.destination.bands)), block_term(task)
    return [destination_term(task, 1.0), *cache, block, torn_term(task, cache[0], block)]


def _fixed(task: RasterTask) -> Term:
    why, one_datum = "handles, rounding of the allocator", task.placement.one_datum
    if task.settings.way is Way.READ:
        return Term("fixed", FIXED_READ, why)
    size, why = FIXED, f"{why}, transformer"
    if not one_datum:
        size, why = size + DATUM, f"{why}, PROJ between two datums"
    if task.settings.way is Way.VRT and task.settings.native_vrt:
        size, why = size + (CLONE if one_datum else DATUM_CLONE), f"{why}, a clone of it for the overview"
    return Term("fixed", size, why)


def _always(task: RasterTask) -> list[Term]:
    terms = [_fixed(task)]
    each = THREAD if task.placement.one_datum else DATUM_THREAD
    more = max(0, min(task.settings.threads, task.destination.pixels // THREAD_PIXELS) - 1) if task.chunk else 0
    # GDALChunkAndWarpMulti reads in a thread of its own, however small the task is.
    reader = task.settings.threads > 1 and task.settings.way in {Way.BAND, Way.ARRAY}
    why = f"{more} more than one, {size_of(each)} each" + (", and one that reads" if reader else "")
    terms.append(Term("threads", more * each + (each // 2 if reader else 0), why))
    if task.with_mask or mask_read(task.header, task.destination, task.settings).kept_bytes:
        terms.append(Term("mask handles", MASK_HANDLES, "what GDAL opens for masks"))
    if task.settings.remote:
        # One block may not shrink by its codec; all together are taken to shrink by half.
        fetched = task.read.touched_bytes // (2 if task.header.compression else 1)
        cached = CURL + min(CURL_CACHE, fetched) + min(ARRIVING, fetched)
        why = f"libcurl {size_of(CURL)}, parts fetched up to {size_of(CURL_CACHE)}, arriving up to {size_of(ARRIVING)}"
        terms.append(Term("remote cache", cached, why))
    return terms


def _by_blocks(task: RasterTask, chunk: Chunk) -> bool:
    """Whether a warped VRT is read block by block through the cache: not all of its bands are wanted, it has an alpha
    band that is not warped but made, or the chunks became as small as blocks."""
    if task.settings.add_alpha or task.bands < task.header.bands:
        return True
    return chunk.count > 1 and as_small_as_blocks(chunk)


def _straight(task: RasterTask, chunk: Chunk) -> bool:
    """Whether the warp writes where the result is wanted, without a buffer of its own."""
    same = set(map(warped_dtype, task.header.dtypes)) == {task.destination.dtype}
    return task.settings.way is Way.VRT and chunk.count == 1 and same
