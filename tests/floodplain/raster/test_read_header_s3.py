"""A header from S3 takes one request: against moto, with a log in front of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.logged_s3 import s3_serving, server_variables
from benchmarks.ranges_server import Request, Server
from floodplain.raster.read_header import HIDDEN_SIDECARS, INGESTED_BYTES, RasterUnreadable, read_header
from floodplain.raster.unreadable import why_unreadable
from tests.floodplain.raster.served import folder

__all__ = ["folder"]


@pytest.fixture(scope="module")
def bucket(folder: Path) -> Iterator[Server]:
    with s3_serving({"data/deep/cog.tif": folder / "cog.tif", "data/beside.tif": folder / "beside.tif"}) as server:
        yield server


@pytest.fixture(autouse=True)
def _environment(bucket: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in server_variables(bucket).items():
        monkeypatch.setenv(name, value)


@pytest.mark.parametrize("path", ["s3://data/deep/cog.tif", "/vsis3/data/deep/cog.tif"])
def test_one_range_is_all(bucket: Server, path: str) -> None:
    before = len(bucket.requests())
    reading = read_header(path)
    assert bucket.requests()[before:] == [
        Request("GET", "/data/deep/cog.tif", f"bytes=0-{INGESTED_BYTES - 1}", 206, INGESTED_BYTES)
    ]
    assert (reading.requests, reading.header.overviews, reading.notes) == (1, (2, 4), (HIDDEN_SIDECARS,))


def test_neighbours_are_found_in_a_listing_and_every_request_is_counted(bucket: Server) -> None:
    before = len(bucket.requests())
    reading = read_header("s3://data/deep/cog.tif", sidecars=True)
    assert reading.requests == len(bucket.requests()) - before
    assert reading.requests is not None
    assert reading.requests > 1


@pytest.mark.parametrize("path", ["s3://data/none.tif", "s3://other/none.tif"])
def test_a_key_or_bucket_that_is_not_there(path: str) -> None:
    with pytest.raises(RasterUnreadable, match=r"there is no such file \(The specified (key|bucket) does not exist"):
        read_header(path)


def test_no_credentials(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("CPL_AWS_AUTODETECT_EC2", "NO")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    with pytest.raises(RasterUnreadable, match="credentials"):
        read_header("/vsis3/data/other.tif")


@pytest.mark.parametrize(
    ("path", "gdal", "remedy"),
    [
        ("s3://a/b.tif", "AWS_SECRET_ACCESS_KEY not defined", "AWS_NO_SIGN_REQUEST=YES"),
        ("/vsizip//vsis3/a/b.zip/c.tif", "InvalidCredentials", "AWS_NO_SIGN_REQUEST=YES"),
        ("gs://a/b.tif", "GS_SECRET_ACCESS_KEY not defined", "GS_NO_SIGN_REQUEST=YES"),
        ("az://a/b.tif", "CURL error: Could not resolve host: None.blob.core.windows.net", "AZURE_NO_SIGN_REQUEST=YES"),
        ("oss://a/b.tif", "CURL error: Could not resolve host: a.None", "OSS_ENDPOINT"),
    ],
)
def test_each_store_is_told_its_own_credentials(path: str, gdal: str, remedy: str) -> None:
    told = why_unreadable(path, gdal, None)
    assert told.what == f"there are no credentials for it ({gdal})"
    assert remedy in told.remedy
