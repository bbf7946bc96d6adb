"""Where a mask comes from, as rasterio says of real rasters and as we say of their headers."""

from __future__ import annotations

from dataclasses import replace

import pytest

rasterio = pytest.importorskip("rasterio")

import numpy as np  # noqa: E402 - after the skip
from rasterio.enums import MaskFlags  # noqa: E402
from rasterio.transform import from_origin  # noqa: E402
from rasterio.vrt import WarpedVRT  # noqa: E402

from floodplain.raster.mask_read import MaskKind, mask_kind, mask_read  # noqa: E402
from floodplain.raster.read_header import header_of  # noqa: E402
from floodplain.raster.task import Destination, GdalSettings, Way  # noqa: E402
from tests.floodplain.raster.headers import header  # noqa: E402

DTYPES = ("uint8", "int8", "uint16", "int16", "float32")
FLAGS = {MaskFlags.nodata: MaskKind.NODATA, MaskFlags.alpha: MaskKind.ALPHA, MaskFlags.per_dataset: MaskKind.DATASET}


def told(dataset: object) -> MaskKind:
    """Of band 1, by rasterio; alpha is per_dataset too."""
    flags = dataset.mask_flag_enums[0]  # type: ignore[attr-defined]
    return next((kind for flag, kind in FLAGS.items() if flag in flags), MaskKind.NONE)


@pytest.mark.parametrize("add_alpha", [False, True])
@pytest.mark.parametrize("kind", ["plain", "nodata", "alpha", "mask"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_masks_come_from_where_gdal_takes_them(dtype: str, kind: str, add_alpha: bool) -> None:
    """Alpha masks only as the last of 2 or 4 bands, of 8 or 16 bits without a sign."""
    for bands in (1, 2, 3, 4, 5):
        if kind == "alpha" and (bands == 1 or add_alpha):
            continue  # rasterio refuses a second alpha band
        options = {"photometric": "RGB" if kind == "alpha" and bands == 4 else "MINISBLACK"}
        options["alpha"] = "YES" if kind == "alpha" else "NO"
        shape = {"width": 64, "height": 64, "count": bands, "dtype": dtype, "nodata": 0 if kind == "nodata" else None}
        with rasterio.Env(GDAL_TIFF_INTERNAL_MASK="YES"), rasterio.MemoryFile() as file:
            place = {"crs": "EPSG:32633", "transform": from_origin(500_000, 640, 10, 10)}
            with file.open(driver="GTiff", **shape, **place, **options) as made:
                made.write(np.ones((bands, 64, 64), dtype))
                if kind == "mask":
                    made.write_mask(np.full((64, 64), 255, "uint8"))
            with file.open() as source, WarpedVRT(source, crs="EPSG:3857", add_alpha=add_alpha) as warped:
                one = header_of(source)
                warp = GdalSettings(way=Way.VRT, add_alpha=add_alpha)
                assert mask_kind(one, warp) == told(warped), (bands, dtype, kind)
                if not add_alpha:
                    assert mask_kind(one, GdalSettings(way=Way.READ)) == told(source), (bands, dtype, kind)


def test_a_mask_is_held_three_times_and_nodata_is_compared_in_4_bytes_at_least() -> None:
    of_16_bits = header("EPSG:32633", (10.0, 0.0, 0.0, 0.0, -10.0, 0.0))
    to = Destination(100, 100, 1, "uint16")
    masked = GdalSettings(way=Way.READ, masked=True)
    assert mask_read(of_16_bits, to, masked).kept_bytes == 0
    found = mask_read(replace(of_16_bits, nodata=(0.0,)), to, masked)
    assert (found.kind, found.made_bytes, found.kept_bytes) == (MaskKind.NODATA, 50_000, 30_000)
