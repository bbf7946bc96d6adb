"""A few real warps, measured now: none holds more than its estimate by a quarter.

The long matrix is benchmarks/raster_warps.py. The measuring runs in a process of its own: what pytest has freed would
hide what a task allocates.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("rasterio")

ROOT = Path(__file__).resolve().parents[3]
SCRIPT = """
import json
from dataclasses import replace
from floodplain.quantity import MIB
from floodplain.raster.task import GdalSettings, Way
from benchmarks.raster_warps import measure
from benchmarks.warp_cases import PLACES, Case, Source

def source(number, kind, dtype, bands, overviews=(), grain=0):
    return Source(number, PLACES[0], 1500, 1400, dtype, bands, 256, 0, "pixel", "deflate", kind, overviews, grain)

def case(source, way, **others):
    settings = GdalSettings(resampling="cubic", way=way, **others)
    return Case(source, (100, 50, 1200, 1100), "EPSG:3857", 1.0, False, settings)

rgb, nodata, rgba = source(0, "plain", "uint8", 3), source(1, "nodata", "float32", 1), source(2, "alpha", "uint8", 4)
cases = [case(rgb, way) for way in Way]
cases += [case(rgb, Way.VRT, warp_memory_bytes=4 * MIB), case(rgb, Way.VRT, add_alpha=True)]
cases += [case(nodata, Way.VRT, masked=True), case(nodata, Way.READ, masked=True), case(rgba, Way.VRT)]
# As a tile of a low zoom: the raster covers a thousandth of it.
settings = GdalSettings(resampling="bilinear")
far = [Case(rgba, (-20_000, -18_000, 45_000, 45_000), "EPSG:3857", 256 / 45_000, False, settings)]
cases += [*far, replace(far[0], settings=replace(settings, way=Way.BAND))]
found = [(str(one.case), one.ratio) for one in measure(cases)]
print(json.dumps(found))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="high-water marks are reset through Linux's /proc")
def test_real_warps_hold_no_more_than_their_estimates_by_a_quarter() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert len(found) == 11
    assert [(case, ratio) for case, ratio in found if not 0.8 <= ratio <= 2] == []
