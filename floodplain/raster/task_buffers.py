"""The terms that a moment of a raster task is made of: arrays, blocks, chunks, and what the allocator keeps. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass

from floodplain.quantity import KIB, MIB
from floodplain.raster.block_cache import Blocks
from floodplain.raster.header import Header
from floodplain.raster.pixel_size import array_dtype, itemsize
from floodplain.raster.placement import Placement
from floodplain.raster.task import Destination, GdalSettings, SourceWindow
from floodplain.raster.terms import Term
from floodplain.raster.warp_chunk import HEAP, Chunk, pixel_cost, vrt_block
from floodplain.raster.warp_parts import largest_reach


@dataclass(frozen=True)
class RasterTask:
    """What the moments are computed from."""

    header: Header
    windows: tuple[SourceWindow, ...]
    destination: Destination
    settings: GdalSettings
    bands: int
    with_mask: bool
    """The dataset's mask is read."""
    read: Blocks
    chunk: Chunk | None
    placement: Placement

    @property
    def destination_bytes(self) -> int:
        return self.destination.pixels * self.destination.bands * itemsize(self.destination.dtype)


def destination_term(task: RasterTask, share: float) -> Term:
    whole, destination = task.destination_bytes, task.destination
    why = f"{destination.width} x {destination.height} px x {destination.bands} bands of {destination.dtype}"
    return Term("destination", math.ceil(whole * share), why if share == 1.0 else f"{why}, {share:.0%} written so far")


def cache_terms(task: RasterTask, others: int = 0) -> list[Term]:
    limit, read = task.settings.cache_bytes, task.read
    why = f"{read.count} blocks touched are" if read.count != 1 else "1 block touched is"
    why += f" {size_of(read.touched_bytes)}"
    why += f", those of the warped VRT {size_of(others)}" if others else ""
    return [
        Term("block cache", read.cached(limit, others), f"{why}; the cache has {size_of(limit)}"),
        Term("decoding", read.buffer_bytes, "one block beside the cache while it is decoded"),
    ]


def source_terms(task: RasterTask, copies: int) -> list[Term]:
    pixels = sum(window.pixels for window in task.windows)
    size = pixels * sum(itemsize(array_dtype(dtype)) for dtype in task.header.dtypes[: task.bands])
    why = f"{pixels} px x {task.bands} bands"
    return [Term("source array", copies * size, why if copies == 1 else f"{why}, and rasterio's copy of it for GDAL")]


def chunk_term(chunk: Chunk, sources: int, destinations: int, when: str) -> Term:
    masks = chunk.mask_bytes * max(sources, destinations)
    size = sources * chunk.source_bytes + destinations * chunk.destination_bytes + masks
    which = f"1 of {chunk.count} chunks" if chunk.count != 1 else "one chunk"
    what = f"{which} of {chunk.width} x {chunk.height} px"
    return Term("warp chunk", size, f"{what}, {when}: {sources} x source, {destinations} x destination, masks")


def kept_term(chunk: Chunk) -> Term:
    why = f"the source buffer of an earlier chunk, kept by malloc as it is below {size_of(HEAP)}"
    return Term("allocator", chunk.kept_bytes, why)


def torn_term(task: RasterTask, cache: Term, block: Term | None = None) -> Term:
    """Blocks of 64 KiB and more come from the heap, and so do the buffers of their warps: blocks lie where the buffers
    of earlier warps were. Measured: an eighth to a quarter of the cache, and a block of the source where the cache is
    full; or the buffers of one warp (benchmarks/raster_warps.py)."""
    evicted = task.read.one_bytes if cache.bytes >= task.settings.cache_bytes else 0
    size = max(cache.bytes // 4 + min(evicted, HEAP), min(block.bytes, HEAP) if block else 0)
    return Term("allocator", size, "holes in the heap: a quarter of the block cache, or as much as one block's warp")


def block_term(task: RasterTask) -> Term:
    """The buffers of a warp of one block of a warped VRT."""
    width, height = vrt_block(task.destination)
    one = Destination(width, height, task.destination.bands, task.destination.dtype)
    share = one.pixels / task.destination.pixels if task.placement.even else 1
    pixels = sum(window.pixels for window in task.windows) * share
    corners = task.placement.corners
    if corners is not None:
        pixels = largest_reach(task.windows[0], task.destination, task.settings, corners, (width, height))
    cost = pixel_cost(task.header, task.bands, one, task.settings)
    size = pixels * (cost.values + cost.source_mask + cost.scratch) + one.pixels * (cost.values + cost.destination_mask)
    return Term("warp block", math.ceil(size), f"one block of the warped VRT, {width} x {height} px")


def vrt_blocks_bytes(task: RasterTask, bands: int) -> int:
    width, height = vrt_block(task.destination)
    count = math.ceil(task.destination.width / width) * math.ceil(task.destination.height / height)
    return count * width * height * bands * itemsize(task.destination.dtype)


def edge_blocks_bytes(task: RasterTask) -> int:
    """Of the bands beside alpha, the blocks that reach over the right or the lower edge."""
    width, height = vrt_block(task.destination)
    across, down = task.destination.width / width, task.destination.height / height
    right = math.ceil(down) if across % 1 else 0
    lower = math.ceil(across) if down % 1 else 0
    others = (task.destination.bands - 1) * itemsize(task.destination.dtype)
    return (right + lower - (1 if right and lower else 0)) * width * height * others


def size_of(size: int) -> str:
    return f"{size / MIB:.1f} MiB" if size >= MIB else f"{size / KIB:.0f} KiB"
