"""`floodplain raster estimate` on real rasters: what it prints, its status, and what is told of bad input."""

from __future__ import annotations

import io
import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy
import pytest
import rasterio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.console import Console
from typer.testing import CliRunner, Result

from floodplain.cli import app
from floodplain.cli_raster_screen import print_estimate
from floodplain.quantity import GIB, MIB
from floodplain.raster import estimate
from floodplain.raster.route import route, skipped
from floodplain.raster.routed import Routed
from floodplain.raster.task import GdalSettings, Way
from floodplain.raster.terms import Estimate, Term
from floodplain.raster.tile import parse_tile
from floodplain.raster.two_pools import TwoPools
from tests.conftest import Golden
from tests.floodplain.raster.cogs import NOWHERE, TILE, cog


@pytest.fixture(scope="module")
def raster(tmp_path_factory: pytest.TempPathFactory) -> str:
    return cog(tmp_path_factory.mktemp("raster") / "a.tif")


def run(*arguments: str, env: dict[str, str] | None = None) -> Result:
    screen = {"COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb", **(env or {})}
    result = CliRunner().invoke(app, ("raster", "estimate", *arguments), env=screen)
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result


def refused(*arguments: str) -> tuple[int, list[str]]:
    result = run(*arguments)
    assert result.stdout == ""
    return result.exit_code, result.stderr.splitlines()


def answer(*arguments: str) -> Any:
    result = run(*arguments, "--json")
    assert result.stderr == ""
    return json.loads(result.stdout)


def printed(one: Routed, requests: int | None, pools: TwoPools) -> str:
    screen = Console(file=(text := io.StringIO()), width=100, color_system=None, highlight=False)
    print_estimate(screen, "s3://bucket/a.tif, tile 14/8716/5685 as 512x512", one, requests, pools)
    return re.sub(" +$", "", text.getvalue(), flags=re.MULTILINE)


def test_what_is_printed_of_each_outcome(golden: Golden) -> None:
    terms = (
        Term("destination", 3 * MIB, "512 x 512 px x 3 bands of uint8"),
        Term("block cache", 64 * MIB, "400 blocks touched are 300.0 MiB; the cache has 64.0 MiB"),
        Term("warp chunk", 56 * MIB + 700_000, "1 of 4 chunks"),
    )
    found = Estimate(terms, 1.2, ("files beside the raster were not looked for",))
    texts = []
    for pools in (
        TwoPools(),
        TwoPools(slots=8, small_limit_bytes=GIB),
        TwoPools(small_limit_bytes=512 * MIB, big_limit_bytes=190 * MIB),
    ):
        texts.append(printed(Routed(route(found, pools), found), 1, pools))
    texts.append(printed(Routed(skipped("the target lies outside the raster"), None), 0, TwoPools()))
    golden.check("floodplain/raster/golden/estimates.txt", "\n".join(texts))


def test_the_answer_is_the_librarys(raster: str) -> None:
    own = GdalSettings(cache_bytes=256 * MIB, resampling="cubic", way=Way.ARRAY, masked=True, warp_memory_bytes=GIB)
    wanted = estimate(raster, target=parse_tile(TILE, 512), settings=own)
    options = ["--resampling", "cubic", "--way", "array", "--masked", "--warp-memory", "1Gi", "--cache", "256MiB"]
    found = answer(raster, "--tile", TILE, "--size", "512", *options)
    assert found["peak_bytes"] == wanted.peak_bytes
    assert sum(found["terms"].values()) == wanted.peak_bytes
    assert found["why"] == {term.name: term.why for term in wanted.terms}
    assert (found["pool"], found["requests"], found["source"]) == ("small", 0, raster)
    assert found["container_bytes"] == wanted.peak_bytes + 104 * MIB
    assert found["reason"] == route(wanted, TwoPools(cache_bytes=256 * MIB)).reason


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (("--window", "0,0,256,256"), {"window": (0, 0, 256, 256)}),
        (("--bounds", "500000,5399000,500500,5399500", "--size", "64x32"), {"width": 64, "height": 32}),
        (("--crs", "EPSG:3857"), {"crs": "EPSG:3857"}),
        ((), {}),
        (("--factor", "1.5"), {"factor": 1.5}),
        (("--bands", "1", "--dtype", "float64"), {"bands": 1, "dtype": "float64"}),
    ],
)
def test_what_of_the_raster_may_be_said_in_several_ways(
    raster: str, arguments: tuple[str, ...], wanted: dict[str, Any]
) -> None:
    if arguments and arguments[0] == "--bounds":
        wanted["bounds"] = (500_000.0, 5_399_000.0, 500_500.0, 5_399_500.0)
    assert answer(raster, *arguments)["peak_bytes"] == estimate(raster, **wanted).peak_bytes


def test_a_vrt_of_the_rasters_resolution_reads_an_overview(raster: str) -> None:
    found, direct = answer(raster, "--tile", "12/2218/1411", "--native-vrt"), answer(raster, "--tile", "12/2218/1411")
    own = GdalSettings(native_vrt=True)
    assert found["peak_bytes"] == estimate(raster, tile=(12, 2218, 1411), settings=own).peak_bytes
    assert found["peak_bytes"] < direct["peak_bytes"]


def test_a_tile_that_shares_no_pixel_is_skipped_and_has_no_size(raster: str) -> None:
    result = run(raster, "--tile", NOWHERE, "--json")
    found = json.loads(result.stdout)
    assert (result.exit_code, found["pool"], "peak_bytes" in found) == (0, "skipped", False)


def test_a_task_above_the_big_pool_is_refused_with_the_number(tmp_path: Path) -> None:
    whole = cog(tmp_path / "large.tif", side=4096, bands=4, dtype="float32")
    result = run(whole, "--window", "0,0,4096,4096", "--small-memory", "300Mi", "--big-memory", "300Mi", "--slots", "2")
    words = " ".join(result.stdout.split())
    assert result.exit_code == 1
    assert "is above the 132 MiB that the big worker has for its one task (300 MiB less 168 MiB of baseline" in words


@pytest.mark.parametrize("pixels", [131_072])
def test_a_raster_of_131072_pixels_a_side_has_an_estimate(tmp_path: Path, pixels: int) -> None:
    path = str(tmp_path / "huge.tif")
    profile = {"driver": "GTiff", "width": pixels, "height": pixels, "count": 1, "dtype": "complex_int16"}
    transform = rasterio.transform.from_origin(500_000, 5_400_000, 2, 2)
    layout = {"tiled": True, "blockxsize": 4096, "blockysize": 4096, "sparse_ok": True}
    with rasterio.open(path, "w", crs="EPSG:32633", transform=transform, **layout, **profile):
        pass
    found = answer(path, "--window", f"0,0,{pixels},{pixels}")
    assert found["pool"] == "refused"
    assert found["peak_bytes"] > 4 * pixels**2


def test_pools_are_those_of_the_file_and_options_go_before_it(raster: str, tmp_path: Path) -> None:
    pools = tmp_path / "raster.json"
    pools.write_text('{"slots": 2, "smallLimitBytes": "300Mi", "bigLimitBytes": "400Mi", "cacheBytes": "32Mi"}')
    whole = ("--window", "0,0,1024,1024", "--pools-file", str(pools))
    of_file = TwoPools(slots=2, small_limit_bytes=300 * MIB, big_limit_bytes=400 * MIB, cache_bytes=32 * MIB)
    found = estimate(raster, window=(0, 0, 1024, 1024), settings=GdalSettings(cache_bytes=32 * MIB))
    assert answer(raster, *whole)["reason"] == route(found, of_file).reason
    four = TwoPools(slots=4, small_limit_bytes=300 * MIB, big_limit_bytes=400 * MIB, cache_bytes=32 * MIB)
    assert answer(raster, *whole, "--slots", "4")["reason"] == route(found, four).reason


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (("--cache", "64"), ["--cache: '64' is less than 1 MiB; write the unit too: 64Mi if MiB are meant"]),
        (("--cache", "512MB"), ["--cache: '512MB' is not a quantity; write 512M (decimal) or 512Mi (binary)"]),
        (("--warp-memory", "5%"), ["--warp-memory: '5%' is not a quantity; write a number with a Kubernetes suffix,"]),
        (("--slots", "0"), ["--slots: 0 is less than one; a worker has at least one"]),
        (
            ("--small-memory", "100Mi"),
            ["--small-memory: '100Mi' leaves nothing for 8 tasks at once: 168 MiB = 1 x (baseline"],
        ),
        (
            ("--threshold", "0.8"),
            ["--threshold: '0.8' is a share; write the size that `raster workers --threshold 0.8` prints"],
        ),
        (("--threshold", "4Gi"), ["--threshold: '4Gi' is above the slot budget of 1,003 MiB: a task just"]),
        (("--resampling", "cubik"), ["--resampling: 'cubik' is no resampling of rasterio; did you mean `cubic`?"]),
        (("--way", "vtr"), ["--way: 'vtr' is no way through GDAL; did you mean `vrt`?"]),
        (
            ("--native-vrt", "--way", "band"),
            ["--native-vrt: does not go with --way band, which warps no VRT; leave it out"],
        ),
        (("--tile", "1/2"), ["--tile: '1/2' is not a tile; write three whole numbers, z/x/y: 14/8716/5685"]),
        (("--window", "0,0,0,5"), ["--window: '0,0,0,5' has no pixels: 0 x 5; write column,row,width,height"]),
        (("--bands", "0"), ["--bands: '0' is not from 1 to 65535 bands; write how many bands are read"]),
        (("--bounds", "1,2,3"), ["--bounds: '1,2,3' is not bounds; write left,bottom,right,top"]),
        (("--size", "512*512"), ["--size: '512*512' is not a size; write WIDTHxHEIGHT in pixels: 512x512"]),
        (("--crs", "EPSG:99999"), ["--crs: 'EPSG:99999' is no CRS that PROJ knows; write EPSG:3857, or WKT"]),
        (("--crs", "4326"), ["--crs: '4326' is no CRS that PROJ knows; write EPSG:4326"]),
        (("--tile", TILE, "--window", "0,0,1,1"), ["--tile and --window: are given together; keep one of them"]),
        (("--tile", TILE, "--crs", "EPSG:4326"), ["--crs: 'EPSG:4326' does not go with tile; leave it out: a tile is"]),
        (
            ("--cache", "64", "--way", "x", "--warp-memory", "x", "--slots", "0"),
            ["--cache: '64' is less", "--warp-memory: 'x' is not", "--way: 'x' is no way"],
        ),
    ],
)
def test_bad_options_are_told_with_option_value_rule_and_remedy(
    raster: str, arguments: tuple[str, ...], wanted: list[str]
) -> None:
    status, told = refused(raster, *arguments)
    assert status == 2
    assert len(told) == len(wanted)
    for line, start in zip(told, wanted, strict=True):
        assert line.startswith(start)


def test_pools_that_nobody_named_are_told(raster: str) -> None:
    told = "Pools by default: 8 slots in 8Gi, a big worker of 16Gi."
    assert told in run(raster, "--tile", TILE).stdout
    assert "by default" not in run(raster, "--tile", TILE, "--slots", "4").stdout
    assert "by default" not in run(raster, "--tile", NOWHERE).stdout


def test_bounds_in_degrees_without_their_crs_are_skipped_with_the_crs_that_they_were_taken_for(raster: str) -> None:
    found = json.loads(run("--json", raster, "--bounds", "13.3,52.5,13.4,52.6").stdout)
    with rasterio.open(raster) as dataset:
        wanted = f"without crs they are taken to be in the raster's, {dataset.crs}"
    assert (found["pool"], found["reason"].partition("; ")[2]) == ("skipped", wanted)


def test_a_bad_figure_of_the_pools_file_is_told_where_it_stands(raster: str, tmp_path: Path) -> None:
    pools = tmp_path / "raster.json"
    pools.write_text('{"slots": 8, "smallLimitBytes": "100Mi"}')
    status, (told,) = refused(raster, "--pools-file", str(pools))
    assert (status, told.partition(" leaves")[0]) == (1, f"--pools-file: {pools}: small_limit_bytes: '100Mi'")
    pools.write_text("{")
    status, (told,) = refused(raster, "--pools-file", str(pools))
    assert (status, told.partition(" (")[0]) == (1, f"--pools-file: {pools}: the pools: are not JSON")
    missing = tmp_path / "none.json"
    told = f"--pools-file: {missing} cannot be read (No such file or directory); name a file that you may read"
    assert refused(raster, "--pools-file", str(missing)) == (1, [told])


def test_a_raster_that_cannot_be_read_is_told_in_one_line(tmp_path: Path) -> None:
    page = tmp_path / "page.tif"
    page.write_text("<!DOCTYPE html><html><body>Please sign in</body></html>")
    empty = tmp_path / "empty.tif"
    empty.write_bytes(b"")
    whole = Path(cog(tmp_path / "whole.tif")).read_bytes()
    cut = tmp_path / "cut.tif"
    cut.write_bytes(whole[:200])
    for path in (tmp_path / "none.tif", tmp_path, page, empty, cut):
        status, told = refused(str(path), "--tile", TILE)
        assert (status, len(told)) == (1, 1)
        assert told[0].startswith(f"{path}: ")
        assert "; " in told[0]


def test_more_bands_than_the_raster_has_are_told(raster: str) -> None:
    status, (told,) = refused(raster, "--bands", "9")
    assert (status, told) == (1, f"{raster}: 9 bands are asked of a raster that has 3; ask for fewer")


def test_without_rasterio_the_command_says_what_to_install(raster: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rasterio", None)
    told = ["The command needs rasterio: pip install 'floodplain[raster]'"]
    assert refused(raster) == (1, told)


def test_a_raster_without_crs_says_so_instead_of_a_size(tmp_path: Path) -> None:
    path = str(tmp_path / "bare.tif")
    with rasterio.open(path, "w", driver="GTiff", width=64, height=64, count=1, dtype="uint8") as made:
        made.write(numpy.zeros((1, 64, 64), "uint8"))
    status, (told,) = refused(path, "--tile", TILE)
    assert (status, told.startswith(f"{path}: the raster has no CRS")) == (1, True)
    assert answer(path, "--window", "0,0,64,64")["pool"] == "small"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=20)
@given(st.text(max_size=12), st.text(max_size=8), st.text(max_size=8), st.text(max_size=8))
def test_no_text_ends_in_a_traceback(tile: str, window: str, cache: str, crs: str) -> None:
    result = run("nowhere.tif", f"--tile={tile}", f"--window={window}", f"--cache={cache}", f"--crs={crs}")
    assert result.exit_code in (1, 2)
