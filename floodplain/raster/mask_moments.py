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
    """A masked read, after its values were read."""
    mask = mask_read(task.header, task.destination, task.settings)
    if not mask.kept_bytes or task.settings.way not in {Way.READ, Way.VRT}:
        return []
    others = 0
    again: list[Term] = []
    held: list[Term] = []
    if task.settings.way is Way.VRT and task.chunk is not None:
        if mask.kind is MaskKind.NODATA and task.destination.bands == 1:
            again = [chunk_term(task.chunk, 1, 0, "once more, for the mask")]
        else:
            # One band is asked of a dataset of several: by blocks, and a block is warped in all bands.
            alone = mask.kind is MaskKind.ALPHA and not task.settings.add_alpha
            others = vrt_blocks_bytes(task, 1 if alone else task.destination.bands)
            again = [block_term(task)]
            if task.settings.add_alpha:
                again.append(torn_term(task, cache_terms(task, others)[0], again[0]))
    wide = max(map(itemsize, task.header.dtypes)) > 1
    decimated = any(window.decimation > 1 for window in task.windows)
    if mask.kind is MaskKind.ALPHA and (decimated or task.settings.way is Way.READ):
        # Neither the mask of the alpha band itself (all valid) nor bytes made of a wider alpha (GDALRescaledAlphaBand)
        # have overviews: their blocks are those of full resolution.
        full = tuple(map(_full, task.windows))
        source = blocks(task.header, full, 1, with_mask=False)
        if task.settings.way is Way.VRT:
            # In the blocks of the VRT; beside a wider alpha, or one that is made, all bands are.
            whole = wide or task.settings.add_alpha
            each = task.destination.bands * itemsize(task.destination.dtype) + wide if whole else 1
            others = sum(_in_blocks(window, VRT_BLOCK) for window in full) * each
        else:
            others = (2 if wide else 1) * source.count * task.header.block_width * task.header.block_height
        if wide and decimated:
            others += source.touched_bytes
            held.append(Term("mask decoding", source.buffer_bytes, "one block of full resolution"))
            held.append(torn_term(task, cache_terms(task, others)[0]))
    held = [destination_term(task, 1.0), *cache_terms(task, others), *held]
    if task.chunk is not None and task.chunk.count > 1:
        held.append(kept_term(task.chunk))
    made = Term("mask", mask.made_bytes, f"a byte a pixel and band ({mask.kind}), and what it is compared with")
    kept = Term("mask", mask.kept_bytes, f"a byte a pixel and band ({mask.kind}), as given, as boolean and inverted")
    return [[*held, *again, made], [*held, kept]]


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
