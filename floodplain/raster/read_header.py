"""Edge: the header of a raster, read with one or two requests. No pixel is read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from floodplain.raster.header import Header


class RasterUnreadable(ValueError):  # noqa: N818 - the name says what is wrong
    """A raster whose header cannot be read: its path, what happened, what to do. Never a raster of size 0."""

    def __init__(self, path: str, what: str, remedy: str) -> None:
        self.path, self.what, self.remedy = path, what, remedy
        super().__init__(f"{path}: {what}; {remedy}")


@dataclass(frozen=True)
class HeaderReading:
    """A header, and what reading it took."""

    header: Header
    requests: int | None = None
    """HTTP requests made; None where they could not be counted, 0 for a local file."""
    notes: tuple[str, ...] = ()


def read_header(path: str, *, sidecars: bool = False, timeout_seconds: float = 20.0, retries: int = 3) -> HeaderReading:
    """The header of the raster at `path`: a local path, http(s)://, s3:// or /vsi.../. Raises RasterUnreadable."""
    import rasterio
    from rasterio.errors import RasterioError, RasterioIOError

    options: dict[str, Any] = {"GDAL_INGESTED_BYTES_AT_OPEN": 32_768}
    if not sidecars:
        options["GDAL_DISABLE_READDIR_ON_OPEN"] = "EMPTY_DIR"
    try:
        with rasterio.Env(**options), rasterio.open(path) as dataset:
            return HeaderReading(header_of(dataset))
    except (RasterioError, RasterioIOError) as error:
        raise RasterUnreadable(path, str(error), "check the path") from error


def header_of(dataset: Any) -> Header:
    """The header of an open rasterio dataset."""
    from rasterio.enums import ColorInterp, MaskFlags

    flags = dataset.mask_flag_enums
    block_height, block_width = max(dataset.block_shapes, key=lambda shape: shape[0] * shape[1])
    return Header(
        width=dataset.width,
        height=dataset.height,
        transform=tuple(dataset.transform)[:6],
        crs=None if dataset.crs is None else dataset.crs.to_string(),
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
