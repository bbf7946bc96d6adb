"""The work list: which tiles the mosaic has, one a line of a file. Pure, but for reading and writing the file."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from floodplain.raster.target import Target

CRS = "EPSG:3857"
METRES = 20.0
SIDE = 512
"""Pixels of a tile."""
LEFT, TOP = 1_315_000.0, 6_040_000.0


class Tile(BaseModel):
    """One tile: where it lies, how many pixels it has, and its rasters from the top to the bottom."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    crs: str
    bounds: tuple[float, float, float, float]
    """left, bottom, right, top."""
    width: int
    height: int
    sources: tuple[str, ...]

    @property
    def target(self) -> Target:
        return Target(self.crs, self.bounds, self.width, self.height)


def grid(sources: Iterable[str], columns: int = 4, rows: int = 4) -> list[Tile]:
    """Tiles of one size beside each other. Which raster covers which tile is for the estimate to find."""
    step = SIDE * METRES
    names = tuple(sources)
    return [
        Tile(
            name=f"tile-{column}-{row}",
            crs=CRS,
            bounds=(
                LEFT + column * step,
                TOP - (row + 1) * step,
                LEFT + (column + 1) * step,
                TOP - row * step,
            ),
            width=SIDE,
            height=SIDE,
            sources=names,
        )
        for row in range(rows)
        for column in range(columns)
    ]


def write_tiles(path: Path, tiles: Iterable[Tile]) -> None:
    path.write_text("".join(f"{tile.model_dump_json()}\n" for tile in tiles), encoding="utf-8")


def read_tiles(path: Path) -> list[Tile]:
    """Raises pydantic's ValidationError for a line that is no tile."""
    return [Tile.model_validate_json(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
