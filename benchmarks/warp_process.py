"""Rasters made and tasks run, each in a process of its own that says what it held at most.

A task's process is a fork of one that has loaded its libraries and nothing else: it warps once, sets its high-water
mark back (writes 5 to /proc/self/clear_refs), runs the task and reads the mark. Linux only.
"""

from __future__ import annotations

import contextlib
import gc
import os
import pickle
import signal
import traceback
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy
import rasterio
from rasterio.enums import Resampling
from rasterio.transform import from_bounds, from_origin
from rasterio.vrt import WarpedVRT
from rasterio.warp import calculate_default_transform, reproject, transform_bounds
from rasterio.windows import Window

from floodplain.quantity import MIB
from floodplain.raster.process_memory import read_memory, reset_peak
from floodplain.raster.target import Grid
from floodplain.raster.task import Way

from .warp_cases import Case, Source

ROWS = 512
"""Of a source that are written at once."""


def in_child(task: Callable[[], Any], limit_seconds: int | None = None) -> Any:
    """What `task` returns, pickled, from a fork of this process; None if that ended it after `limit_seconds`.

    Raises RuntimeError with the child's traceback.
    """
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(reader)
            signal.alarm(limit_seconds or 0)
            answer = {"value": task()}
        except BaseException:  # the child must end here, whatever happens
            answer = {"error": traceback.format_exc()}
        os.write(writer, pickle.dumps(answer))
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as opened:
        said = opened.read()
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGALRM:
        return None
    if not said:
        raise RuntimeError(f"a child ended with status {status} and said nothing")
    answer = pickle.loads(said)  # written by our own fork
    if "error" in answer:
        raise RuntimeError(answer["error"])
    return answer["value"]


def marginal_peak(case: Case, path: str, grid: Grid) -> int:
    """Bytes that the task held beyond what its process held before it. Run this `in_child`."""
    # GDAL reads the variable at the first use of the cache, which the warm-up is.
    os.environ["GDAL_CACHEMAX"] = f"{case.settings.cache_bytes // MIB}MB"
    warnings.simplefilter("ignore")
    warm_up()
    gc.collect()
    if not reset_peak():
        raise RuntimeError("the high-water mark of a process cannot be reset here")
    before = read_memory()
    run(case, path, grid)
    after = read_memory()
    assert before is not None and after is not None
    return after.peak_bytes - before.resident_bytes


def warm_up() -> None:
    """One small warp by each way, with nodata and a mask, so that libraries and PROJ's database are in memory."""
    values = numpy.ones((1, 64, 64), "uint8")
    grid: dict[str, Any] = {"dst_transform": from_origin(1_669_792, 100, 10, 10), "dst_crs": "EPSG:3857"}
    with rasterio.MemoryFile() as file:
        profile = {"driver": "GTiff", "width": 64, "height": 64, "count": 1, "dtype": "uint8", "crs": "EPSG:32633"}
        with file.open(transform=from_origin(500_000, 640, 10, 10), nodata=0, **profile) as made:
            made.write(values)
        with file.open() as source:
            with WarpedVRT(source, crs="EPSG:3857", resampling=Resampling.cubic) as warped:
                warped.read(masked=True)
            grid |= {"resampling": Resampling.cubic}
            reproject(rasterio.band(source, 1), numpy.zeros((1, 64, 64), "uint8"), **grid)
            place = {"src_transform": source.transform, "src_crs": source.crs, "src_nodata": source.nodata}
            reproject(source.read(masked=True).data, numpy.zeros((1, 64, 64), "uint8"), **place, **grid)


def run(case: Case, path: str, grid: Grid) -> None:
    """The task itself, as a user of rasterio writes it."""
    settings = case.settings
    kernel = Resampling[settings.resampling]
    transform = from_bounds(*grid.bounds, grid.width, grid.height)
    warp: dict[str, Any] = {"resampling": kernel, "num_threads": settings.threads}
    warp["warp_mem_limit"] = settings.warp_memory_bytes // MIB
    column, row, width, height = case.window
    window = Window(column, row, width, height)
    with rasterio.Env(GDAL_DISABLE_READDIR_ON_OPEN="EMPTY_DIR"), rasterio.open(path) as source:
        if settings.way is Way.READ:
            shape = (source.count, grid.height, grid.width) if case.by_shape else None
            source.read(window=window, out_shape=shape, masked=settings.masked)
        elif settings.way is Way.VRT:
            if settings.add_alpha:
                warp["add_alpha"] = True
            whole = grid_of(replace(case, scale=1.0)) if case.by_shape else grid
            place = {"transform": from_bounds(*whole.bounds, whole.width, whole.height), "crs": case.crs}
            with WarpedVRT(source, width=whole.width, height=whole.height, **place, **warp) as warped:
                warped.read(out_shape=(warped.count, grid.height, grid.width), masked=settings.masked)
        else:
            dtype = "complex64" if source.dtypes[0] == "complex_int16" else source.dtypes[0]
            made = numpy.zeros((source.count, grid.height, grid.width), dtype)
            grid_to = {"dst_transform": transform, "dst_crs": case.crs}
            if settings.way is Way.BAND:
                reproject(rasterio.band(source, list(source.indexes)), made, **grid_to, **warp)
            else:
                values = source.read(window=window)
                place = {"src_transform": source.window_transform(window), "src_crs": source.crs}
                place["src_nodata"] = source.nodata
                reproject(values, made, **place, **grid_to, **warp)


def grid_of(case: Case) -> Grid:
    """Where the destination lies: the window's place in the other CRS, at the case's scale."""
    place = case.source.place
    column, row, width, height = case.window
    left, top = place.left + column * place.pixel, place.top - row * place.pixel
    bounds = (left, top - height * place.pixel, left + width * place.pixel, top)
    if case.settings.way is Way.READ:
        return Grid(place.crs, bounds, max(1, round(width * case.scale)), max(1, round(height * case.scale)))
    _, across, down = calculate_default_transform(place.crs, case.crs, width, height, *bounds)
    found = transform_bounds(place.crs, case.crs, *bounds)
    return Grid(case.crs, found, max(1, round(across * case.scale)), max(1, round(down * case.scale)))


def make(source: Source, folder: Path) -> None:
    """Write the source: values that repeat, with noise or without, some of nodata or transparent."""
    options: dict[str, Any] = {"interleave": source.interleave, "compress": source.compression, "bigtiff": "if_safer"}
    if source.tile:
        options |= {"tiled": True, "blockxsize": source.tile, "blockysize": source.tile}
    else:
        options |= {"tiled": False, "blockysize": source.strip_rows}
    if source.kind == "nodata":
        options["nodata"] = 0
    if source.kind == "alpha":
        options |= {"photometric": "RGB" if source.bands == 4 else "MINISBLACK", "alpha": "YES"}
    if source.compression == "deflate":
        options["zlevel"] = 1
    columns = numpy.arange(source.width) // 32
    rows = numpy.arange(ROWS) // 32
    pattern = (columns[None, :] + rows[:, None]) % 60
    values = numpy.broadcast_to(pattern, (source.bands, ROWS, source.width)).astype(_numpy_name(source.dtype))
    noise = numpy.random.default_rng(source.number)
    transform = from_origin(source.place.left, source.place.top, source.place.pixel, source.place.pixel)
    shape = {"width": source.width, "height": source.height, "count": source.bands, "dtype": source.dtype}
    place = {"crs": source.place.crs, "transform": transform}
    with (
        rasterio.Env(GDAL_TIFF_INTERNAL_MASK="YES"),
        contextlib.closing(
            rasterio.open(folder / source.name, "w", driver="GTiff", **shape, **place, **options)
        ) as file,
    ):
        for row in range(0, source.height, ROWS):
            height = min(ROWS, source.height - row)
            file.write(_grained(values[:, :height], source, noise), window=Window(0, row, source.width, height))
        if source.kind == "mask":
            mask = numpy.full((source.height, source.width), 255, "uint8")
            mask[::3, :64] = 0
            file.write_mask(mask)
        if source.overviews:
            file.build_overviews(list(source.overviews), Resampling.nearest)


def _grained(values: numpy.ndarray, source: Source, noise: numpy.random.Generator) -> numpy.ndarray:
    """With noise as sensors have it: whole numbers, or every bit of a float."""
    if not source.grain:
        return values
    if numpy.issubdtype(values.dtype, numpy.integer):
        return values + noise.integers(0, source.grain, values.shape, values.dtype)
    return (values + noise.random(values.shape, "float32") * source.grain).astype(values.dtype)


def _numpy_name(dtype: str) -> str:
    return "complex64" if dtype == "complex_int16" else dtype
