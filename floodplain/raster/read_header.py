"""Edge: the header of a raster, read with one request (S3) or two (HTTP: HEAD and the first 32 KiB). No pixel is read.

GDAL by default looks for the files that may lie beside a raster, which is a listing and some nine more requests. Here
it does not, unless asked to; what that hides is said in the notes. Settings hold for the calling thread and this call
only. Headers may be read by many threads at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from floodplain.raster.gdal_library import file_size, first_bytes, forget_file
from floodplain.raster.header import Header
from floodplain.raster.raster_path import gdal_path, is_remote
from floodplain.raster.request_count import ENABLED, counted
from floodplain.raster.unreadable import RasterUnreadable, why_unreadable

__all__ = ["HeaderReading", "RasterUnreadable", "header_of", "read_header"]

INGESTED_BYTES = 32_768
"""Fetched by the first request: GDAL's own 16 KiB are short for the indices of many overviews, and a third request
costs more than 16 KiB."""
_MOST_BLOCKS = 1_000
"""Of which the index surely lies in the first request (16 bytes each), so that the last block can be looked up."""

HIDDEN_SIDECARS = (
    "files beside the raster (.ovr, .msk, .aux.xml) were not looked for, to save requests: overviews, masks and nodata "
    "kept there are not in this estimate; sidecars=True (--sidecars) looks for them"
)


@dataclass(frozen=True)
class HeaderReading:
    """A header, and what reading it took."""

    header: Header
    requests: int | None = None
    """HTTP requests made, by GDAL's own count; 0 for a local file, None where GDAL did not count."""
    notes: tuple[str, ...] = ()


def read_header(path: str, *, sidecars: bool = False, timeout_seconds: float = 20.0, retries: int = 3) -> HeaderReading:
    """The header of the raster at `path`: a local path, http(s)://, s3://, gs://, az:// or one of GDAL's /vsi.../.

    `timeout_seconds` holds for each request; time-outs and answers 429 and 5xx are tried again `retries` times, after
    0.5 s and then ever longer. Raises RasterUnreadable whenever there is no header to be had.
    """
    import rasterio
    from rasterio.errors import RasterioError

    remote = is_remote(path)
    within = gdal_path(path)
    _check_place(path, within, remote)
    settings = _settings(within, sidecars or not remote, timeout_seconds, retries)
    try:
        with rasterio.Env(**settings):
            if not remote:
                return HeaderReading(*_read(path, within, 0))
            # GDAL remembers sizes and contents by address; a file that was replaced would be estimated as it was.
            # CPL_VSIL_CURL_NON_CACHED does the same, but costs a second HEAD (measured: benchmarks/raster_headers.py).
            forget_file(within)
            with counted(within, sidecars=sidecars) as count:
                header, notes = _read(path, within, None)
    except (RasterioError, OSError, UnicodeError) as error:
        with rasterio.Env(**settings):
            beginning = first_bytes(within) if "not recognized" in str(error) else None
        raise why_unreadable(path, str(error), beginning) from error
    return HeaderReading(header, count.requests, (*notes, *(() if sidecars else (HIDDEN_SIDECARS,))))


def header_of(dataset: Any) -> Header:
    """The header of an open rasterio dataset."""
    from rasterio.enums import ColorInterp, MaskFlags

    flags = dataset.mask_flag_enums
    block_height, block_width = max(dataset.block_shapes, key=lambda shape: shape[0] * shape[1])
    a, b, c, d, e, f = tuple(dataset.transform)[:6]
    return Header(
        width=dataset.width,
        height=dataset.height,
        transform=(a, b, c, d, e, f),
        crs=(dataset.crs.to_string() or None) if dataset.crs else None,
        dtypes=tuple(dataset.dtypes),
        nodata=tuple(dataset.nodatavals),
        alpha_bands=tuple(
            number for number, kind in enumerate(dataset.colorinterp, start=1) if kind == ColorInterp.alpha
        ),
        dataset_mask=any(MaskFlags.per_dataset in flag and MaskFlags.alpha not in flag for flag in flags),
        block_width=block_width,
        block_height=block_height,
        overviews=tuple(sorted(dataset.overviews(1))),
        pixel_interleaved=dataset.interleaving is not None and dataset.interleaving.value == "PIXEL",
        compression=None if dataset.compression is None else dataset.compression.value,
        driver=dataset.driver,
    )


def _check_place(path: str, within: str, remote: bool) -> None:
    """What GDAL would tell in words of its own, or cut: paths without a file."""
    if "\0" in path or not path.strip():
        raise RasterUnreadable(repr(path), "is not a path", "write the path or address of a raster")
    if any("\ud800" <= letter <= "\udfff" for letter in path):
        raise RasterUnreadable(path, "is not UTF-8, in which GDAL takes paths", "rename the file, or make a link to it")
    if remote:
        return
    try:
        place = Path(within)
        directory, empty = place.is_dir(), place.is_file() and place.stat().st_size == 0
        device = place.is_fifo() or place.is_char_device() or place.is_socket()
    except OSError as error:
        remedy = "run as one who may read it, and its folder"
        raise RasterUnreadable(path, f"cannot be looked at ({error.strerror})", remedy) from error
    if directory:
        raise RasterUnreadable(path, "is a directory", "write the path of one raster in it")
    if device:  # GDAL would wait for a writer without an end
        raise RasterUnreadable(path, "is a pipe or device, not a file", "write the raster to a file first")
    if empty:
        raise RasterUnreadable(path, "is an empty file", "write the raster again: making it was broken off")


def _settings(within: str, sidecars: bool, timeout_seconds: float, retries: int) -> dict[str, str]:
    return {
        "GDAL_DISABLE_READDIR_ON_OPEN": "FALSE" if sidecars else "EMPTY_DIR",
        "GDAL_INGESTED_BYTES_AT_OPEN": str(INGESTED_BYTES),
        "GDAL_HTTP_TIMEOUT": f"{timeout_seconds:g}",
        "GDAL_HTTP_CONNECTTIMEOUT": f"{min(timeout_seconds, 10.0):g}",
        "GDAL_HTTP_MAX_RETRY": str(retries),
        "GDAL_HTTP_RETRY_DELAY": "0.5",
        # Without HEAD, GDAL asks for the whole file and breaks off.
        "CPL_VSIL_CURL_USE_HEAD": "YES",
        ENABLED: "YES",
    }


def _read(path: str, within: str, requests: int | None) -> Any:
    import rasterio

    with rasterio.open(path) as dataset:
        if dataset.count == 0:
            inner = f", such as {dataset.subdatasets[0]}" if dataset.subdatasets else ""
            raise RasterUnreadable(path, "holds no bands of its own", f"name one of the rasters within it{inner}")
        header = header_of(dataset)
        _check_whole(path, within, dataset)
        notes = []
        if header.crs is None and dataset.gcps[0]:
            notes.append("the raster is placed by ground control points, not by a transform: windows are not known")
    return (header, tuple(notes)) if requests is None else (header, requests, tuple(notes))


def _check_whole(path: str, within: str, dataset: Any) -> None:
    """Refuse a TIFF that ends before its index or its last block does, where the index is at hand."""
    if dataset.driver != "GTiff":
        return
    (height, width), *_ = dataset.block_shapes
    column, row = (dataset.width - 1) // width, (dataset.height - 1) // height
    by_pixel = dataset.count == 1 or (dataset.interleaving is not None and dataset.interleaving.value == "PIXEL")
    blocks = (column + 1) * (row + 1) * (1 if by_pixel else dataset.count)
    size = file_size(within)
    if blocks > _MOST_BLOCKS or size is None:
        return
    # At least 4 bytes of offset and 2 of length for each block, unless there is one.
    end = 6 * blocks if blocks > 1 else 0
    offset = dataset.get_tag_item(f"BLOCK_OFFSET_{column}_{row}", "TIFF", bidx=dataset.count)
    length = dataset.get_tag_item(f"BLOCK_SIZE_{column}_{row}", "TIFF", bidx=dataset.count)
    if offset and length:
        end = max(end, int(offset) + int(length))
    if end > size:
        raise RasterUnreadable(
            path,
            f"is cut short: it has {size} bytes, where its header needs at least {end}",
            "copy or write the raster again",
        )
