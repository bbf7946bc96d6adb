"""A tile of the web mercator pyramid (z/x/y, y from the north, as in XYZ and WMTS GoogleMapsCompatible) as a target."""

from __future__ import annotations

import math

from floodplain.problem import RuleError
from floodplain.raster.target import Target

WEB_MERCATOR = "EPSG:3857"
HALF_WORLD = math.pi * 6_378_137
"""Metres from the middle of the web mercator square to its edge (EPSG:3857)."""
DEEPEST = 30


def tile_target(z: int, x: int, y: int, size: int = 256) -> Target:
    """The tile as `size` x `size` pixels in web mercator. Raises RuleError for a tile outside the pyramid."""
    if not 0 <= z <= DEEPEST:
        raise RuleError(f"zoom {z} is not one of 0 to {DEEPEST}", "write a tile as z/x/y", value=z)
    across = 1 << z
    for name, number in (("column", x), ("row", y)):
        if not 0 <= number < across:
            raise RuleError(
                f"{name} {number} is not one of 0 to {across - 1}, those of zoom {z}",
                "write a tile as z/x/y, with y counted from the north",
                value=f"{z}/{x}/{y}",
            )
    if size < 1:
        raise RuleError(f"a tile of {size} pixels is empty", "write 256 or 512", value=size)
    side = 2 * HALF_WORLD / across
    left, top = x * side - HALF_WORLD, HALF_WORLD - y * side
    return Target(WEB_MERCATOR, (left, top - side, left + side, top), size, size)


def parse_tile(text: str, size: int = 256) -> Target:
    """`z/x/y` as a target. Raises RuleError for a text that is no tile."""
    parts = text.strip().split("/")
    if len(parts) != 3 or not all(part.isascii() and part.isdecimal() for part in parts):
        raise RuleError(f"{text!r} is not a tile", "write three whole numbers, z/x/y: 14/8716/5685", value=text)
    z, x, y = (int(part) for part in parts)
    return tile_target(z, x, y, size)
