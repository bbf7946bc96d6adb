"""Edge: the few calls of GDAL's C library that rasterio lacks: network statistics, its cache, how a file begins.

The library is the one that rasterio has loaded. Where its symbols cannot be reached every call answers None.
"""

from __future__ import annotations

import ctypes
from functools import cache


@cache
def _library() -> ctypes.CDLL | None:
    try:
        from rasterio import _env  # the loader finds the symbols of what this extension depends on

        library = ctypes.CDLL(_env.__file__)
        library.VSINetworkStatsGetAsSerializedJSON.restype = ctypes.c_void_p
        library.VSINetworkStatsGetAsSerializedJSON.argtypes = [ctypes.c_void_p]
        library.VSINetworkStatsReset.restype = None
        library.VSICurlPartialClearCache.argtypes = [ctypes.c_char_p]
        library.VSICurlPartialClearCache.restype = None
        library.VSIFree.argtypes = [ctypes.c_void_p]
        library.VSIFree.restype = None
        library.VSIFOpenL.argtypes = [ctypes.c_char_p, ctypes.c_char_p]
        library.VSIFOpenL.restype = ctypes.c_void_p
        library.VSIFCloseL.argtypes = [ctypes.c_void_p]
        library.VSIFSeekL.argtypes = [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_int]
        library.VSIFTellL.argtypes = [ctypes.c_void_p]
        library.VSIFTellL.restype = ctypes.c_uint64
        library.VSIFReadL.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_void_p]
        library.VSIFReadL.restype = ctypes.c_size_t
    except (ImportError, OSError, AttributeError):
        return None
    return library


def network_statistics() -> str | None:
    """VSINetworkStatsGetAsSerializedJSON: requests of this process by handler, action and file."""
    library = _library()
    if library is None:
        return None
    address = library.VSINetworkStatsGetAsSerializedJSON(None)
    if not address:
        return None
    try:
        return ctypes.string_at(address).decode("utf-8", "replace")
    finally:
        library.VSIFree(address)


def reset_network_statistics() -> None:
    """Forget what was counted, and whether to count: GDAL asks its settings again at the next request."""
    library = _library()
    if library is not None:
        library.VSINetworkStatsReset()


def forget_file(gdal_path: str) -> bool:
    """Drop what GDAL remembers of a remote file, so that the next to open it asks for it. False where it cannot be."""
    library = _library()
    if library is None:
        return False
    library.VSICurlPartialClearCache(gdal_path.encode())
    return True


def file_size(gdal_path: str) -> int | None:
    """Bytes of a file; of a remote one as its open dataset knows it, without a request."""
    library = _library()
    handle = library.VSIFOpenL(gdal_path.encode(), b"rb") if library is not None else None
    if library is None or not handle:
        return None
    try:
        return int(library.VSIFTellL(handle)) if library.VSIFSeekL(handle, 0, 2) == 0 else None
    finally:
        library.VSIFCloseL(handle)


def first_bytes(gdal_path: str, count: int = 512) -> bytes | None:
    """How a file begins. Asks a remote one again."""
    library = _library()
    handle = library.VSIFOpenL(gdal_path.encode(), b"rb") if library is not None else None
    if library is None or not handle:
        return None
    try:
        buffer = ctypes.create_string_buffer(count)
        read = library.VSIFReadL(buffer, 1, count, handle)
        return buffer.raw[:read]
    finally:
        library.VSIFCloseL(handle)
