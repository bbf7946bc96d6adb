"""Requests for a raster's header and headers a second, against rasterio.open with GDAL's own settings.

Over HTTP (a server with ranges in a process of its own, on the same cores) and from S3 (moto). Options: --headers=N.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest.mock import patch

from .logged_s3 import s3_serving, server_variables
from .ranges_server import Server, serving
from .rows import Row, at_most

PEER = "rasterio.open, defaults"
_THREADS = 4
_SETTING = {"AWS_EC2_METADATA_DISABLED": "true"}


def run(options: Sequence[str]) -> list[Row]:
    """Needs the raster requirements and, for S3, moto."""
    count = next((int(option.partition("=")[2]) for option in options if option.startswith("--headers=")), 600)
    with tempfile.TemporaryDirectory() as folder:
        files = _make(Path(folder))
        return [*_http(Path(folder), count), *_s3(files), *_sidecars(Path(folder))]


def _make(folder: Path) -> dict[str, Path]:
    """COGs with and without overviews, and a TIFF with overviews and a mask in files of their own."""
    import numpy as np
    import rasterio
    from rasterio.enums import Resampling
    from rasterio.shutil import copy
    from rasterio.transform import from_origin

    profile = {
        "driver": "GTiff", "width": 4096, "height": 4096, "count": 3, "dtype": "uint8", "crs": "EPSG:32633",
        "transform": from_origin(500_000, 5_400_000, 1, 1), "tiled": True,
    }  # fmt: skip
    pixels = np.random.default_rng(1).integers(0, 255, (3, 4096, 4096), dtype=np.uint8)
    beside = folder / "beside.tif"
    with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=False), rasterio.open(beside, "w", **profile) as made:
        made.write(pixels)
        made.write_mask(np.ones((4096, 4096), dtype=bool))
    copy(str(beside), str(folder / "cog.tif"), driver="COG")
    copy(str(beside), str(folder / "plain.tif"), driver="COG", overviews="NONE")
    with rasterio.Env(TIFF_USE_OVR=True), rasterio.open(beside, "r+") as made:
        made.build_overviews([2, 4, 8], Resampling.nearest)
    return {name: folder / f"{name}.tif" for name in ("cog", "plain", "beside")}


def _http(folder: Path, count: int) -> list[Row]:
    rows = []
    with serving(folder) as server:
        for name in ("cog", "plain"):
            words = "COG" if name == "cog" else "COG without overviews"
            ours, told = _ours(server, f"{server.url}/as/ours/{name}.tif")
            theirs = _peer(server, f"{server.url}/as/theirs/{name}.tif")
            rows += [
                Row(f"requests, {words} over HTTP", "", ours, 2, PEER, theirs, ours <= 2),
                at_most(f"requests told wrongly, {words}", "", abs((told or 0) - ours), 0),
            ]
        from floodplain.raster.read_header import read_header

        ours_rate = _rate(lambda n: read_header(f"{server.url}/as/rate-{n}/cog.tif"), count)
        peer_rate = _rate(lambda n: _open(f"{server.url}/as/peer-{n}/cog.tif"), max(1, count // 4))
        figure = f"headers a second over HTTP, {_THREADS} threads, {os.cpu_count()} cores"
        rows.append(Row(figure, "/s", round(ours_rate), 200, PEER, round(peer_rate), ours_rate >= 200))
        rows.append(Row("as a multiple of the peer's", "x", round(ours_rate / peer_rate, 2)))
    return rows


def _s3(files: dict[str, Path]) -> list[Row]:
    # One prefix each: the peer's listing of one is remembered by GDAL.
    objects = {f"data/{who}-{name}/{name}.tif": files[name] for who in ("ours", "peer") for name in ("cog", "plain")}
    rows = []
    with s3_serving(objects) as server, patch.dict(os.environ, {**server_variables(server), **_SETTING}):
        for name in ("cog", "plain"):
            words = "COG" if name == "cog" else "COG without overviews"
            ours, _ = _ours(server, f"s3://data/ours-{name}/{name}.tif")
            theirs = _peer(server, f"s3://data/peer-{name}/{name}.tif")
            rows.append(Row(f"requests, {words} from S3", "", ours, 1, PEER, theirs, ours <= 1))
    return rows


def _sidecars(folder: Path) -> list[Row]:
    """What lies beside a raster: hidden and said, or seen when asked for."""
    from floodplain.raster.read_header import HIDDEN_SIDECARS, read_header

    with serving(folder) as server:
        hidden = read_header(f"{server.url}/as/hidden/beside.tif")
        seen = read_header(f"{server.url}/as/seen/beside.tif", sidecars=True)
        said = int(HIDDEN_SIDECARS in hidden.notes and hidden.header.overviews == ())
        right = int(seen.header.overviews == (2, 4, 8) and seen.header.dataset_mask)
        return [
            Row("hidden neighbours that are said", "of 1", said, 1, holds=said == 1),
            Row("neighbours seen when asked for", "of 1", right, 1, holds=right == 1),
            Row("requests with neighbours", "", len(server.requests("/as/seen/"))),
        ]


def _ours(server: Server, path: str) -> tuple[int, int | None]:
    from floodplain.raster.read_header import read_header

    before = len(server.requests())
    told = read_header(path).requests
    return len(server.requests()) - before, told


def _peer(server: Server, path: str) -> int:
    before = len(server.requests())
    _open(path)
    return len(server.requests()) - before


def _open(path: str) -> None:
    import rasterio

    with rasterio.open(path) as dataset:
        _ = (dataset.profile, dataset.overviews(1), dataset.mask_flag_enums)


def _rate(read: Callable[[int], object], count: int) -> float:
    started = time.perf_counter()
    with ThreadPoolExecutor(_THREADS) as pool:
        for _ in pool.map(read, range(count)):
            pass
    return count / (time.perf_counter() - started)
