"""A folder of real rasters behind the logging HTTP server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import rasterio
from rasterio.enums import Resampling
from rasterio.shutil import copy
from rasterio.transform import from_origin

from benchmarks.ranges_server import Server, serving


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """cog.tif with overviews, plain.tif without and with its index at the end, beside.tif with .ovr and .msk beside."""
    found = tmp_path_factory.mktemp("rasters")
    random = np.random.default_rng(1)
    pixels = random.integers(0, 4000, (2, 1024, 1024), dtype=np.uint16)
    profile = {
        "driver": "GTiff", "width": 1024, "height": 1024, "count": 2, "dtype": "uint16", "crs": "EPSG:32633",
        "transform": from_origin(500_000, 5_400_000, 10, 10), "tiled": True, "blockxsize": 256, "blockysize": 256,
    }  # fmt: skip
    with rasterio.open(found / "plain.tif", "w", nodata=0, **profile) as made:
        made.write(pixels)
    copy(str(found / "plain.tif"), str(found / "cog.tif"), driver="COG", blocksize=256, compress="DEFLATE")
    with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=False), rasterio.open(found / "beside.tif", "w", **profile) as made:
        made.write(pixels)
        made.write_mask(np.ones((1024, 1024), dtype=bool))
    with rasterio.Env(TIFF_USE_OVR=True), rasterio.open(found / "beside.tif", "r+") as made:
        made.build_overviews([2, 4], Resampling.nearest)
    (found / "table.csv").write_text("tile,bytes\n1,2\n")
    (found / "empty.tif").touch()
    (found / "cut.tif").write_bytes((found / "cog.tif").read_bytes()[:50_000])
    (found / "header-cut.tif").write_bytes((found / "cog.tif").read_bytes()[:250])
    return found


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Server]:
    """The folder over HTTP. Nothing else asks for it."""
    with serving(folder) as running:
        yield running
