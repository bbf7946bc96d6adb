"""A first warp, so that what every process does once is part of the baseline. Edge: GDAL, in memory."""

from __future__ import annotations


def warm_up_raster() -> None:
    """Import rasterio, open its databases of projections, and warp a small raster once by each way. Some 0.2 s.

    Without it the first task is charged 60 MiB and more of library pages (facts/sizing.md 4).
    """
    import numpy
    from rasterio.io import MemoryFile
    from rasterio.transform import from_origin
    from rasterio.vrt import WarpedVRT
    from rasterio.warp import Resampling, reproject

    pixels = numpy.zeros((1, 64, 64), dtype="uint8")
    with MemoryFile() as memory:
        with memory.open(
            driver="GTiff",
            width=64,
            height=64,
            count=1,
            dtype="uint8",
            crs="EPSG:32633",
            transform=from_origin(500_000, 5_400_000, 10, 10),
            tiled=True,
            blockxsize=64,
            blockysize=64,
            compress="deflate",
        ) as raster:
            raster.write(pixels)
        with memory.open() as raster, WarpedVRT(raster, crs="EPSG:3857", resampling=Resampling.bilinear) as warped:
            warped.read()
            reproject(
                pixels[0],
                numpy.zeros((64, 64), dtype="uint8"),
                src_transform=raster.transform,
                src_crs=raster.crs,
                dst_transform=warped.transform,
                dst_crs=warped.crs,
                resampling=Resampling.bilinear,
            )
