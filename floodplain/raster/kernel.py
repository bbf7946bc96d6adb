"""How far a resampling kernel reaches beyond the pixel it is for."""

from __future__ import annotations

from floodplain.problem import RuleError, did_you_mean

_RADIUS = {
    "nearest": 0,
    "bilinear": 1,
    "cubic": 2,
    "cubic_spline": 2,
    "lanczos": 3,
    "average": 0,
    "mode": 0,
    "max": 0,
    "min": 0,
    "med": 0,
    "q1": 0,
    "q3": 0,
    "sum": 0,
    "rms": 0,
    "gauss": 0,
}


def radius(resampling: str) -> int:
    """Source pixels on each side, at one source pixel per destination pixel; times the decimation when it shrinks.

    GDAL's kernels (GWKGetFilterRadius in alg/gdalwarpkernel.cpp). Raises RuleError for a name that rasterio's
    `Resampling` does not have.
    """
    name = resampling.lower()
    if name not in _RADIUS:
        remedy = did_you_mean(resampling, _RADIUS) or f"one of {', '.join(_RADIUS)}"
        raise RuleError("is no resampling of rasterio", remedy, (), resampling)
    return _RADIUS[name]
