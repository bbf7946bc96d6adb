"""What `measured` costs a task, and what it says of tasks that share a process, beside ru_maxrss and tracemalloc.

Every sequence runs in one process, as in a pool of workers: arrays of known size, then real warps of rasterio, each of
which is also measured in a process of its own. `--tasks=N` for another number of tasks whose cost is taken (3000).
"""

from __future__ import annotations

import resource
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any

import numpy
import rasterio
from rasterio.transform import from_origin
from rasterio.vrt import WarpedVRT

from floodplain.quantity import KIB, MIB
from floodplain.raster.measuring import measured, start_worker
from floodplain.raster.raster_warm_up import warm_up_raster

from .rows import Row, at_most

SIZES_MIB = (300, 50, 20, 200, 10)
SIDES = (3072, 512, 1024, 2048, 256)
"""Of the windows that are warped, in pixels."""
COST_MS, ERROR_MIB = 1.0, 2.0
TASKS = 3000


def run(options: Sequence[str] = ()) -> list[Row]:
    """Rows of cost, of arrays and of warps."""
    given = dict(option.removeprefix("--").split("=", 1) for option in options if "=" in option)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        source = _source(place / "source.tif", max(SIDES))
        return [*_costs(place, source, int(given.get("tasks", TASKS))), *_arrays(), *_warps(source)]


def _costs(folder: Path, source: str, tasks: int) -> list[Row]:
    with _worker() as pool:
        cost, kept = (pool.submit(_cost, history, tasks).result() for history in (None, str(folder / "peaks.jsonl")))
        plain, traced = pool.submit(_warp_seconds, source).result()
    slower = f"{traced / plain:.2f} times"
    return [
        at_most("cost of measured a task", "ms", cost, COST_MS),
        at_most("cost of measured a task, with its history and notes of open tasks", "ms", kept, COST_MS),
        Row(
            "a warp of 256 x 256 under tracemalloc",
            "ms",
            round(traced * 1000, 2),
            None,
            "plain",
            round(plain * 1000, 2),
        ),
        Row("a task in Python under tracemalloc takes", "", _traced_python(), None, "the warp", slower),
    ]


def _arrays() -> list[Row]:
    with _worker() as pool:
        ours, theirs, traced = pool.submit(_sequence, _touch, SIZES_MIB).result()
    rows = []
    for size, mark, rusage, trace in zip(SIZES_MIB, ours, theirs, traced, strict=True):
        error = abs(mark - size)
        others = f"{rusage:.1f} and {trace:.1f}"
        rows.append(
            Row(
                f"array of {size} MiB, in one process with those above",
                "MiB",
                round(mark, 2),
                f"{size} ± {ERROR_MIB:g}",
                "ru_maxrss after - before, tracemalloc",
                others,
                holds=error <= ERROR_MIB,
            )
        )
    return rows


def _warps(source: str) -> list[Row]:
    tasks = [(source, side) for side in SIDES]
    alone = []
    for task in tasks:
        with _worker() as pool:
            alone.append(pool.submit(_sequence, _warp, [task]).result()[0][0])
    with _worker() as pool:
        ours, theirs, traced = pool.submit(_sequence, _warp, tasks).result()
    rows = [
        Row(
            f"warp of {side} x {side}, in one process with those above",
            "MiB",
            round(mark, 1),
            f"{true:.1f} alone",
            "ru_maxrss after - before, tracemalloc",
            f"{rusage:.1f} and {trace:.1f}",
        )
        for side, mark, true, rusage, trace in zip(SIDES, ours, alone, theirs, traced, strict=True)
    ]
    worst = max(abs(mark - true) for mark, true in zip(ours, alone, strict=True))
    return [*rows, Row("warps: largest difference to a process of its own", "MiB", round(worst, 1))]


def _worker() -> ProcessPoolExecutor:
    options: dict[str, Any] = {"initializer": start_worker, "initargs": ("benchmark", None, None, _warm_up)}
    return ProcessPoolExecutor(1, mp_context=get_context("spawn"), **options)


def _warm_up() -> None:
    warm_up_raster()
    _touch(1)


def _cost(history: str | None, tasks: int) -> float:
    """Milliseconds a task, the median."""

    def task() -> None:
        with measured(history=history):
            pass

    return _seconds(task, tasks) * 1000


def _sequence(task: Callable[[Any], object], given: Sequence[Any]) -> tuple[list[float], list[float], list[float]]:
    """MiB of each task: marginal by `measured`, by ru_maxrss after less before, by tracemalloc (in a second pass)."""
    ours, theirs, traced = [], [], []
    for each in given:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        task(each)
        theirs.append((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * KIB / MIB)
    for each in given:
        with measured() as measurement:
            task(each)
        assert measurement.record is not None
        ours.append(measurement.record.marginal_bytes / MIB)
    for each in given:
        tracemalloc.start()
        task(each)
        traced.append(tracemalloc.get_traced_memory()[1] / MIB)
        tracemalloc.stop()
    return ours, theirs, traced


def _touch(mib: int) -> None:
    numpy.ones(mib * MIB // 8)


def _warp(task: tuple[str, int]) -> None:
    source, side = task
    settings = rasterio.Env(GDAL_CACHEMAX=64 * MIB)
    with settings, rasterio.open(source) as raster, WarpedVRT(raster, crs="EPSG:3857") as warped:
        warped.read(window=((0, side), (0, side)))


def _warp_seconds(source: str) -> tuple[float, float]:
    plain = _seconds(lambda: _warp((source, 256)), 40)
    tracemalloc.start()
    traced = _seconds(lambda: _warp((source, 256)), 40)
    tracemalloc.stop()
    return plain, traced


def _traced_python() -> str:
    def task() -> None:
        kept = [{"column": number, "name": str(number)} for number in range(20_000)]
        kept.clear()

    plain = _seconds(task, 10)
    tracemalloc.start()
    traced = _seconds(task, 10)
    tracemalloc.stop()
    return f"{traced / plain:.1f} times"


def _seconds(task: Callable[[], object], count: int) -> float:
    """The median."""
    took = []
    for _ in range(count):
        began = time.perf_counter()
        task()
        took.append(time.perf_counter() - began)
    return median(took)


def _source(path: Path, side: int) -> str:
    """A tiled GeoTIFF of three bands that is a little larger than the largest window."""
    size = side + 256
    profile = {"driver": "GTiff", "width": size, "height": size, "count": 3, "dtype": "uint8", "crs": "EPSG:32633"}
    layout = {"tiled": True, "blockxsize": 512, "blockysize": 512, "compress": "deflate"}
    with rasterio.open(path, "w", transform=from_origin(500_000, 5_400_000, 1, 1), **profile, **layout) as raster:
        row = numpy.arange(size, dtype="uint8")
        raster.write(numpy.broadcast_to(row, (3, size, size)))
    return str(path)
