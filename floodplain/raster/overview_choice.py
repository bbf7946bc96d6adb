"""Which level of a raster GDAL reads: the full raster or one of its overviews. As GDAL 3.10 chooses.

Only reads that make fewer pixels than their window has look at overviews. A warp never does: rasterio.warp.reproject
and a WarpedVRT that is made at the size of the target read the full raster, whatever overviews it has (verified:
tests/floodplain/raster/test_overview_choice.py).
"""

from __future__ import annotations

from collections.abc import Sequence

NEAREST = 1.2
"""GDAL_OVERVIEW_OVERSAMPLING_THRESHOLD: how much coarser than asked for an overview may be, for nearest ..."""
EXACT = 1.0
"""... and for all other resamplings."""
EXACT_WARPED = 1.01
"""The same of a warped VRT."""
SLACK = 0.1
"""Added by reads of bands, against numerical noise; also by the second look of a warped VRT that found none."""


def decimation_asked(width: float, height: float, out_width: int, out_height: int) -> float:
    """Pixels of the window per pixel made, of the axis that shrinks less (GDALBandGetBestOverviewLevel2)."""
    across, down = width / out_width, height / out_height
    return across if across < down or out_height == 1 else down


def overview_read(overviews: Sequence[int], asked: float, resampling: str, *, warped: bool = False) -> int:
    """The factor of the overview that is read, or 1. `warped`: through a WarpedVRT at the source's own resolution."""
    if asked <= 1:
        return 1
    nearest = resampling == "nearest"
    if warped:
        limit = asked * (NEAREST if nearest else EXACT_WARPED)
        found = max((factor for factor in overviews if factor < limit), default=1)
        if found > 1:
            return found
    limit = asked * (NEAREST if nearest else EXACT) + SLACK
    return max((factor for factor in overviews if factor < limit), default=1)
