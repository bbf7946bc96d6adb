"""Where bounds in one CRS lie in another: boxes that together hold every point of them. Pure; pixels are `window`'s.

One box as a rule; two across the antimeridian; a strip around the globe where a pole lies within. Like
rasterio.warp.transform_bounds it looks at points between the corners of each side; unlike it, it adds what may bulge
between those points, takes no box from points that the other CRS cannot hold (there transform_bounds answers with a
wrong box), and crosses the antimeridian also between two projected CRS.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

from floodplain.problem import RuleError
from floodplain.raster.target import Bounds

GEOGRAPHIC = "EPSG:4326"
_STEPS = 88
"""Along each side: four times as many as transform_bounds has, so that what bulges between two is a 16th of its."""
_INNER = 7
"""Points along each side of a lattice within."""


@lru_cache(maxsize=256)
def read_crs(text: str) -> Any:
    """rasterio's CRS. Raises RuleError for a text that is none."""
    from rasterio.crs import CRS
    from rasterio.errors import CRSError

    try:
        return CRS.from_user_input(text)
    except CRSError:
        raise RuleError(f"{text!r} is not a CRS", "write EPSG:n, a PROJ text or WKT", value=text) from None


@lru_cache(maxsize=1024)
def boxes_in(bounds: Bounds, crs: str, other: str) -> tuple[Bounds, ...] | None:
    """Boxes in `other` that hold all of `bounds` in `crs`; None where part of them has no place in `other`.

    left above right means across the antimeridian, in a geographic CRS. Longitudes answered are -180 to 180.
    """
    here, there = read_crs(crs), read_crs(other)
    pieces = split(bounds) if here.is_geographic else (bounds,)
    if here == there:
        return pieces
    found: list[Bounds] = []
    for piece in pieces:
        boxes = _boxes(piece, here, there)
        if boxes is None:
            return None
        found += boxes
    return tuple(found)


@lru_cache(maxsize=256)
def datum_of(text: str) -> str | None:
    """The name of the CRS's horizontal datum; None for a CRS of several parts or without one."""
    described = read_crs(text).to_dict(projjson=True)
    of = described.get("base_crs", described)
    named = of.get("datum_ensemble") or of.get("datum")
    return named["name"].removesuffix(" ensemble") if named else None


@lru_cache(maxsize=1024)
def points_in(points: tuple[tuple[float, float], ...], crs: str, other: str) -> tuple[tuple[float, float], ...] | None:
    """The points in `other`; None where one has no place in it."""
    xs, ys = zip(*points, strict=True)
    moved = _through(xs, ys, read_crs(crs), read_crs(other))
    return None if moved is None else tuple((float(x), float(y)) for x, y in zip(*moved, strict=True))


def split(bounds: Bounds) -> tuple[Bounds, ...]:
    """A box of degrees, of any turn, as one or two between -180 and 180."""
    left, bottom, right, top = bounds
    if right - left >= 360:
        return ((-180.0, bottom, 180.0, top),)
    if -180 <= left <= right <= 180:
        return (bounds,)
    left, right = (left + 180) % 360 - 180, (right + 180) % 360 - 180
    if left < right:
        return ((left, bottom, right, top),)
    return tuple(box for box in ((left, bottom, 180.0, top), (-180.0, bottom, right, top)) if box[0] < box[2])


def _boxes(bounds: Bounds, here: Any, there: Any) -> list[Bounds] | None:
    import numpy as np

    xs, ys = _points(bounds)
    moved = _through(xs, ys, here, there)
    if moved is None or not _faithful(xs, ys, moved, here, there):
        return None
    count = 4 * _STEPS
    x, y = moved
    if there.is_geographic:
        unwrapped = np.unwrap(x[:count], period=360.0)
        turned = unwrapped[-1] + (x[0] - unwrapped[-1] + 180) % 360 - 180 - unwrapped[0]
        if abs(turned) > 180:
            low, high = _widened(y, count)
            return [(-180.0, low, 180.0, 90.0) if y.mean() > 0 else (-180.0, -90.0, 180.0, high)]
        middle = (unwrapped.min() + unwrapped.max()) / 2
        inner = middle + (x[count:] - middle + 180) % 360 - 180
        west, east = _widened(np.concatenate([unwrapped, inner]), count)
        low, high = _widened(y, count)
        return list(split((west, max(low, -90.0), east, min(high, 90.0))))
    if _jumps(x[:count]) or _jumps(y[:count]):
        return None if here.is_geographic else _by_degrees(bounds, here, there)
    (west, east), (low, high) = _widened(x, count), _widened(y, count)
    return [(west, low, east, high)]


def _by_degrees(bounds: Bounds, here: Any, there: Any) -> list[Bounds] | None:
    """Between two projected CRS across the antimeridian or around a pole: cut in degrees, then each part alone."""
    geographic = read_crs(GEOGRAPHIC)
    found: list[Bounds] = []
    for piece in _boxes(bounds, here, geographic) or []:
        boxes = _boxes(piece, geographic, there)
        if boxes is None:
            return None
        found += boxes
    return found or None


def _points(bounds: Bounds) -> tuple[Any, Any]:
    """Around the box, each side in fine steps, then a lattice within."""
    import numpy as np

    left, bottom, right, top = bounds
    along = np.arange(_STEPS) / _STEPS
    ones = np.ones_like(along)
    inner_x, inner_y = np.meshgrid(*[np.arange(1, _INNER + 1) / (_INNER + 1)] * 2)
    across = np.concatenate([along, ones, 1 - along, 0 * ones, inner_x.ravel()])
    up = np.concatenate([0 * ones, along, ones, 1 - along, inner_y.ravel()])
    return left + across * (right - left), bottom + up * (top - bottom)


def _through(xs: Any, ys: Any, here: Any, there: Any) -> tuple[Any, Any] | None:
    """Points in the other CRS; None where one has no place in it."""
    import numpy as np
    from rasterio._err import CPLE_BaseError
    from rasterio.errors import RasterioError
    from rasterio.warp import transform

    try:
        x, y = (np.asarray(axis) for axis in transform(here, there, xs, ys))
    except (RasterioError, CPLE_BaseError):
        return None
    return (x, y) if np.isfinite(x).all() and np.isfinite(y).all() else None


def _faithful(xs: Any, ys: Any, moved: tuple[Any, Any], here: Any, there: Any) -> bool:
    """Whether the points come back to where they were: far outside its domain a projection folds the globe."""
    import numpy as np

    back = _through(*moved, there, here)
    if back is None:
        return False
    off_x, off_y = np.abs(back[0] - xs), np.abs(back[1] - ys)
    if here.is_geographic:
        off_x = np.minimum(off_x % 360, 360 - off_x % 360)
        off_x[np.abs(ys) > 89.9999] = 0
    size = max(float(np.ptp(xs)), float(np.ptp(ys)))
    return bool((off_x <= size * 1e-3).all() and (off_y <= size * 1e-3).all())


def _jumps(values: Any) -> bool:
    """Whether neighbours around the box lie half of it apart: something is cut there."""
    import numpy as np

    steps = np.abs(np.diff(values, append=values[:1]))
    return bool(steps.max() > np.ptp(values) / 2) and not math.isclose(float(np.ptp(values)), 0.0)


def _widened(values: Any, count: int) -> tuple[float, float]:
    """Least and greatest, with a margin for what lies between the points of the outline.

    Between two points a curve leaves its chord by an eighth of its second difference (linear interpolation's error,
    h^2 f'' / 8). Twice that: the second difference is known at the points alone.
    """
    import numpy as np

    sides = [
        np.append(values[first : first + _STEPS], values[(first + _STEPS) % count]) for first in range(0, count, _STEPS)
    ]
    margin = float(np.abs(np.diff(sides, n=2)).max()) / 4
    return float(values.min()) - margin, float(values.max()) + margin
