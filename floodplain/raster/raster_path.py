"""How a raster's path is written for GDAL, and whether it is reached over the network. Nothing is opened."""

from __future__ import annotations

from urllib.parse import urlsplit

_SCHEMES = {
    "http": "/vsicurl/{path}",
    "https": "/vsicurl/{path}",
    "ftp": "/vsicurl/{path}",
    "s3": "/vsis3/{rest}",
    "gs": "/vsigs/{rest}",
    "az": "/vsiaz/{rest}",
    "oss": "/vsioss/{rest}",
    "file": "{rest}",
}
_REMOTE = ("/vsicurl", "/vsis3/", "/vsigs/", "/vsiaz/", "/vsiadls/", "/vsioss/", "/vsiswift/", "/vsiwebhdfs/")


def gdal_path(path: str) -> str:
    """`s3://bucket/key` as `/vsis3/bucket/key`, `https://...` as `/vsicurl/https://...`, others as they are."""
    scheme = urlsplit(path).scheme.lower()
    pattern = _SCHEMES.get(scheme)
    return path if pattern is None else pattern.format(path=path, rest=path.partition("://")[2])


def is_remote(path: str) -> bool:
    """The raster is read by requests over a network, also within an archive (/vsizip//vsicurl/...)."""
    return any(handler in gdal_path(path) for handler in _REMOTE)
