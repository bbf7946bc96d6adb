"""Makes the rasters of the example: five small Cloud Optimized GeoTIFFs on both sides of the border of two UTM zones.

Bands 1 and 2 are the longitude and the latitude, band 3 tells which raster it is. So every pixel of the mosaic can be
checked without a reference image.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import rasterio
from numpy.typing import NDArray
from rasterio.enums import ColorInterp
from rasterio.io import MemoryFile
from rasterio.shutil import copy
from rasterio.transform import from_origin
from rasterio.warp import transform as transform_points
from rasterio.windows import Window

WEST, EAST = 11.70, 12.30
SOUTH, NORTH = 47.30, 47.70
"""Degrees that bands 1 and 2 spread over 1 to 251."""
STRIP = 512
"""Rows that are computed at once."""


@dataclass(frozen=True)
class Scene:
    """One raster. `left` and `top` are metres in its UTM zone."""

    name: str
    zone: int
    left: float
    top: float
    metres: float
    width: int
    height: int
    mark: int
    """The value of band 3."""
    overviews: bool = True
    nodata: int | None = None
    """Also makes an empty wedge of this value in the north-west."""
    mask: bool = False
    """Also masks an eighth of the raster, in the south-east."""

    @property
    def crs(self) -> str:
        return f"EPSG:326{self.zone}"


# From the top of the mosaic to its bottom.
SCENES = (
    Scene("aerial", 33, 281_350, 5_270_800, 1.0, 6144, 6144, 200, overviews=False),
    Scene("masked", 32, 716_000, 5_270_000, 5.0, 1200, 1200, 160, mask=True),
    Scene("large", 33, 273_500, 5_278_500, 2.5, 4096, 4096, 120),
    Scene("east", 33, 273_500, 5_280_000, 10.0, 1500, 2200, 80, nodata=0),
    Scene("west", 32, 709_000, 5_280_500, 10.0, 1750, 2250, 40),
)


def make_scene(folder: Path) -> list[Path]:
    """All rasters, from the top to the bottom; those that are there already stay."""
    folder.mkdir(parents=True, exist_ok=True)
    return [_make(scene, folder / f"{scene.name}.tif") for scene in SCENES]


def _make(scene: Scene, path: Path) -> Path:
    if path.exists():
        return path
    profile: dict[str, Any] = {
        "driver": "GTiff",
        "width": scene.width,
        "height": scene.height,
        "count": 3,
        "dtype": "uint8",
        "crs": scene.crs,
        "transform": from_origin(scene.left, scene.top, scene.metres, scene.metres),
        "nodata": scene.nodata,
        "tiled": True,
        "compress": "deflate",
    }
    options = {"blocksize": 256, "compress": "deflate", "predictor": "yes"}
    unfinished = path.with_suffix(".unfinished")
    with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=True), MemoryFile() as memory:
        with memory.open(**profile) as raster:
            raster.colorinterp = (ColorInterp.red, ColorInterp.green, ColorInterp.blue)
            for window, pixels in _strips(scene):
                raster.write(pixels, window=window)
            if scene.mask:
                raster.write_mask(_mask(scene))
        with memory.open() as raster:
            overviews = "auto" if scene.overviews else "none"
            copy(raster, unfinished, driver="COG", overviews=overviews, overview_resampling="average", **options)
    return unfinished.rename(path)


def _strips(scene: Scene) -> Iterator[tuple[Window, NDArray[np.uint8]]]:
    for row in range(0, scene.height, STRIP):
        rows = min(STRIP, scene.height - row)
        longitude, latitude = _places(scene, row, rows)
        pixels = np.stack([spread(longitude, WEST, EAST), spread(latitude, SOUTH, NORTH), np.full_like(longitude, 0)])
        pixels[2] = scene.mark
        if scene.nodata is not None:
            across, down = np.meshgrid(np.arange(scene.width), np.arange(row, row + rows))
            pixels[:, across + down < scene.width // 3] = scene.nodata
        yield Window(0, row, scene.width, rows), np.rint(pixels).astype(np.uint8)


def _places(scene: Scene, row: int, rows: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Longitude and latitude of each pixel's centre: exact at the corners of the strip, and between them linear, which
    is right to a fraction of a value."""
    columns = np.linspace(0.5, scene.width - 0.5, 33)
    lines = np.linspace(row + 0.5, row + rows - 0.5, 3)
    xs = scene.left + np.tile(columns, len(lines)) * scene.metres
    ys = scene.top - np.repeat(lines, len(columns)) * scene.metres
    found = transform_points(scene.crs, "EPSG:4326", xs, ys)
    across = np.arange(scene.width) + 0.5
    down = np.linspace(0, 1, rows)[:, None]
    both = []
    for values in found[:2]:
        top, _, bottom = (np.interp(across, columns, line) for line in np.reshape(values, (len(lines), len(columns))))
        both.append(top * (1 - down) + bottom * down)
    return both[0], both[1]


def _mask(scene: Scene) -> NDArray[np.bool_]:
    valid = np.ones((scene.height, scene.width), dtype=bool)
    valid[scene.height // 2 :, 3 * scene.width // 4 :] = False
    return valid


def spread(degrees: NDArray[np.float64], low: float, high: float) -> NDArray[np.float64]:
    """Degrees as a value from 1 to 251."""
    return 1 + 250 * (degrees - low) / (high - low)
