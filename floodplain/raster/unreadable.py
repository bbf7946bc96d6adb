"""Why the header of a raster could not be read, and what to do: GDAL's words turned into ours."""

from __future__ import annotations

import re

from floodplain.problem import printable
from floodplain.raster.raster_path import gdal_path


class RasterUnreadable(ValueError):  # noqa: N818 - the name says what is wrong
    """A raster whose header cannot be read: its path, what happened, what to do. Never a raster of size 0."""

    def __init__(self, path: str, what: str, remedy: str) -> None:
        self.path, self.what, self.remedy = path, what, remedy
        super().__init__(printable(f"{path}: {what}; {remedy}"))

    def __reduce__(self) -> tuple[type[RasterUnreadable], tuple[str, str, str]]:
        """So that it can be sent to another process: by default an exception is made anew from its message alone."""
        return type(self), (self.path, self.what, self.remedy)


_STATUS = {
    "401": "the server asks for credentials: set them in the environment, as GDAL_HTTP_BEARER or GDAL_HTTP_USERPWD",
    "403": "the server refuses: check credentials, and whether a signed address has expired",
    "404": "there is no such file: check the address",
    "429": "the server takes no more requests for now: read fewer headers at once, or try later",
}
_BUSY = "the server failed, also when asked again: try later"
_CREDENTIALS = {
    "/vsis3/": "set AWS credentials, or AWS_NO_SIGN_REQUEST=YES for a public bucket",
    "/vsigs/": "set GOOGLE_APPLICATION_CREDENTIALS to a key file, or GS_NO_SIGN_REQUEST=YES for a public bucket",
    "/vsiaz/": "set AZURE_STORAGE_ACCOUNT and credentials of it, or AZURE_NO_SIGN_REQUEST=YES for a public container",
    "/vsioss/": "set OSS_ENDPOINT, OSS_ACCESS_KEY_ID and OSS_SECRET_ACCESS_KEY",
}
_NO_CREDENTIALS = re.compile(r"credentials|SECRET_ACCESS_KEY|resolve host: (\S*\.)?None\b", re.I)
"""rasterio gives GDAL the text None for an account or endpoint that is not set."""
_CAUSES = (
    (r"Range downloading not supported", "the server ignores ranges", "serve it from one that answers byte ranges"),
    (r"timed out|[Tt]imeout", "no answer in time", "check the server and the network, or wait longer for an answer"),
    (r"Could not resolve host", "the host has no address", "check the host's name"),
    (r"Could not connect|Failed to connect", "nothing answers at this address", "check host and port"),
    (r"Empty reply|reset by peer|Recv failure", "the server hung up", "try again, and check the server"),
    (r"URL rejected|Missing url", "is not an address", "write it with host and path"),
    (r"No such file|does not exist", "there is no such file", "check the path"),
    (r"Permission denied", "may not be read", "check its permissions"),
    (
        r"TIFFReadDirectory|TIFFFetch|IReadBlock|[Tt]runcated|Read error|TIFFOpen|TIFFClientOpen",
        "its header is damaged or cut short",
        "copy or write the raster again",
    ),
)
_HTML = re.compile(rb"^\s*(<!doctype html|<html)", re.I)


def why_unreadable(path: str, message: str, beginning: bytes | None) -> RasterUnreadable:
    """From GDAL's message, and how the file begins where that is known."""
    status = re.search(r"HTTP response code: (\d+)", message)
    if status:
        remedy = _STATUS.get(status[1], _BUSY if status[1].startswith("5") else "check the address")
        return RasterUnreadable(path, f"the server answered {status[1]}", remedy)
    if "not recognized" in message:
        if beginning is not None and _HTML.match(beginning):
            return RasterUnreadable(
                path,
                "is a web page (HTML), not a raster",
                "check the address: a page to sign in or of an error is often sent in place of a file",
            )
        if beginning == b"":
            return RasterUnreadable(path, "is an empty file", "write the raster again: making it was broken off")
        if beginning is None:
            return RasterUnreadable(path, "is not there, or is not a raster that GDAL can read", "check the path")
        return RasterUnreadable(path, "is not a raster that GDAL can read", "check that the path is of a raster")
    if _NO_CREDENTIALS.search(message):
        address = gdal_path(path)
        remedy = next((told for handler, told in _CREDENTIALS.items() if handler in address), "set its credentials")
        return RasterUnreadable(path, f"there are no credentials for it ({message})", remedy)
    for pattern, what, remedy in _CAUSES:
        if re.search(pattern, message):
            return RasterUnreadable(path, f"{what} ({message})", remedy)
    return RasterUnreadable(path, message or "cannot be opened", "check the path, and try again")
