"""The moments of a masked read, after its values were read. Pure. What masks cost by themselves is `mask_read`'s."""

from __future__ import annotations

import math

from floodplain.raster.block_cache import blocks
from floodplain.raster.mask_read import MaskKind, mask_read
from floodplain.raster.pixel_size import itemsize
from floodplain.raster.task import SourceWindow, Way
from floodplain.raster.task_buffers import (
    RasterTask,
    block_term,
    cache_terms,
    chunk_term,
    destination_term,
    kept_term,
    torn_term,
    vrt_blocks_bytes,
)
from floodplain.raster.terms import Term
from floodplain.raster.warp_chunk import VRT_BLOCK


def masking(task: RasterTask) -> list[list[Term]]:
    """While the mask of the last band is made, and while it becomes booleans."""
    mask = mask_read(task.header, task.destination, task.settings)
    if not mask.kept_bytes or task.settings.way not in {Way.READ, Way.VRT}:
        return []
    others, again = _warped_again(task, mask.kind)
    beside: list[Term] = []
    if mask.kind is MaskKind.ALPHA and (_decimated(task) or task.settings.way is Way.READ):
        others, beside = _at_full_resolution(task)
    held = [destination_term(task, 1.0), *cache_terms(task, others), *beside]
    if task.chunk is not None:
        held.append(kept_term(task.chunk))
    made = Term("mask", mask.made_bytes, f"a byte a pixel and band ({mask.kind}), and what it is compared with")
    kept = Term("mask", mask.kept_bytes, f"a byte a pixel and band ({mask.kind}), as given, as boolean and inverted")
    return [[*held, *again, made], [*held, kept]]


def _warped_again(task: RasterTask, kind: MaskKind) -> tuple[int, list[Term]]:
    """Bytes of blocks that a warped VRT caches for its mask, and the buffers of that warp."""
    if task.settings.way is not Way.VRT or task.chunk is None:
        return 0, []
    if kind is MaskKind.NODATA and task.destination.bands == 1:
        return 0, [chunk_term(task.chunk, 1, 0, "once more, for the mask")]
    # One band is asked of a dataset of several: by blocks, and a block is warped in all bands.
    alone = kind is MaskKind.ALPHA and not task.settings.add_alpha
    cached, block = vrt_blocks_bytes(task, 1 if alone else task.destination.bands), block_term(task)
    if not task.settings.add_alpha:
        return cached, [block]
    return cached, [block, torn_term(task, cache_terms(task, cached)[0], block)]


def _at_full_resolution(task: RasterTask) -> tuple[int, list[Term]]:
    """Bytes of blocks that alpha's masks cache, and what is held beside the cache.

    Neither the mask of the alpha band itself (all valid) nor bytes made of a wider alpha (GDALRescaledAlphaBand) have
    overviews: their blocks are those of full resolution.
    """
    header, size = task.header, itemsize(task.destination.dtype)
    wide = max(map(itemsize, header.dtypes)) > 1
    full = tuple(map(_full, task.windows))
    source = blocks(header, full, 1, with_mask=False)
    if task.settings.way is Way.VRT:
        # In the blocks of the VRT; beside a wider alpha, or one that is made, all bands are.
        each = task.destination.bands * size + wide if wide or task.settings.add_alpha else 1
        cached = sum(_in_blocks(window, VRT_BLOCK) for window in full) * each
    else:
        cached = (2 if wide else 1) * source.count * header.block_width * header.block_height
    if not (wide and _decimated(task)):
        return cached, []
    cached += source.touched_bytes
    decoding = Term("mask decoding", source.buffer_bytes, "one block of full resolution")
    return cached, [decoding, torn_term(task, cache_terms(task, cached)[0])]


def _decimated(task: RasterTask) -> bool:
    return any(window.decimation > 1 for window in task.windows)


def _full(window: SourceWindow) -> SourceWindow:
    """A window of an overview at full resolution."""
    factor = window.decimation
    return SourceWindow(
        window.column * factor,
        window.row * factor,
        window.width * factor,
        window.height * factor,
        1,
        window.level_width * factor,
        window.level_height * factor,
    )


def _in_blocks(window: SourceWindow, block: tuple[int, int]) -> int:
    """Pixels of a window in whole blocks."""
    across, down = math.ceil(window.width / block[0]), math.ceil(window.height / block[1])
    return across * block[0] * down * block[1]
