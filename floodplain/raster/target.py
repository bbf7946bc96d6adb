"""Where the pixels of a task should lie: a CRS, bounds in it, and a size in pixels. Not which source pixels that needs:
that is `window`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

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
    """Pixels."""


@dataclass(frozen=True)
class Grid:
    """A target of which everything is known."""

    crs: str | None
    """None only where the source has no CRS either, so that both share an unnamed one."""
    bounds: Bounds
    width: int
    height: int


def complete(target: Target, header: Header) -> Grid:
    """The target's grid over this source, sized as `gdalwarp` would where no size is given.

    Raises RuleError where the source has no CRS and the target names one.
    """
    from rasterio.transform import array_bounds
    from rasterio.warp import calculate_default_transform

    from floodplain.raster.window import full_bounds

    if target.crs is not None and header.crs is None:
        raise RuleError(
            f"the raster has no CRS, so nothing says where {target.crs} lies on it",
            "write one into the raster (rio edit-info --crs) or leave the target's CRS out to stay in the raster's own",
        )
    crs = target.crs or header.crs
    bounds = target.bounds
    if target.crs is None or header.crs is None or bounds is not None:
        bounds = bounds or full_bounds(header)
        return replace(Grid(crs, bounds, target.width or header.width, target.height or header.height))
    transform, width, height = calculate_default_transform(
        header.crs, target.crs, header.width, header.height, *full_bounds(header)
    )
    left, bottom, right, top = array_bounds(height, width, transform)
    return Grid(crs, (left, bottom, right, top), target.width or width, target.height or height)
