"""What one raster task will hold at its peak: terms that add up, each with its arithmetic.

Pure: no GDAL, no numpy. The peak is marginal: memory beyond what a worker holds that has loaded its libraries and has
warped once. A task has several moments (source array read, last chunk warped, mask made ...); each is a list of terms,
and the estimate is the greatest of them. Where each term comes from: docs/how-we-size-rasters.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from floodplain.quantity import KIB, MIB
from floodplain.raster.block_cache import Blocks, blocks
from floodplain.raster.header import Header
from floodplain.raster.mask_read import MaskKind, mask_read
from floodplain.raster.pixel_size import array_dtype, itemsize
from floodplain.raster.task import Destination, GdalSettings, SourceWindow, Way
from floodplain.raster.terms import Estimate, Term
from floodplain.raster.warp_chunk import VRT_BLOCK, Chunk, largest_chunk, pixel_cost, vrt_block

FIXED = 3 * MIB // 4
"""Handles, the transformer's tables, PROJ's pages of a CRS not used before, Python's objects, what the allocator rounds
up. Measured by benchmarks/raster_warps.py: tasks below 20 MiB hold -0.7 to 1.1 MiB more than the other terms."""
THREAD = 2 * MIB
"""Of a further thread: its own clone of the transformer with a PROJ context, the touched part of its stack, a malloc
arena. Measured by benchmarks/raster_warps.py: 0.3 to 2.5 MiB."""
THREAD_PIXELS = 65_536
"""Of a chunk to one thread at least: GDAL starts no more (GWKRun in alg/gdalwarpkernel.cpp)."""
MASK_HANDLES = MIB
"""What GDAL opens for masks. Measured by benchmarks/raster_warps.py: 0.5 to 2 MiB."""
HEAP = 32 * MIB
"""The most that glibc's dynamic threshold for mmap becomes on 64 bits (mallopt(3), M_MMAP_THRESHOLD)."""
CURL_CACHE = 16_384_000
"""CPL_VSIL_CURL_CACHE_SIZE: fetched parts of remote files, one cache a process."""
CURL = 4 * MIB
"""libcurl with its TLS library, its connections and their buffers, in a process that had not used them. Measured by
benchmarks/raster_warps.py."""
RAW_BLOCKS = 10 * MIB
"""GDAL_MAX_RAW_BLOCK_CACHE_SIZE: compressed blocks that the GTiff driver fetches ahead of one read."""


@dataclass(frozen=True)
class _Task:
    """What the moments are computed from."""

    header: Header
    windows: tuple[SourceWindow, ...]
    destination: Destination
    settings: GdalSettings
    bands: int
    read: Blocks
    chunk: Chunk | None

    @property
    def destination_bytes(self) -> int:
        return self.destination.pixels * self.destination.bands * itemsize(self.destination.dtype)


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
    """The marginal peak of reading `windows` into `destination`.

    `windows` have the resampling's halo already; `source_bands` where not all bands are read, the first ones. Raises
    RuleError for an unknown dtype or resampling.
    """
    destination = replace(destination, dtype=array_dtype(destination.dtype))
    bands = min(header.bands, header.bands if source_bands is None else source_bands)
    chunk = None
    if settings.way is not Way.READ:
        chunk = largest_chunk(pixel_cost(header, bands, destination, settings), windows, destination, settings)
    masks = header.dataset_mask and (settings.masked or settings.way in {Way.VRT, Way.BAND})
    read = blocks(header, windows, bands, with_mask=masks)
    task = _Task(header, tuple(windows), destination, settings, bands, read, chunk)
    moments = [*_reading(task), *_warping(task), *_masking(task)]
    terms = max(moments, key=lambda terms: sum(term.bytes for term in terms))
    terms = [term for term in [*terms, *_always(task)] if term.bytes]
    return Estimate(tuple(terms), factor, tuple(notes))


def _reading(task: _Task) -> list[list[Term]]:
    """A read without a warp, or the source array's read before one."""
    if task.settings.way is Way.READ:
        return [[_destination(task, 1.0), *_cache(task)]]
    if task.settings.way is Way.ARRAY:
        return [[*_source_arrays(task, 1), *_cache(task)]]
    return []


def _warping(task: _Task) -> list[list[Term]]:
    """While the last chunk is warped, and while it is written into the destination array.

    An array of numpy.zeros or numpy.empty takes memory as it is written, chunk by chunk.
    """
    chunk, settings = task.chunk, task.settings
    if chunk is None:
        return []
    arrays = _source_arrays(task, 2) if settings.way is Way.ARRAY else []
    if settings.way is Way.VRT and _by_blocks(task, chunk):
        cache = _cache(task, _vrt_blocks(task, task.destination.bands))
        return [[_destination(task, 1.0), *cache, _block(task), _torn(cache[0])]]
    # reproject warps with GDALChunkAndWarpMulti when it has threads: one chunk is read while another is warped.
    flying = 2 if settings.way is not Way.VRT and settings.threads > 1 and chunk.count > 1 else 1
    cache = _cache(task)
    if settings.way is Way.VRT and task.header.alpha_bands:
        # The alpha of a chunk is written into the VRT's own blocks. One on an edge is warped first, in all bands.
        cache = [*_cache(task, _vrt_blocks(task, 1) + _edge_blocks(task)), _block(task)]
    if _straight(task, chunk):
        return [[*arrays, _destination(task, 1.0), *cache, _chunk(chunk, 1, 0, "straight into the destination")]]
    # Chunks side by side touch every page of the array's rows before the last is warped.
    before = max(0.0, 1 - flying / chunk.count) if chunk.width == task.destination.width or chunk.count == 1 else 1.0
    kept = _kept(chunk)
    return [
        [*arrays, _destination(task, before), *cache, _chunk(chunk, flying, flying, "the last is warped"), kept],
        [*arrays, _destination(task, 1.0), *cache, _chunk(chunk, flying - 1, flying, "the last is written"), kept],
    ]


def _masking(task: _Task) -> list[list[Term]]:
    """A masked read, after its values were read."""
    mask = mask_read(task.header, task.destination, task.settings)
    if not mask.kept_bytes or task.settings.way not in {Way.READ, Way.VRT}:
        return []
    others, again = 0, []
    if task.settings.way is Way.VRT and task.chunk is not None:
        if mask.kind is MaskKind.NODATA and task.destination.bands == 1:
            again = [_chunk(task.chunk, 1, 0, "once more, for the mask")]
        else:
            # One band is asked of a dataset of several: by blocks, and a block is warped in all bands.
            alone = mask.kind is MaskKind.ALPHA and not task.settings.add_alpha
            others = _vrt_blocks(task, 1 if alone else task.destination.bands)
            again = [_block(task)]
            if task.settings.add_alpha:
                again.append(_torn(_cache(task, others)[0]))
    elif mask.kind is MaskKind.ALPHA:
        # The mask of the alpha band itself has blocks of its own, and so has one made of a wider alpha.
        wide = max(map(itemsize, task.header.dtypes)) > 1
        others = (2 if wide else 1) * task.read.count * task.header.block_width * task.header.block_height
    wide = max(map(itemsize, task.header.dtypes)) > 1
    decimated = any(window.decimation > 1 for window in task.windows)
    if mask.kind is MaskKind.ALPHA and decimated:
        full = _full(task.windows)
        if task.settings.way is Way.VRT:
            # The mask is made at full resolution, in the blocks of the VRT; of a wider alpha all bands are.
            each = task.destination.bands * itemsize(task.destination.dtype) + 1 if wide else 1
            others = sum(_in_blocks(window, VRT_BLOCK) for window in full) * each
        else:
            others *= max(window.decimation for window in task.windows) ** 2
        if wide:
            # GDAL makes bytes of it (GDALRescaledAlphaBand), out of the source at full resolution.
            source = blocks(task.header, full, task.bands, with_mask=False)
            others += source.touched_bytes
            again.append(Term("mask decoding", source.buffer_bytes, "one block of full resolution"))
    held = [_destination(task, 1.0), *_cache(task, others)]
    if task.chunk is not None and task.chunk.count > 1:
        held.append(_kept(task.chunk))
    made = Term("mask", mask.made_bytes, f"a byte a pixel and band ({mask.kind}), and what it is compared with")
    kept = Term("mask", mask.kept_bytes, f"a byte a pixel and band ({mask.kind}), as given, as boolean and inverted")
    return [[*held, *again, made], [*held, kept]]


def _full(windows: Sequence[SourceWindow]) -> tuple[SourceWindow, ...]:
    """Windows of overviews at full resolution."""
    return tuple(
        SourceWindow(
            window.column * window.decimation,
            window.row * window.decimation,
            *(window.width * window.decimation, window.height * window.decimation, 1),
            *(window.level_width * window.decimation, window.level_height * window.decimation),
        )
        for window in windows
    )


def _in_blocks(window: SourceWindow, block: tuple[int, int]) -> int:
    """Pixels of a window in whole blocks."""
    across, down = math.ceil(window.width / block[0]), math.ceil(window.height / block[1])
    return across * block[0] * down * block[1]


def _always(task: _Task) -> list[Term]:
    terms = [Term("fixed", FIXED, "handles, transformer, PROJ, rounding of the allocator")]
    pixels = task.chunk.width * task.chunk.height if task.chunk else 0
    more = min(task.settings.threads, pixels // THREAD_PIXELS) - 1
    if more > 0:
        terms.append(Term("threads", more * THREAD, f"{more} more than one, {_size(THREAD)} each"))
    elif task.settings.threads > 1 and task.settings.way in {Way.BAND, Way.ARRAY}:
        # GDALChunkAndWarpMulti reads in a thread of its own, however small the task is.
        terms.append(Term("threads", THREAD // 2, "one that reads"))
    if mask_read(task.header, task.destination, task.settings).kept_bytes:
        terms.append(Term("mask handles", MASK_HANDLES, "what GDAL opens for masks"))
    if task.settings.remote:
        # As decoding takes it: a codec halves.
        fetched = task.read.touched_bytes // (2 if task.header.compression else 1)
        cached = CURL + min(CURL_CACHE, fetched) + min(RAW_BLOCKS, fetched)
        why = (
            f"libcurl {_size(CURL)}, parts fetched, at most {_size(CURL_CACHE)}, raw blocks at most {_size(RAW_BLOCKS)}"
        )
        terms.append(Term("remote cache", cached, why))
    return terms


def _destination(task: _Task, share: float) -> Term:
    whole, destination = task.destination_bytes, task.destination
    why = f"{destination.width} x {destination.height} px x {destination.bands} bands of {destination.dtype}"
    return Term("destination", math.ceil(whole * share), why if share == 1.0 else f"{why}, {share:.0%} written so far")


def _cache(task: _Task, others: int = 0) -> list[Term]:
    limit, read = task.settings.cache_bytes, task.read
    why = f"{read.count} blocks touched are {_size(read.touched_bytes)}"
    why += f", those of the warped VRT {_size(others)}" if others else ""
    return [
        Term("block cache", read.cached(limit, others), f"{why}; the cache has {_size(limit)}"),
        Term("decoding", read.buffer_bytes, "one block beside the cache while it is decoded"),
    ]


def _source_arrays(task: _Task, copies: int) -> list[Term]:
    pixels = sum(window.pixels for window in task.windows)
    size = pixels * sum(itemsize(array_dtype(dtype)) for dtype in task.header.dtypes[: task.bands])
    why = f"{pixels} px x {task.bands} bands"
    return [Term("source array", copies * size, why if copies == 1 else f"{why}, and rasterio's copy of it for GDAL")]


def _chunk(chunk: Chunk, sources: int, destinations: int, when: str) -> Term:
    masks = chunk.mask_bytes * max(sources, destinations)
    size = sources * chunk.source_bytes + destinations * chunk.destination_bytes + masks
    what = f"1 of {chunk.count} chunks of {chunk.width} x {chunk.height} px"
    return Term("warp chunk", size, f"{what}, {when}: {sources} x source, {destinations} x destination, masks")


def _kept(chunk: Chunk) -> Term:
    """What malloc keeps of earlier chunks: glibc takes buffers below 32 MiB from the heap once one was freed, and a
    cached block above a freed buffer keeps the heap from shrinking."""
    size = chunk.source_bytes if chunk.count > 1 and chunk.source_bytes < HEAP else 0
    return Term(
        "allocator", size, f"the source buffer of an earlier chunk, kept by malloc as it is below {_size(HEAP)}"
    )


def _torn(cache: Term) -> Term:
    """Holes between blocks of 64 KiB, which come from the heap, and the buffers of their warps. Measured: an eighth to
    a quarter of the cache (benchmarks/raster_warps.py)."""
    return Term("allocator", cache.bytes // 4, "holes in the heap, a quarter of the block cache")


def _block(task: _Task) -> Term:
    """The buffers of a warp of one block of a warped VRT."""
    width, height = vrt_block(task.destination)
    one = Destination(width, height, task.destination.bands, task.destination.dtype)
    share = one.pixels / task.destination.pixels
    pixels = sum(window.pixels for window in task.windows) * share
    cost = pixel_cost(task.header, task.bands, one, task.settings)
    size = pixels * (cost.values + cost.source_mask) + one.pixels * (cost.values + cost.destination_mask)
    return Term("warp block", math.ceil(size), f"one block of the warped VRT, {width} x {height} px")


def _vrt_blocks(task: _Task, bands: int) -> int:
    width, height = vrt_block(task.destination)
    count = math.ceil(task.destination.width / width) * math.ceil(task.destination.height / height)
    return count * width * height * bands * itemsize(task.destination.dtype)


def _edge_blocks(task: _Task) -> int:
    """Of the bands beside alpha, the blocks that reach over the right or the lower edge."""
    width, height = vrt_block(task.destination)
    across, down = task.destination.width / width, task.destination.height / height
    right = math.ceil(down) if across % 1 else 0
    lower = math.ceil(across) if down % 1 else 0
    others = (task.destination.bands - 1) * itemsize(task.destination.dtype)
    return (right + lower - (1 if right and lower else 0)) * width * height * others


def _by_blocks(task: _Task, chunk: Chunk) -> bool:
    """Whether a warped VRT is read block by block through the cache: not all of its bands are wanted, it has an alpha
    band that is not warped but made, or the chunks became as small as blocks."""
    if task.settings.add_alpha or task.bands < task.header.bands:
        return True
    return chunk.count > 1 and (chunk.width <= VRT_BLOCK[0] or chunk.height <= VRT_BLOCK[1])


def _straight(task: _Task, chunk: Chunk) -> bool:
    """Whether the warp writes where the result is wanted, without a buffer of its own."""
    same = set(task.header.dtypes) == {task.destination.dtype}
    return task.settings.way is Way.VRT and chunk.count == 1 and same


def _size(size: int) -> str:
    return f"{size / MIB:.1f} MiB" if size >= MIB else f"{size / KIB:.0f} KiB"
