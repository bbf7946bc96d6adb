"""The level that is read is the one that GDAL reads: asked of GDAL itself, through its debug log."""

from __future__ import annotations

import logging
import re
from pathlib import Path

import pytest
import rasterio
from rasterio.enums import Resampling
from rasterio.shutil import copy
from rasterio.transform import from_bounds, from_origin
from rasterio.vrt import WarpedVRT
from rasterio.warp import transform_bounds

from floodplain.raster.overview_choice import decimation_asked, overview_read
from floodplain.raster.read_header import read_header
from floodplain.raster.target import Target, complete
from floodplain.raster.task import GdalSettings, Way
from floodplain.raster.window import reach

SIDE = 4096
FACTORS = (2, 4, 8)


@pytest.fixture(scope="module")
def cog(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("cog") / "a.tif"
    with rasterio.MemoryFile() as memory:
        profile = {"width": SIDE, "height": SIDE, "count": 1, "dtype": "uint8", "crs": "EPSG:32633"}
        with memory.open(driver="GTiff", transform=from_origin(500_000, 5_400_000, 2, 2), sparse_ok=True, **profile):
            pass
        copy(memory.name, str(path), driver="COG", blocksize=512, sparse_ok=True)
    assert read_header(str(path)).header.overviews == FACTORS
    return str(path)


class Selected(logging.Handler):
    """Remembers which overview GDAL says that it takes: its width."""

    width: int | None = None

    def emit(self, record: logging.LogRecord) -> None:
        found = re.search(r"[Ss]electing overview (\d+) x|[Oo]pened (\d+)x\d+ overview", record.getMessage())
        if found and found[1]:
            self.width = int(found[1])


@pytest.fixture
def selected() -> Selected:
    return Selected()


def warped_choice(cog: str, out: int, resampling: str, selected: Selected) -> int:
    """The factor that GDAL takes for the first 1024 px of a WarpedVRT at native resolution."""
    logger = logging.getLogger("rasterio")
    level = logger.level
    logger.addHandler(selected)
    logger.setLevel(logging.DEBUG)
    selected.width = None
    try:
        with (
            rasterio.Env(CPL_DEBUG="ON"),
            rasterio.open(cog) as source,
            WarpedVRT(source, crs="EPSG:3857") as warped,
        ):
            warped.read(1, window=((0, 1024), (0, 1024)), out_shape=(out, out), resampling=Resampling[resampling])
            return 1 if selected.width is None else round(warped.width / selected.width)
    finally:
        logger.removeHandler(selected)
        logger.setLevel(level)


@pytest.mark.parametrize("resampling", ["nearest", "bilinear", "average"])
def test_a_warped_vrt_at_native_resolution_takes_the_overview_that_we_say(
    cog: str, resampling: str, selected: Selected
) -> None:
    # Around each of GDAL's own limits, on both sides.
    outs = [1000, 700, 640, 600, 550, 535, 512, 400, 320, 300, 264, 256, 200, 156, 150, 131, 128, 100, 64, 20]
    said = [overview_read(FACTORS, 1024 / out, resampling, warped=True) for out in outs]
    assert said == [warped_choice(cog, out, resampling, selected) for out in outs]


@pytest.mark.parametrize(
    ("asked", "resampling", "level"),
    [
        (1.0, "nearest", 1),
        (1.58, "nearest", 1),
        (1.59, "nearest", 2),
        (3.24, "nearest", 2),
        (3.26, "nearest", 4),
        (1.89, "cubic", 1),
        (1.91, "cubic", 2),
        (3.89, "cubic", 2),
        (3.91, "cubic", 4),
        (500.0, "nearest", 8),
        (0.5, "nearest", 1),
    ],
)
def test_limits_of_plain_reads_measured_with_gdal_3_10(asked: float, resampling: str, level: int) -> None:
    assert overview_read(FACTORS, asked, resampling) == level
    assert overview_read((), asked, resampling) == 1


def test_the_axis_that_shrinks_less_decides() -> None:
    assert decimation_asked(1000, 1000, 100, 500) == 2
    assert decimation_asked(1000, 1000, 100, 1) == 10


def test_a_warp_at_the_targets_size_reads_full_resolution_and_that_is_said(cog: str) -> None:
    header = read_header(cog).header
    grid = complete(Target("EPSG:3857", None, 256, 256), header)
    direct = reach(header, grid, GdalSettings())
    native = reach(header, grid, GdalSettings(native_vrt=True))
    plain = reach(header, complete(Target(None, None, 256, 256), header), GdalSettings(way=Way.READ))
    found = [one.windows[0] for one in (direct, native, plain)]  # type: ignore[union-attr]
    assert [window.decimation for window in found] == [1, 8, 8]
    assert [window.width for window in found] == [SIDE, SIDE // 8, SIDE // 8]
    assert "full resolution is read although there are overviews" in direct.notes[0]  # type: ignore[union-attr]
    # And so it is: what GDAL makes is made of pixels that are in the full raster only.
    assert made_of_full_resolution(cog)


def made_of_full_resolution(cog: str) -> bool:
    """A warp of a raster whose overviews hold another value than its pixels."""
    path = Path(cog).with_name("marked.tif")
    with rasterio.open(cog) as source:
        profile = {**source.profile, "driver": "GTiff", "compress": None}
    with rasterio.open(path, "w", **profile):
        pass
    with rasterio.open(path, "r+") as made:
        made.build_overviews([2, 4, 8], Resampling.nearest)
    for level in range(3):
        with rasterio.open(path, "r+", overview_level=level) as overview:
            overview.write((overview.read(1) * 0 + 200).astype("uint8"), 1)
    with rasterio.open(path) as source:
        assert source.read(1, out_shape=(256, 256)).max() == 200
        bounds = transform_bounds(source.crs, "EPSG:3857", *source.bounds)
        grid = {"crs": "EPSG:3857", "transform": from_bounds(*bounds, 256, 256), "width": 256, "height": 256}
        with WarpedVRT(source, **grid) as direct:
            full = direct.read(1).max() == 0
        with WarpedVRT(source, crs="EPSG:3857") as native:
            return bool(full and native.read(1, out_shape=(256, 256)).max() == 200)
