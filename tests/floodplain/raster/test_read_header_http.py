"""A header over HTTP: two requests, no pixel, and a clear word where there is no header. Against a server that logs."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import rasterio
from rasterio.env import getenv

from benchmarks.ranges_server import Request, Server
from floodplain.raster.gdal_library import network_statistics, reset_network_statistics
from floodplain.raster.read_header import HIDDEN_SIDECARS, INGESTED_BYTES, RasterUnreadable, read_header
from tests.floodplain.raster.served import folder, server

__all__ = ["folder", "server"]


def test_a_cog_takes_a_head_and_one_range(server: Server) -> None:
    reading = read_header(f"{server.url}/as/two/cog.tif")
    assert server.requests("/as/two/") == [
        Request("HEAD", "/as/two/cog.tif", None, 200, 0),
        Request("GET", "/as/two/cog.tif", f"bytes=0-{INGESTED_BYTES - 1}", 206, INGESTED_BYTES),
    ]
    assert reading.requests == 2
    assert reading.notes == (HIDDEN_SIDECARS,)
    header = reading.header
    assert (header.width, header.height, header.dtypes, header.overviews) == (1024, 1024, ("uint16", "uint16"), (2, 4))
    assert (header.block_width, header.block_height, header.nodata) == (256, 256, (0.0, 0.0))
    assert (header.crs, header.compression, header.driver) == ("EPSG:32633", "DEFLATE", "GTiff")


def test_rasterio_by_default_takes_ten_requests_or_more(server: Server) -> None:
    """What the setting saves; here the listing is refused and each possible neighbour is asked for."""
    rasterio.open(f"{server.url}/as/default/cog.tif").close()
    assert len(server.requests("/as/default/")) >= 10


def test_neighbours_are_hidden_and_that_is_said_and_looked_for_when_asked(server: Server) -> None:
    hidden = read_header(f"{server.url}/as/hidden/beside.tif")
    assert (hidden.header.overviews, hidden.header.dataset_mask, hidden.requests) == ((), False, 2)
    assert HIDDEN_SIDECARS in hidden.notes
    seen = read_header(f"{server.url}/as/seen/beside.tif", sidecars=True)
    assert (seen.header.overviews, seen.header.dataset_mask) == ((2, 4), True)
    assert HIDDEN_SIDECARS not in seen.notes
    assert seen.requests == len(server.requests("/as/seen/"))
    assert seen.requests > 10


COUNTED = [(name, look) for name in ("cog.tif", "plain.tif", "beside.tif", "no-head/cog.tif") for look in (False, True)]


# Of a busy server without looking for neighbours, each of which would be asked for twice, half a second apart.
@pytest.mark.parametrize(("name", "sidecars"), [*COUNTED, ("flaky-503-1/cog.tif", False)])
def test_the_count_is_what_the_server_saw(server: Server, name: str, sidecars: bool) -> None:
    place = f"/as/count-{sidecars}-{name.replace('/', '-')}/{name}"
    reading = read_header(server.url + place, sidecars=sidecars)
    assert reading.requests == len(server.requests(place.rpartition("/")[0] + "/"))


def test_the_count_holds_for_many_threads_and_forgets_nothing_between_them(server: Server) -> None:
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda n: read_header(f"{server.url}/as/many-{n}/cog.tif").requests, range(200)))
    assert set(found) == {2}
    assert len(server.requests("/as/many-")) == 400


def test_a_busy_server_is_asked_again(server: Server) -> None:
    assert read_header(f"{server.url}/flaky-503-1/as/again/cog.tif").requests == 3
    assert [one.status for one in server.requests("/as/again/")] == [503, 200, 206]


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("/status-403/cog.tif", ["403", "credentials"]),
        ("/status-401/cog.tif", ["401", "credentials"]),
        ("/status-404/cog.tif", ["404", "check the address"]),
        ("/nothing.tif", ["404", "check the address"]),
        ("/status-500/cog.tif", ["500", "try later"]),
        ("/status-503/cog.tif", ["503", "try later"]),
        ("/status-429/cog.tif", ["429", "fewer"]),
        ("/html/cog.tif", ["web page (HTML)", "sign in"]),
        ("/table.csv", ["not a raster"]),
        ("/empty.tif", ["empty file"]),
        ("/cut-200/cog.tif", ["header is damaged or cut short"]),
        ("/cut-400/cog.tif", ["cut short"]),
        ("/cut-50000/cog.tif", ["cut short", "50000 bytes"]),
        ("/cut-100000/plain.tif", ["cut short"]),
        ("/no-ranges/cog.tif", ["ignores ranges"]),
        ("/hang-up/cog.tif", ["hung up"]),
        ("/slow-3/cog.tif", ["no answer in time"]),
    ],
)
def test_what_cannot_be_read_is_told_with_path_cause_and_remedy(server: Server, place: str, words: list[str]) -> None:
    with pytest.raises(RasterUnreadable) as told:
        read_header(server.url + place, retries=0, timeout_seconds=0.5)
    assert isinstance(told.value, ValueError)
    assert str(told.value).startswith(server.url + place)
    assert [word for word in words if word not in str(told.value)] == []
    assert told.value.remedy in str(told.value)


@pytest.mark.parametrize(
    ("path", "word"),
    [("http://127.0.0.1:9/a.tif", "nothing answers"), ("http://", "not an address"), ("/vsicurl/", "not an address")],
)
def test_addresses_where_nobody_is(path: str, word: str) -> None:
    with pytest.raises(RasterUnreadable, match=word):
        read_header(path, retries=0)


def test_a_file_that_was_replaced_is_read_anew(folder: Path, server: Server) -> None:
    """GDAL remembers contents by address as long as the process lives, also what the caller read."""
    changing = folder / "changing.tif"
    shutil.copy(folder / "plain.tif", changing)
    with rasterio.open(f"{server.url}/changing.tif") as theirs:
        assert theirs.overviews(1) == []
    assert read_header(f"{server.url}/changing.tif").header.overviews == ()
    new = folder / "new.tif"
    shutil.copy(folder / "cog.tif", new)
    new.replace(changing)
    assert read_header(f"{server.url}/changing.tif").header.overviews == (2, 4)


def test_the_callers_settings_are_as_they_were(server: Server) -> None:
    with rasterio.Env(GDAL_HTTP_TIMEOUT="77", GDAL_DISABLE_READDIR_ON_OPEN="FALSE"):
        before = getenv()
        read_header(f"{server.url}/as/mine/cog.tif")
        with pytest.raises(RasterUnreadable):
            read_header(f"{server.url}/status-404/cog.tif")
        assert getenv() == before
        assert before["GDAL_HTTP_TIMEOUT"] in ("77", 77)
    # And what they open afterwards is opened their way: with its neighbours.
    with rasterio.open(f"{server.url}/as/theirs/beside.tif") as theirs:
        assert theirs.overviews(1) == [2, 4]


def test_the_callers_own_statistics_are_not_forgotten(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CPL_VSIL_NETWORK_STATS_ENABLED", "YES")
    reset_network_statistics()  # as in a new process: GDAL looks at its setting once
    rasterio.open(f"{server.url}/as/theirs-counted/cog.tif").close()
    for number in range(3):
        assert read_header(f"{server.url}/as/stats-{number}/cog.tif").requests == 2
    assert read_header(f"{server.url}/as/stats-0/cog.tif").requests == 2
    assert "/as/theirs-counted/cog.tif" in (network_statistics() or "").replace("\\/", "/")
    reset_network_statistics()
