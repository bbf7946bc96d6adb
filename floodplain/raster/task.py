"""One raster task: what is read, what is made, and by which way through GDAL. Sizes in pixels and bytes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from floodplain.quantity import MIB


class Way(StrEnum):
    """How pixels get from the source to the destination; it decides which copies exist at the peak."""

    VRT = "vrt"
    """A read of rasterio.vrt.WarpedVRT."""
    BAND = "band"
    """rasterio.warp.reproject from rasterio.band(...) into an array."""
    ARRAY = "array"
    """The source is read into an array, then rasterio.warp.reproject from array to array."""
    READ = "read"
    """A read without a warp, perhaps decimated (out_shape)."""


@dataclass(frozen=True)
class SourceWindow:
    """What is read of the source, in pixels of the level that is read (the full raster or an overview)."""

    column: int
    row: int
    width: int
    height: int
    decimation: int
    """1: full resolution; otherwise the factor of the overview."""
    level_width: int
    level_height: int
    """The whole level."""

    @property
    def pixels(self) -> int:
        return self.width * self.height


@dataclass(frozen=True)
class Destination:
    """What is made: an array of `bands` x `height` x `width`."""

    width: int
    height: int
    bands: int
    dtype: str

    @property
    def pixels(self) -> int:
        return self.width * self.height


@dataclass(frozen=True)
class GdalSettings:
    """Everything a peak depends on beside the pixels. Bytes, never GDAL's bare numbers."""

    cache_bytes: int = 64 * MIB
    """GDAL_CACHEMAX of the process."""
    warp_memory_bytes: int = 64 * MIB
    """warp_mem_limit; GDAL's own default is 64 MB."""
    resampling: str = "nearest"
    """rasterio's name: nearest, bilinear, cubic, cubic_spline, lanczos, average, mode ..."""
    threads: int = 1
    """Of one warp (NUM_THREADS)."""
    way: Way = Way.VRT
    masked: bool = False
    """read(masked=True), or the mask is read as well."""
    add_alpha: bool = False
    """WarpedVRT(add_alpha=True)."""
    remote: bool = False
    """Read over the network: GDAL's caches of blocks fetched count too."""
    native_vrt: bool = False
    """The WarpedVRT has the source's resolution and the read shrinks it (out_shape), as rio-tiler does: GDAL then reads
    an overview. Otherwise it has the target's size, and GDAL reads full resolution whatever overviews there are."""
