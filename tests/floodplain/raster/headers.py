"""Headers for tests, with everything a test does not care about filled in."""

from __future__ import annotations

from floodplain.raster.header import Header


def header(
    crs: str | None,
    transform: tuple[float, float, float, float, float, float],
    width: int = 10_000,
    height: int = 10_000,
    overviews: tuple[int, ...] = (),
) -> Header:
    """One band of uint16 in blocks of 512."""
    return Header(
        width, height, transform, crs, ("uint16",), (None,), block_width=512, block_height=512, overviews=overviews
    )
