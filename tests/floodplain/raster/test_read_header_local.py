"""Headers of local files: whatever is in them, and a clear word for files that are none."""

from __future__ import annotations

import os
from multiprocessing import get_context
from multiprocessing.queues import Queue
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rasterio
from rasterio.enums import ColorInterp
from rasterio.transform import Affine, from_origin

from floodplain.raster.header import Header
from floodplain.raster.read_header import RasterUnreadable, read_header
from tests.floodplain.raster.served import folder

__all__ = ["folder"]

SQUARE: dict[str, Any] = {"driver": "GTiff", "width": 300, "height": 200, "count": 1, "dtype": "uint8"}
PLACE: dict[str, Any] = {"crs": "EPSG:32633", "transform": from_origin(500_000, 5_400_000, 10, 10)}


def made(path: Path, **profile: Any) -> str:
    with rasterio.open(path, "w", **{**SQUARE, **PLACE, **profile}):
        pass
    return str(path)


def test_the_whole_header_of_a_small_file(tmp_path: Path) -> None:
    reading = read_header(made(tmp_path / "a.tif", count=2, dtype="float32", nodata=-1, compress="lzw"))
    assert (reading.requests, reading.notes) == (0, ())
    assert reading.header == Header(
        300,
        200,
        (10.0, 0.0, 500_000.0, 0.0, -10.0, 5_400_000.0),
        "EPSG:32633",
        ("float32", "float32"),
        (-1.0, -1.0),
        block_width=300,
        block_height=3,
        pixel_interleaved=True,
        compression="LZW",
    )


@pytest.mark.parametrize("dtype", ["complex_int16", "complex64", "complex128", "int8", "uint32", "float64", "int16"])
def test_dtypes_are_those_of_rasterio(tmp_path: Path, dtype: str) -> None:
    assert read_header(made(tmp_path / "a.tif", dtype=dtype)).header.dtypes == (dtype,)


def test_an_alpha_band_is_told_by_its_number_and_is_no_mask_of_the_dataset(tmp_path: Path) -> None:
    path = tmp_path / "a.tif"
    with rasterio.open(path, "w", **{**SQUARE, **PLACE, "count": 4}) as dataset:
        dataset.colorinterp = [ColorInterp.red, ColorInterp.green, ColorInterp.blue, ColorInterp.alpha]
    header = read_header(str(path)).header
    assert (header.alpha_bands, header.dataset_mask) == ((4,), False)


def test_a_mask_within_the_file_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "a.tif"
    with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=True), rasterio.open(path, "w", **SQUARE, **PLACE) as dataset:
        dataset.write_mask(np.ones((200, 300), dtype=bool))
    assert read_header(str(path)).header.dataset_mask


def test_neighbours_of_a_local_file_cost_nothing_and_are_seen(folder: Path) -> None:
    reading = read_header(str(folder / "beside.tif"))
    assert (reading.header.overviews, reading.header.dataset_mask, reading.notes) == ((2, 4), True, ())


def test_rotated_south_up_and_without_crs(tmp_path: Path) -> None:
    rotated = Affine(8, 6, 400_000, 6, -8, 5_500_000)
    assert read_header(made(tmp_path / "r.tif", transform=rotated)).header.transform == tuple(rotated)[:6]
    upward = Affine(10, 0, 0, 0, 10, 0)
    assert read_header(made(tmp_path / "s.tif", transform=upward)).header.transform == tuple(upward)[:6]
    assert read_header(made(tmp_path / "n.tif", crs=None)).header.crs is None


def test_a_crs_without_a_code_is_wkt(tmp_path: Path) -> None:
    crs = read_header(made(tmp_path / "a.tif", crs="+proj=laea +lat_0=3 +lon_0=4 +datum=WGS84")).header.crs
    assert crs is not None
    assert crs.startswith("PROJCS[")


def test_the_largest_raster_that_tiles_are_made_of(tmp_path: Path) -> None:
    path = made(
        tmp_path / "a.tif", width=131_072, height=131_072, tiled=True, blockxsize=512, blockysize=512, sparse_ok=True
    )
    header = read_header(path).header
    assert (header.width, header.height, header.block_width) == (131_072, 131_072, 512)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("table.csv", "is not a raster"),
        ("empty.tif", "is an empty file"),
        ("cut.tif", "is cut short: it has 50000 bytes"),
        ("header-cut.tif", "header is damaged or cut short"),
        ("nothing.tif", "there is no such file"),
        (".", "is a directory"),
    ],
)
def test_files_that_are_no_rasters(folder: Path, name: str, words: str) -> None:
    with pytest.raises(RasterUnreadable, match=words):
        read_header(str(folder / name))


@pytest.mark.parametrize("path", ["", "  ", "a\0b.tif", "\ud800.tif"])
def test_texts_that_are_no_paths(path: str) -> None:
    with pytest.raises(RasterUnreadable):
        read_header(path)


def test_a_text_that_claims_to_be_a_raster(tmp_path: Path) -> None:
    vrt = tmp_path / "none.vrt"
    vrt.write_text('<VRTDataset rasterXSize="10" rasterYSize="10"></VRTDataset>')
    with pytest.raises(RasterUnreadable, match="Missing one of"):
        read_header(str(vrt))


def _read_by_nobody(path: str, answer: Queue[str]) -> None:
    if os.geteuid() == 0:
        os.setuid(65534)
    try:
        read_header(path)
    except RasterUnreadable as error:
        answer.put(error.what)


def test_a_file_without_permission(folder: Path, tmp_path: Path) -> None:
    locked = tmp_path / "a.tif"
    locked.write_bytes((folder / "cog.tif").read_bytes())
    locked.chmod(0)
    forked = get_context("fork")
    answer: Queue[str] = forked.Queue()
    child = forked.Process(target=_read_by_nobody, args=(str(locked), answer))
    child.start()
    said = answer.get(timeout=60)
    child.join()
    assert "ermission" in said or "denied" in said, said
