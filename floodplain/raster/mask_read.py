"""What a masked read adds: masks of bytes, the conversion to booleans, and what GDAL needs to make them. Pure.

Measured with allocations traced in rasterio 1.4.4 (docs/how-we-size-rasters.md): `read(masked=True)` holds the values
and, a byte for each pixel and band, the mask that GDAL gives, its boolean and its inverse.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from floodplain.raster.header import Header
from floodplain.raster.pixel_size import itemsize
from floodplain.raster.task import Destination, GdalSettings, Way

COPIES = 3
"""Of the mask: as GDAL gives it, as booleans, inverted."""


class MaskKind(StrEnum):
    """Where the mask comes from."""

    NONE = "every pixel is valid"
    NODATA = "nodata"
    ALPHA = "alpha"
    DATASET = "a mask of the dataset"


@dataclass(frozen=True)
class MaskRead:
    """Bytes of the two moments of a masked read."""

    kind: MaskKind
    made_bytes: int
    """While GDAL makes the mask of the last band: masks so far and a band's values to compare."""
    kept_bytes: int
    """While it becomes an array of booleans."""


def mask_kind(header: Header, settings: GdalSettings) -> MaskKind:
    """GDAL's order: nodata, the dataset's mask, alpha. A WarpedVRT does not hand on the mask of its source.

    An alpha band is a mask only as the last of 2 or 4 bands, and of uint8 or uint16 (GDALRasterBand::GetMaskBand).
    """
    if settings.add_alpha and settings.way is Way.VRT:
        return MaskKind.ALPHA if _alpha_masks(header.bands + 1, header.dtypes[0]) else MaskKind.NONE
    if any(value is not None for value in header.nodata):
        return MaskKind.NODATA
    if header.dataset_mask:
        return MaskKind.NONE if settings.way is Way.VRT else MaskKind.DATASET
    last = header.bands in header.alpha_bands
    return MaskKind.ALPHA if last and _alpha_masks(header.bands, header.dtypes[-1]) else MaskKind.NONE


def _alpha_masks(bands: int, dtype: str) -> bool:
    return bands in {2, 4} and dtype in {"uint8", "uint16"}


def mask_read(header: Header, destination: Destination, settings: GdalSettings) -> MaskRead:
    """For an array of the destination's size."""
    kind = mask_kind(header, settings)
    if kind is MaskKind.NONE or not settings.masked:
        return MaskRead(kind, 0, 0)
    mask = destination.pixels * destination.bands
    # GDALNoDataMaskBand reads one band as 8, 32 or 64 bit numbers, whichever holds the band's values.
    size = max(map(itemsize, header.dtypes))
    compared = (1 if size == 1 else max(4, min(size, 8))) * destination.pixels if kind is MaskKind.NODATA else 0
    return MaskRead(kind, mask + compared, COPIES * mask)
