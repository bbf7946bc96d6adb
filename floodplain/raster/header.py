"""What the header of a raster says, as plain values. Not how it is read: that is `read_header`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Header:
    """One dataset without its pixels. Tuples of bands are in the order of the bands."""

    width: int
    height: int
    transform: tuple[float, float, float, float, float, float]
    """Of the affine from (column, row) to (x, y), as rasterio orders it: a, b, c, d, e, f with x = a*column + b*row + c
    and y = d*column + e*row + f."""
    crs: str | None
    """As WKT or `EPSG:n`; None where the raster has none."""
    dtypes: tuple[str, ...]
    """rasterio's names: uint8, float32, complex_int16 ..."""
    nodata: tuple[float | None, ...]
    alpha_bands: tuple[int, ...] = ()
    """Numbers of alpha bands, from 1."""
    dataset_mask: bool = False
    """A mask for all bands together, inside the file (a sidecar is not seen with one request)."""
    block_width: int = 256
    block_height: int = 256
    """Of the largest block of any band, in pixels."""
    overviews: tuple[int, ...] = ()
    """Factors of decimation of band 1, ascending: 2, 4, 8 ..."""
    pixel_interleaved: bool = True
    """One block holds all bands."""
    compression: str | None = None
    driver: str = "GTiff"

    @property
    def bands(self) -> int:
        return len(self.dtypes)
