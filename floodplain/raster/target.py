"""Where the pixels of a task should lie: a CRS, bounds in it, and a size in pixels. Not which source pixels that needs:
that is `window`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from floodplain.problem import RuleError
from floodplain.raster.header import Header

Bounds = tuple[float, float, float, float]
"""left, bottom, right, top."""


@dataclass(frozen=True)
class Target:
    """A grid to warp to. What is None is taken from the source's header (see `complete`)."""

    crs: str | None = None
    """None: that of the source."""
    bounds: Bounds | None = None
    """left, bottom, right, top in `crs`; left above right crosses the antimeridian, in a geographic CRS. None: all of
    the source."""
    width: int | None = None
    height: int | None = None
    """Pixels; None: as many as keep the source's resolution."""


@dataclass(frozen=True)
class Grid:
    """A target of which everything is known."""

    crs: str | None
    """None only where the source has no CRS either, so that both share an unnamed one."""
    bounds: Bounds
    width: int
    height: int


_MOST_PIXELS = 1e12
"""A side; beyond it bounds were not meant."""


def intersection(one: Bounds, other: Bounds) -> Bounds | None:
    """What both hold; None where that is nothing."""
    left, bottom = max(one[0], other[0]), max(one[1], other[1])
    right, top = min(one[2], other[2]), min(one[3], other[3])
    return (left, bottom, right, top) if left < right and bottom < top else None


def complete(target: Target, header: Header) -> Grid:
    """The target over this source. Where no size is given it is that of gdalwarp: the source's resolution; where one
    side is given the other keeps pixels square.

    Raises RuleError for bounds that hold nothing, a size below 1, an unknown CRS, a source without a CRS or transform.
    """
    from floodplain.raster.crs_boxes import read_crs

    if target.crs is not None and header.crs is None:
        raise RuleError(
            f"the raster has no CRS, so nothing says where {target.crs} lies on it",
            "write its CRS into the raster (rio edit-info --crs), or name none for the target either",
        )
    _check_transform(header)
    crs = target.crs or header.crs
    geographic = crs is not None and bool(read_crs(crs).is_geographic)
    for name, size in (("width", target.width), ("height", target.height)):
        if size is not None and size < 1:
            raise RuleError(f"a {name} of {size} pixels holds nothing", "write 1 or more", value=size)
    bounds = native_grid(header, crs)[2] if target.bounds is None else target.bounds
    _check_bounds(bounds, geographic)
    native_width, native_height = native_size(header, crs, bounds)
    if not max(native_width, native_height) < _MOST_PIXELS:
        rule = f"bounds {bounds} are {native_width:.3g} x {native_height:.3g} pixels of the raster"
        raise RuleError(rule, "write bounds that lie near the raster, in the CRS of the target")
    width, height = target.width, target.height
    if width is None and height is not None:
        width = math.ceil(height * native_width / native_height - 1e-6)
    if height is None and width is not None:
        height = math.ceil(width * native_height / native_width - 1e-6)
    return Grid(
        crs,
        bounds,
        max(1, math.ceil(native_width - 1e-6) if width is None else width),
        max(1, math.ceil(native_height - 1e-6) if height is None else height),
    )


def native_size(header: Header, crs: str | None, bounds: Bounds) -> tuple[float, float]:
    """Pixels of `bounds` at the source's own resolution, as a warp without a size given would make them."""
    across, down, _ = native_grid(header, crs)
    left, bottom, right, top = bounds
    return (right - left if right > left else right - left + 360) / across, (top - bottom) / down


def full_bounds(header: Header) -> Bounds:
    """left, bottom, right, top of the raster in its own CRS, whichever way its rows and columns run."""
    a, b, c, d, e, f = header.transform
    xs = [c + a * column + b * row for column in (0, header.width) for row in (0, header.height)]
    ys = [f + d * column + e * row for column in (0, header.width) for row in (0, header.height)]
    return min(xs), min(ys), max(xs), max(ys)


@lru_cache(maxsize=256)
def native_grid(header: Header, crs: str | None) -> tuple[float, float, Bounds]:
    """Width and height of a pixel, and the bounds, of the whole raster in `crs` at its own resolution."""
    from rasterio._err import CPLE_BaseError
    from rasterio.errors import RasterioError
    from rasterio.transform import array_bounds
    from rasterio.warp import calculate_default_transform

    from floodplain.raster.crs_boxes import read_crs

    a, b, _, d, e, _ = header.transform
    if crs is None or header.crs is None or read_crs(crs) == read_crs(header.crs):
        return math.hypot(a, d), math.hypot(b, e), full_bounds(header)
    try:
        transform, width, height = calculate_default_transform(
            read_crs(header.crs), read_crs(crs), header.width, header.height, *full_bounds(header)
        )
    except (RasterioError, CPLE_BaseError) as error:
        raise RuleError(
            f"the raster has no place in {crs} ({error})", "check the raster's CRS and transform, and the target's CRS"
        ) from None
    left, bottom, right, top = array_bounds(height, width, transform)
    return transform.a, -transform.e, (left, bottom, right, top)


def _check_transform(header: Header) -> None:
    a, b, _, d, e, _ = header.transform
    if not all(math.isfinite(number) for number in header.transform) or a * e - b * d == 0:
        raise RuleError(
            f"the raster's transform {header.transform} cannot be inverted",
            "write a transform into the raster (rio edit-info --transform)",
        )


def _check_bounds(bounds: Bounds, geographic: bool) -> None:
    left, bottom, right, top = bounds
    if not all(math.isfinite(number) for number in bounds):
        raise RuleError(
            f"bounds {bounds} hold a number that is not finite", "write left, bottom, right, top", value=bounds
        )
    if bottom >= top:
        raise RuleError("have their bottom at or above their top", "write left, bottom, right, top", value=bounds)
    if left == right or (left > right and not geographic):
        raise RuleError(
            f"bounds {bounds} have their left at or beyond their right",
            "write left, bottom, right, top; only in a geographic CRS may left be above right, across the antimeridian",
            value=bounds,
        )
    if geographic and not -90 <= bottom < top <= 90:
        raise RuleError(
            f"bounds {bounds} hold latitudes beyond the poles",
            "write left, bottom, right, top in degrees",
            value=bounds,
        )
