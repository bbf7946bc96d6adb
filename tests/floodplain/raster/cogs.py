"""Small cloud-optimised GeoTIFFs for tests of commands: real files, made in a moment. No pixel of them is set."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import rasterio
from rasterio.shutil import copy
from rasterio.transform import from_origin

TILE = "15/17749/11288"
"""Lies on every raster that is made here."""
NOWHERE = "15/0/0"


def cog(path: Path, *, side: int = 1024, bands: int = 3, dtype: str = "uint8", **profile: Any) -> str:
    """A square of 2 m pixels in UTM 33; returns its path."""
    with rasterio.MemoryFile() as memory:
        settings = {"crs": "EPSG:32633", "transform": from_origin(500_000, 5_400_000, 2, 2), **profile}
        with memory.open(driver="GTiff", width=side, height=side, count=bands, dtype=dtype, sparse_ok=True, **settings):
            pass
        copy(memory.name, str(path), driver="COG", blocksize=256, sparse_ok=True)
    return str(path)
