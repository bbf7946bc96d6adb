"""What GDAL's block cache will hold of a source, and the buffers through which a block gets there. Pure.

The cache is one for the process. It is bounded by GDAL_CACHEMAX, but never smaller than the block that is being read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from floodplain.quantity import MIB
from floodplain.raster.header import Header
from floodplain.raster.pixel_size import itemsize
from floodplain.raster.task import SourceWindow

SLACK_PIXELS = 4
"""GDAL's own source window differs by a few pixels: it transforms a grid of points, with an error of up to 1/8 pixel,
and rounds outwards. Measured by benchmarks/raster_warps.py: with 1 some windows touched one block more."""
ZSTD = MIB // 2
"""Its decoder's tables and buffers ..."""
ZSTD_WINDOW = 4 * MIB
"""... and what it looks back on, at GDAL's default level 9. Measured beside deflate: blocks of 0.25, 1 and 4 MiB hold
0.5, 1.2 and 4.2 MiB more, at level 1 0.5, 0.9 and 1.0 MiB."""

OVERVIEW_TILE = 128
"""GDAL_TIFF_OVR_BLOCKSIZE, where the raster itself has no tiles."""


@dataclass(frozen=True)
class Blocks:
    """Blocks of a source that a task touches."""

    touched_bytes: int
    """All of them, decoded."""
    one_bytes: int
    """Of one block position: all bands of it when they are interleaved by pixel."""
    buffer_bytes: int
    """Beside the cache, while a block is decoded."""
    count: int
    """Block positions."""

    def cached(self, cache_bytes: int, others: int = 0) -> int:
        """Bytes cached at most, with `others` of other datasets wanting their place too."""
        return max(min(cache_bytes, self.touched_bytes + others), self.one_bytes)


def blocks(
    header: Header,
    windows: Sequence[SourceWindow],
    bands: int,
    *,
    with_mask: bool,
    remote: bool = False,
    halo: int = SLACK_PIXELS,
) -> Blocks:
    """What reading `bands` bands of `windows` touches, at the level of the windows.

    Interleaved by pixel, all bands of a block are decoded and cached whichever are wanted (GTiffRasterBand). A mask of
    the dataset is one more band of bytes where it is read, `with_mask`.
    """
    dtypes = header.dtypes if header.pixel_interleaved else header.dtypes[:bands]
    pixel = sum(itemsize(dtype) for dtype in dtypes)
    mask = 1 if with_mask else 0
    positions, pixels, block, partial = 0, 0, 0, False
    for window in windows:
        width, height = _block_of(header, window)
        partial = partial or _reaches_partial(window, height, halo)
        across = _side(window.column, window.width, width, window.level_width, halo)
        down = _side(window.row, window.height, height, window.level_height, halo)
        positions += across * down
        pixels += across * down * width * height
        block = max(block, width * height)
    together = header.pixel_interleaved and header.bands > 1
    one = block * (pixel if header.pixel_interleaved else max(map(itemsize, dtypes)))
    # Bands interleaved by pixel are decoded together and then parted; a lone band is decoded where it is cached.
    # A codec's input is taken as three quarters of what it gives: a block of a photograph. Without a codec libtiff
    # reads straight into the caller's buffer, if that asks for a whole block of a local file (TIFFReadEncodedTile).
    raw = 3 * one // 4 if header.compression else one if partial or remote else 0
    if header.compression == "ZSTD":
        raw += ZSTD + min(one, ZSTD_WINDOW)
    buffers = (one if together else 0) + raw + (2 * block if with_mask else 0)
    return Blocks(pixels * (pixel + mask), one, buffers, positions)


def _block_of(header: Header, window: SourceWindow) -> tuple[int, int]:
    """The header tells blocks of full resolution. GDAL makes overviews of tiled rasters in tiles as large (a small
    level is one padded tile), those of rasters in strips in tiles of OVERVIEW_TILE."""
    if window.decimation > 1 and header.block_width == header.width:
        return OVERVIEW_TILE, OVERVIEW_TILE
    return header.block_width, header.block_height


def _reaches_partial(window: SourceWindow, block_height: int, halo: int) -> bool:
    """Whether it touches the last row of blocks, and that reaches below the raster: GDAL asks for the rows that there
    are only (GTiffRasterBand::IReadBlock)."""
    whole = window.level_height // block_height * block_height
    return whole < window.level_height and window.row + window.height + halo > whole


def _side(start: int, length: int, block: int, whole: int, halo: int) -> int:
    first, last = max(0, start - halo), min(whole, start + length + halo) - 1
    return max(1, last // block - first // block + 1)
