"""Which overview of a raster a tile is warped from: so many pixels and no more are read. Pure but for PROJ."""

from __future__ import annotations

from dataclasses import replace

from floodplain.raster.header import Header
from floodplain.raster.overview_choice import decimation_asked, overview_read
from floodplain.raster.target import complete, native_size
from mosaic.settings import WARP_SETTINGS
from mosaic.tiles import Tile


def level_header(tile: Tile, header: Header) -> tuple[int | None, Header]:
    """Number of the overview, as `rasterio.open(overview_level=)` counts, and the header as it then is.

    None where the full raster is read. Taken from an overview by name, since GDAL takes none by itself when it warps
    from a band.
    """
    grid = complete(tile.target, header)
    asked = decimation_asked(*native_size(header, grid.crs, grid.bounds), grid.width, grid.height)
    factor = overview_read(header.overviews, asked, WARP_SETTINGS.resampling)
    if factor == 1:
        return None, header
    width, height = -(-header.width // factor), -(-header.height // factor)
    across, down = header.width / width, header.height / height
    a, b, c, d, e, f = header.transform
    transform = (a * across, b * down, c, d * across, e * down, f)
    coarser = tuple(one // factor for one in header.overviews if one > factor)
    made = replace(header, width=width, height=height, transform=transform, overviews=coarser)
    return header.overviews.index(factor), made
