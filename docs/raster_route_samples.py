"""What `floodplain raster` prints of estimates and routes, run for the docs over a real raster without pixels."""

from __future__ import annotations

import contextlib
import json
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

from typer.testing import CliRunner

WIDTH = "110"
POOLS = ("--small-memory", "2Gi", "--slots", "4", "--big-memory", "4Gi")
TASKS = (
    {"source": "ortho.tif", "tile": "17/71008/40868", "size": 512},
    {"source": "ortho.tif", "tile": "17/71009/40869", "size": 512},
    {"source": "ortho.tif", "tile": "11/1109/638", "size": 512, "resampling": "cubic"},
    {"source": "ortho.tif", "crs": "EPSG:3857", "way": "array"},
    {"source": "ortho.tif", "tile": "11/1/1"},
)
"""Two that are small, one that reads the whole raster for 512 pixels, one that no pool takes, one without a pixel."""


def estimated(*arguments: str) -> str:
    """The estimate of a tile."""
    with _work():
        return _block(_run("estimate", "ortho.tif", *arguments, *POOLS))


def routed() -> str:
    """The list above, routed."""
    with _work():
        return _block(_run("route", "tiles.jsonl", "--out", "routed", *POOLS))


def annotated() -> str:
    """The annotations for what the list sends to the big pool."""
    with _work():
        _run("route", "tiles.jsonl", "--out", "routed", *POOLS)
        return _block(_run("annotate", "--routed", "routed/big.jsonl"), "yaml")


def a_line() -> str:
    """The first line of big.jsonl, on several lines."""
    with _work():
        _run("route", "tiles.jsonl", "--out", "routed", *POOLS)
        first = json.loads(Path("routed/big.jsonl").read_text(encoding="utf-8").splitlines()[0])
    return _block(json.dumps(first, indent=2), "json")


@contextlib.contextmanager
def _work() -> Iterator[None]:
    """A folder with ortho.tif (20,000 x 20,000 pixels of 0.5 m, RGB and alpha, no overviews) and tiles.jsonl."""
    import rasterio
    from rasterio.enums import ColorInterp
    from rasterio.transform import from_origin

    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        profile = {"driver": "GTiff", "width": 20_000, "height": 20_000, "count": 4, "dtype": "uint8"}
        layout = {"tiled": True, "blockxsize": 512, "blockysize": 512, "sparse_ok": True, "photometric": "RGB"}
        place = {"crs": "EPSG:32633", "transform": from_origin(500_000, 6_200_000, 0.5, 0.5)}
        with rasterio.open("ortho.tif", "w", **profile, **layout, **place) as made:
            made.colorinterp = [ColorInterp.red, ColorInterp.green, ColorInterp.blue, ColorInterp.alpha]
        Path("tiles.jsonl").write_text("".join(f"{json.dumps(task)}\n" for task in TASKS), encoding="utf-8")
        yield


def _run(*arguments: str) -> str:
    from floodplain.cli import app

    environment = {"COLUMNS": WIDTH, "NO_COLOR": "1", "TERM": "dumb"}
    return CliRunner().invoke(app, ("raster", *arguments), env=environment).output


def _block(text: str, language: str = "text") -> str:
    return f"```{language}\n{re.sub(' +$', '', text.rstrip(), flags=re.M)}\n```"
