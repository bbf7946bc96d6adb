"""The public `estimate`: from a raster and a target to the terms of the task's peak. Reads a header if given a path.

Three questions in a row, each of its own module: what is the grid (`target`, `tile`), which source pixels does it need
(`window`), what does that hold (`model`).
"""

from __future__ import annotations

from dataclasses import replace

from floodplain.problem import RuleError
from floodplain.raster.header import Header
from floodplain.raster.model import estimate_task
from floodplain.raster.pixel_size import widest
from floodplain.raster.raster_path import is_remote
from floodplain.raster.read_header import HeaderReading, read_header
from floodplain.raster.target import Bounds, Target, complete
from floodplain.raster.task import Destination, GdalSettings, Way
from floodplain.raster.terms import Estimate
from floodplain.raster.tile import parse_tile, tile_target
from floodplain.raster.window import NoOverlap, Reach, reach, windowed

__all__ = ["NothingToDo", "estimate"]


class NothingToDo(ValueError):  # noqa: N818 - not an error of anybody
    """The target shares no pixel with the raster: skip the task. It has no size, not the size 0."""


def estimate(
    source: str | Header | HeaderReading,
    *,
    target: Target | None = None,
    tile: str | tuple[int, int, int] | None = None,
    window: tuple[float, float, float, float] | None = None,
    crs: str | None = None,
    bounds: Bounds | None = None,
    width: int | None = None,
    height: int | None = None,
    bands: int | None = None,
    dtype: str | None = None,
    settings: GdalSettings | None = None,
    sidecars: bool = False,
    factor: float = 1.0,
) -> Estimate:
    """What reading or warping `source` will hold beyond an idle worker.

    `source` is a path or address (its header is read), a header, or what `read_header` gave. Of the source: all of it;
    a `tile` (z/x/y, web mercator, 256 px unless `width` and `height` are given); `bounds` (left, bottom, right, top) in
    `crs`; a whole `target`; or a `window` (column, row, width, height in pixels), which is read without a warp. `width`
    and `height` are those of what is made; without them it has the source's resolution. `bands`: of the first that
    many; `dtype`: of what is made, else the widest of the source's. `factor` comes from a layer's calibration.

    Raises RasterUnreadable where there is no header, NothingToDo where there is no overlap, RuleError for a target that
    makes no sense.
    """
    settings = settings or GdalSettings()
    named = [name for name, value in (("target", target), ("tile", tile), ("window", window)) if value is not None]
    if bounds is not None or crs is not None:
        named.append("bounds and crs")
    if len(named) > 1:
        raise RuleError(f"both {named[0]} and {named[1]} are given", "give one of them: each says what is read")
    if isinstance(source, str):
        settings = replace(settings, remote=settings.remote or is_remote(source))
        source = read_header(source, sidecars=sidecars)
    header, notes = (source.header, source.notes) if isinstance(source, HeaderReading) else (source, ())
    count = header.bands if bands is None else bands
    if not 1 <= count <= header.bands:
        raise RuleError(f"{bands} bands are asked of a raster that has {header.bands}", "ask for fewer", value=bands)

    found: Reach | NoOverlap
    if window is not None:
        settings = replace(settings, way=Way.READ)
        size = _size_of_window(window, width, height)
        found = windowed(header, window, size, settings.resampling)
    else:
        if tile is not None:
            target = parse_tile(tile) if isinstance(tile, str) else tile_target(*tile)
        target = target or Target(crs, bounds)
        grid = complete(replace(target, width=width or target.width, height=height or target.height), header)
        found = reach(header, grid, settings)
        size = (grid.width, grid.height)
    if isinstance(found, NoOverlap):
        raise NothingToDo(found.why)
    destination = Destination(*size, count + settings.add_alpha, dtype or widest(header.dtypes[:count]))
    return estimate_task(
        header,
        found.windows,
        destination,
        settings,
        placement=found.placement,
        source_bands=count,
        factor=factor,
        notes=(*notes, *found.notes),
    )


def _size_of_window(
    window: tuple[float, float, float, float], width: int | None, height: int | None
) -> tuple[int, int]:
    """Pixels made: as many as the window has unless said. Raises RuleError for a window without pixels."""
    _, _, across, down = window
    if not (across > 0 and down > 0 and all(abs(number) < 1e12 for number in window)):
        raise RuleError(
            f"window {window} holds no pixels",
            "write column, row, width, height, in pixels of full resolution",
            value=window,
        )
    for name, size in (("width", width), ("height", height)):
        if size is not None and size < 1:
            raise RuleError(f"a {name} of {size} pixels holds nothing", "write 1 or more", value=size)
    if width is None and height is None:
        return max(1, round(across)), max(1, round(down))
    # One side given: pixels stay square.
    return width or max(1, round((height or 1) * across / down)), height or max(1, round((width or 1) * down / across))
