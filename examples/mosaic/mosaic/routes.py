"""Which pool each tile goes to, from the headers of its rasters and before anything is allocated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pydantic import BaseModel, ConfigDict

from floodplain.raster import estimate
from floodplain.raster.estimating import NothingToDo
from floodplain.raster.header import Header
from floodplain.raster.read_header import read_header
from floodplain.raster.route import Place, route, skipped
from floodplain.raster.terms import Estimate, Term
from mosaic.levels import level_header
from mosaic.settings import POOLS, WARP_SETTINGS
from mosaic.tiles import Tile

__all__ = ["Place", "Route", "batches", "estimate_tile", "route_tile"]


class Route(BaseModel):
    """Where one tile goes, and why."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    tile: Tile
    place: Place
    why: str
    estimate_bytes: int = 0
    """What the tile will hold beside an idle worker."""
    terms: dict[str, int] = {}
    """What it consists of."""

    def sent_to(self, pool: str | None) -> Route:
        """The same tile in a pool of somebody's choice; what is skipped or refused stays so."""
        if pool is None or self.place not in (Place.SMALL, Place.BIG):
            return self
        return self.model_copy(update={"place": Place(pool)})


def route_tile(tile: Tile) -> Route:
    """Reads the headers of all its rasters. Raises RasterUnreadable: a tile without an estimate is not small."""
    found = estimate_tile(tile, [read_header(source).header for source in tile.sources])
    if found is None:
        routing = skipped("no raster covers it")
        return Route(tile=tile, place=routing.place, why=routing.reason)
    routing = route(found, POOLS)
    return Route(
        tile=tile,
        place=routing.place,
        why=routing.reason,
        estimate_bytes=found.peak_bytes,
        terms={term.name: term.bytes for term in found.terms},
    )


def estimate_tile(tile: Tile, headers: Sequence[Header]) -> Estimate | None:
    """The peak of a tile that warps its rasters one after the other into one array; None where none covers it.

    Each raster is closed before the next is opened, so the largest counts, and with it the arrays. The one that is
    warped into counts whole: the allocator gives the next raster's what it keeps of the last one's, written all over.
    What is fixed counts for each: PROJ and the allocator keep some of it.
    """
    found = []
    for header in headers:
        try:
            _, read = level_header(tile, header)
            found.append(estimate(read, target=tile.target, settings=WARP_SETTINGS))
        except NothingToDo:
            continue
    if not found:
        return None
    pixels = tile.width * tile.height
    arrays = Term("arrays", 9 * pixels, f"{pixels} px x (4 bands kept + 4 that are warped + 1 that says what is taken)")
    each = [term.bytes for one in found for term in one.terms if term.name == "fixed"]
    fixed = Term("fixed", sum(each), f"of {len(each)} rasters: handles, transformers, PROJ, rounding of the allocator")
    largest = max(found, key=_without_destination)
    others = (term for term in largest.terms if term.name not in ("destination", "fixed"))
    return replace(largest, terms=(*others, arrays, fixed))


def _without_destination(one: Estimate) -> int:
    return sum(term.bytes for term in one.terms if term.name != "destination")


def batches(routes: Sequence[Route], count: int) -> list[list[Route]]:
    """At most `count` lots of about the same number; none is empty."""
    lots = [list(routes[start::count]) for start in range(count)]
    return [lot for lot in lots if lot]
