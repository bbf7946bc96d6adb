"""Builds one tile: header, window, warp, write, and measures what it held. A program, so that it can be killed.

    python -m mosaic.build_tile --folder FOLDER --tile '{"name": ...}'

Its last line is the record of its peak, as JSON. With --history it appends that record itself, as a pod does which
nobody supervises. Code of GDAL cannot be interrupted in a thread: whoever sets a time-out must end this process.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import signal
import sys
from pathlib import Path
from typing import Any

import numpy as np
import rasterio
from numpy.typing import NDArray
from rasterio.enums import ColorInterp, Resampling
from rasterio.transform import from_bounds
from rasterio.warp import reproject

from floodplain.quantity import MIB
from floodplain.raster.measuring import measured, start_worker
from floodplain.raster.read_header import header_of
from floodplain.raster.target import complete
from floodplain.raster.window import NoOverlap, windows
from mosaic.levels import level_header
from mosaic.settings import LAYER, WARP_SETTINGS
from mosaic.tiles import Tile

Pixels = NDArray[np.uint8]


def build_tile(tile: Tile, folder: Path) -> Path:
    """The tile as a GeoTIFF with an alpha band; it gets its name when it is whole. Raises rasterio's errors."""
    pixels = np.zeros((4, tile.height, tile.width), dtype=np.uint8)
    for source in tile.sources:
        _fill(pixels, tile, source)
    path = folder / "tiles" / f"{tile.name}.tif"
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f"{tile.name}.{os.getpid()}.unfinished")
    profile: dict[str, Any] = {
        "driver": "GTiff",
        "width": tile.width,
        "height": tile.height,
        "count": 4,
        "dtype": "uint8",
        "crs": tile.crs,
        "transform": from_bounds(*tile.bounds, tile.width, tile.height),
        "tiled": True,
        "compress": "deflate",
        "photometric": "rgb",
        "alpha": "yes",
    }
    try:
        with rasterio.open(unfinished, "w", **profile) as written:
            written.write(pixels)
            written.colorinterp = (ColorInterp.red, ColorInterp.green, ColorInterp.blue, ColorInterp.alpha)
        return unfinished.rename(path)
    finally:
        unfinished.unlink(missing_ok=True)


def _fill(pixels: Pixels, tile: Tile, source: str) -> None:
    """Warp one raster to the tile and take its pixels where no raster above it has any."""
    with rasterio.open(source) as raster:
        header = header_of(raster)
    level, header = level_header(tile, header)
    if isinstance(windows(header, complete(tile.target, header), WARP_SETTINGS), NoOverlap):
        return
    options = {} if level is None else {"overview_level": level}
    read = np.zeros_like(pixels)
    with rasterio.open(source, **options) as raster:
        reproject(
            rasterio.band(raster, [1, 2, 3]),
            read,
            dst_crs=tile.crs,
            dst_transform=from_bounds(*tile.bounds, tile.width, tile.height),
            dst_alpha=4,
            resampling=Resampling[WARP_SETTINGS.resampling],
            warp_mem_limit=WARP_SETTINGS.warp_memory_bytes // MIB,
        )
    # Half of a pixel and more.
    taken = (pixels[3] == 0) & (read[3] >= 128)
    pixels[:3, taken] = read[:3, taken]
    pixels[3, taken] = 255


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m mosaic.build_tile", description="Build one tile.")
    parser.add_argument("--tile", required=True, help="the tile, a line of tiles.jsonl")
    parser.add_argument("--folder", required=True, type=Path, help="where the mosaic is made")
    parser.add_argument("--history", type=Path, help="append the record of the peak here")
    parser.add_argument("--estimate-bytes", type=int)
    parser.add_argument("--slot-limit-bytes", type=int)
    given = parser.parse_args(arguments)
    tile = Tile.model_validate_json(given.tile)
    start_worker(LAYER, given.history, given.slot_limit_bytes, warm_up=_warm_up)
    task = measured(task=tile.name, estimate_bytes=given.estimate_bytes)
    with task as measurement:
        build_tile(tile, given.folder)
    assert measurement.record is not None
    print(measurement.record.model_dump_json(exclude_defaults=True))
    return 0


def _warm_up() -> None:
    from floodplain.raster.raster_warm_up import warm_up_raster

    warm_up_raster()


def _end_with_whoever_started_us() -> None:
    """A supervisor that is killed leaves no tile behind (prctl(2), PR_SET_PDEATHSIG)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)


if __name__ == "__main__":
    _end_with_whoever_started_us()
    sys.exit(main())
