"""Which rasters and which tasks over them the raster benchmark measures: drawn from a seed, nothing is opened."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, replace

from floodplain.quantity import MIB
from floodplain.raster.pixel_size import itemsize
from floodplain.raster.task import GdalSettings, Way

LARGEST_SOURCE = 160 * MIB
"""Decoded; a source takes seconds to write otherwise."""
LARGEST_WINDOW = 8192
BEYOND = 0.2
"""Of the warps whose target may: share whose target reaches beyond the raster, as a tile of a low zoom does."""
MOST_BEYOND = 2048
"""Pixels of such a target in one direction."""
GEOGRAPHIC, NORTH = "EPSG:4326", 84
DECIMATION = 8
"""The coarsest destination, in pixels of the source a pixel."""


@dataclass(frozen=True)
class Place:
    """A CRS with a corner and a size of pixels, and the CRSs that its rasters are warped to."""

    crs: str
    left: float
    top: float
    pixel: float
    others: tuple[str, ...]


PLACES = (
    Place("EPSG:32633", 450_000, 5_600_000, 10, ("EPSG:3857", "EPSG:4326", "EPSG:3035")),
    Place("EPSG:4326", 14.2, 50.6, 0.0001, ("EPSG:3035", "EPSG:32633", "EPSG:3857")),
    Place("EPSG:3857", 1_600_000, 6_500_000, 10, ("EPSG:4326", "EPSG:32633")),
    Place("EPSG:3413", -900_000, -800_000, 50, ("EPSG:3857", "EPSG:4326", "EPSG:32626")),
    Place("EPSG:4326", -40.0, 72.0, 0.0005, ("EPSG:3413", "EPSG:3857")),
)
BANDS = (
    *(("uint8", 1), ("uint8", 3), ("uint8", 3), ("uint8", 13), ("int8", 2), ("uint16", 1), ("uint16", 4)),
    *(("uint16", 13), ("int16", 1), ("uint32", 1), ("int32", 2), ("float32", 1), ("float32", 4), ("float64", 1)),
    *(("float64", 3), ("complex_int16", 1), ("complex64", 1), ("complex128", 1)),
)
KERNELS = ("nearest", "bilinear", "cubic", "cubic_spline", "lanczos", "average", "mode")
COMPLEX_KERNELS = ("nearest", "bilinear", "cubic", "lanczos")


@dataclass(frozen=True)
class Source:
    """A GeoTIFF to be made."""

    number: int
    place: Place
    width: int
    height: int
    dtype: str
    bands: int
    tile: int | None
    """Side of a tile; None for strips."""
    strip_rows: int
    interleave: str
    compression: str | None
    kind: str
    """plain, nodata, alpha or mask."""
    overviews: tuple[int, ...]
    grain: int
    """Noise from 0 to below this is added to each value: with none a codec makes a fiftieth of them, with much of it
    more than half."""

    @property
    def name(self) -> str:
        return f"{self.number}.tif"

    @property
    def bytes(self) -> int:
        return self.width * self.height * self.bands * itemsize(self.dtype)


@dataclass(frozen=True)
class Case:
    """One task over one source."""

    source: Source
    window: tuple[int, int, int, int]
    """Column, row, width and height of the part of the source that the destination covers."""
    crs: str
    scale: float
    """Pixels of the destination to one of the source, in each direction."""
    by_shape: bool
    """The destination is made small by `out_shape` of the read, of a VRT by one of the source's resolution; else by its
    own grid."""
    settings: GdalSettings

    def __str__(self) -> str:
        source, settings = self.source, self.settings
        layout = f"tile {source.tile}" if source.tile else f"strip {source.strip_rows}"
        flags = [name for name in ("masked", "add_alpha", "remote") if getattr(settings, name)]
        flags += ["out_shape"] if self.by_shape else []
        return (
            f"{settings.way} {self.window[2]}x{self.window[3]} of {source.width}x{source.height} x{self.scale:g} "
            f"{source.bands}x{source.dtype} {source.kind} {layout} {source.interleave} {source.compression} "
            f"grain {source.grain} "
            f"{source.place.crs[5:]}>{self.crs[5:]} {settings.resampling} cache {settings.cache_bytes // MIB} "
            f"warp {settings.warp_memory_bytes // MIB} threads {settings.threads} {' '.join(flags)}"
        )


def draw(seed: int, count: int, tasks: int = 6) -> list[Case]:
    """`count` cases, `tasks` over each source."""
    chosen = random.Random(seed)
    sources = [_source(chosen, number) for number in range(math.ceil(count / tasks))]
    return [_case(chosen, source) for source in sources for _ in range(tasks)][:count]


def _source(chosen: random.Random, number: int) -> Source:
    dtype, bands = chosen.choice(BANDS)
    kind = chosen.choice(("plain", "plain", "nodata", "alpha", "mask"))
    if kind == "alpha":
        dtype, bands = chosen.choice((("uint8", 4), ("uint8", 2), ("uint16", 4)))
    if kind in {"nodata", "mask"} and dtype.startswith("complex"):
        kind = "plain"
    most = math.sqrt(LARGEST_SOURCE / (bands * itemsize(dtype)))
    side = min(LARGEST_WINDOW, most, 2 ** chosen.uniform(9, 13.5))
    width = max(256, round(side * chosen.uniform(0.7, 1.0)))
    height = max(256, round(side))
    tiled = chosen.random() < 0.75
    rows = chosen.choice((1, 16, 64, 512 if height > 512 else height))
    overviews = (2, 4, 8) if chosen.random() < 0.4 and not dtype.startswith("complex") else ()
    return Source(
        number,
        chosen.choice(PLACES),
        width,
        height,
        dtype,
        bands,
        chosen.choice((128, 256, 512, 512, 1024)) if tiled else None,
        rows,
        chosen.choice(("pixel", "pixel", "band")),
        chosen.choice((None, "deflate", "lzw", "zstd")),
        kind,
        overviews,
        chosen.choice((0, 4, 64)),
    )


def _case(chosen: random.Random, source: Source) -> Case:
    way = chosen.choice((Way.VRT, Way.VRT, Way.BAND, Way.ARRAY, Way.READ))
    side = 2 ** chosen.uniform(7, 13)
    width, height = (min(whole, max(64, round(side * chosen.uniform(0.6, 1.4)))) for whole in _sides(source))
    if chosen.random() < 0.3:
        width, height = source.width, source.height
    column, row = chosen.randint(0, source.width - width), chosen.randint(0, source.height - height)
    by_shape = bool(source.overviews) and way in {Way.VRT, Way.READ} and chosen.random() < 0.6
    if by_shape and chosen.random() < 0.5:
        column, row, width, height = 0, 0, source.width, source.height
    scale = 1 / chosen.choice((2, 4, DECIMATION)) if by_shape else chosen.choice((1, 1, 1, 1.5, 0.5, 0.25))
    if way in {Way.READ} and not by_shape:
        scale = 1.0
    if way in {Way.VRT, Way.BAND} and not by_shape and chosen.random() < BEYOND:
        column, row, width, height = _beyond(chosen, source)
        scale = min(scale, MOST_BEYOND / max(width, height))
    complex_values = source.dtype.startswith("complex")
    settings = GdalSettings(
        cache_bytes=chosen.choice((16, 32, 64, 128, 256)) * MIB,
        warp_memory_bytes=chosen.choice((16, 64, 64, 128, 256, 512)) * MIB,
        resampling=chosen.choice(COMPLEX_KERNELS if complex_values else KERNELS),
        threads=chosen.choice((1, 1, 2, 4)) if way is not Way.READ else 1,
        way=way,
        masked=way in {Way.VRT, Way.READ} and not complex_values and chosen.random() < 0.3,
        add_alpha=way is Way.VRT and source.kind in {"plain", "mask"} and not complex_values and chosen.random() < 0.15,
        remote=chosen.random() < 0.15,
        native_vrt=by_shape and way is Way.VRT,
    )
    if way is Way.READ:
        settings = replace(settings, resampling="nearest")
    return Case(source, (column, row, width, height), chosen.choice(source.place.others), scale, by_shape, settings)


def _beyond(chosen: random.Random, source: Source) -> tuple[int, int, int, int]:
    """A target up to 8 times as wide as the raster, which lies somewhere within it."""
    times = 2 ** chosen.uniform(0.2, 3)
    width, height = round(source.width * times), round(source.height * times)
    column, row = -chosen.randint(0, width - source.width), -chosen.randint(0, height - source.height)
    if source.place.crs == GEOGRAPHIC:
        # No further north than Web Mercator and polar stereographic can both be asked for.
        row = max(row, -math.floor((NORTH - source.place.top) / source.place.pixel))
    return column, row, width, height


def _sides(source: Source) -> tuple[int, int]:
    return source.width, source.height
