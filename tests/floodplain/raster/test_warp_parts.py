"""In which parts a destination is warped: by memory, and by how much of them the source fills."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from floodplain.quantity import MIB
from floodplain.raster.placement import Corners, Placement
from floodplain.raster.task import Destination, GdalSettings, SourceWindow, Way
from floodplain.raster.warp_chunk import PixelCost, largest_chunk
from floodplain.raster.warp_parts import MOST_PARTS, Part, largest_reach, parts_of

RASTER = SourceWindow(0, 0, 1000, 1000, 1, 1000, 1000)
BAND = GdalSettings(way=Way.BAND, resampling="nearest")
VRT = GdalSettings(way=Way.VRT, resampling="nearest")


def box(west: float, north: float, east: float, south: float) -> Corners:
    return (west, north), (east, north), (west, south), (east, south)


def turned(degrees: float, half: float) -> Corners:
    """A square around the raster's middle, `half` a side, turned."""
    across, down = math.cos(math.radians(degrees)) * half, math.sin(math.radians(degrees)) * half
    places = [
        (500 + x * across - y * down, 500 + x * down + y * across) for x, y in ((-1, -1), (1, -1), (-1, 1), (1, 1))
    ]
    return places[0], places[1], places[2], places[3]


def everything(_: Part) -> bool:
    return True


def found(corners: Corners, size: int = 1000, settings: GdalSettings = BAND) -> list[tuple[int, int]]:
    parts = parts_of(RASTER, Destination(size, size, 1, "uint8"), settings, corners, everything)
    return sorted((part.width, part.height) for part in parts)


def test_what_the_source_fills_is_one_part() -> None:
    assert found(box(0, 0, 1000, 1000)) == [(1000, 1000)]


def test_what_lies_mostly_beyond_the_source_is_halved_until_half_of_each_part_is_filled() -> None:
    # The raster is a quarter of the target: half of the upper half, nothing of the lower.
    assert found(box(0, 0, 2000, 2000)) == [(1000, 500), (1000, 500)]
    # A quarter of each half; then half of two quarters, nothing of the others.
    assert found(box(0, 0, 4000, 1000)) == [(500, 500)] * 4


def test_a_warped_vrt_does_not_look_at_how_much_is_filled() -> None:
    assert found(box(0, 0, 2000, 2000), settings=VRT) == [(1000, 1000)]


def test_a_hundred_pixels_are_not_halved_for_being_empty() -> None:
    assert found(box(0, 0, 4000, 4000), size=100) == [(100, 100)]


def test_a_footprint_that_is_turned_by_45_degrees_is_warped_in_parts() -> None:
    assert [len(found(turned(degrees, 500))) for degrees in (0, 20, 45)] == [1, 1, 2]
    assert len(found(turned(45, 750))) > 4


def test_array_to_array_the_source_is_what_was_read() -> None:
    read = SourceWindow(0, 0, 250, 1000, 1, 1000, 1000)
    to = Destination(1000, 1000, 1, "uint8")
    count = {
        way: len(parts_of(read, to, GdalSettings(way=way, resampling="nearest"), box(0, 0, 1000, 1000), everything))
        for way in (Way.BAND, Way.ARRAY)
    }
    assert count == {Way.BAND: 1, Way.ARRAY: 4}


def test_what_does_not_fit_is_halved_and_needs_its_part_of_the_source() -> None:
    to = Destination(1000, 1000, 1, "uint8")
    parts = parts_of(RASTER, to, VRT, box(0, 0, 1000, 1000), lambda part: part.windows[0].pixels <= 500_000)
    assert parts == [
        Part((SourceWindow(500, 0, 500, 1000, 1, 1000, 1000),), 500, 1000),
        Part((SourceWindow(0, 0, 500, 1000, 1, 1000, 1000),), 500, 1000),
    ]


def test_corners_are_those_of_full_resolution_whatever_level_is_read() -> None:
    level = SourceWindow(0, 0, 500, 500, 2, 500, 500)
    reach = largest_reach(level, Destination(100, 100, 1, "uint8"), VRT, box(0, 0, 1000, 1000), (50, 50))
    assert reach == 250 * 250


def test_a_source_in_a_corner_of_the_destination_is_all_in_one_block() -> None:
    """The middle of the destination has nothing of it."""
    reach = largest_reach(RASTER, Destination(256, 256, 1, "uint8"), VRT, box(-50_000, -50_000, 1000, 1000), (256, 128))
    assert reach == RASTER.pixels


PLACES = st.floats(-3000, 3000)
CORNERS = st.tuples(*[st.tuples(PLACES, PLACES)] * 4)


@given(CORNERS, st.integers(1, 3000), st.integers(1, 3000), st.sampled_from([BAND, VRT]), st.integers(1, 10**6))
def test_parts_cover_the_destination_once_and_read_within_the_source(
    corners: Corners, width: int, height: int, settings: GdalSettings, most: int
) -> None:
    to = Destination(width, height, 1, "uint8")
    parts = parts_of(RASTER, to, settings, corners, lambda part: part.windows[0].pixels <= most)
    assert sum(part.width * part.height for part in parts) == width * height
    assert len(parts) <= MOST_PARTS + 1
    for part in parts:
        (window,) = part.windows
        assert window.pixels <= RASTER.pixels
        assert window.pixels == 0 or (window.column >= 0 and window.column + window.width <= 1000)
        assert window.pixels <= most or min(part.width, part.height) <= 2 or len(parts) >= MOST_PARTS


def test_a_turned_warped_vrt_is_read_partly_at_once_and_partly_by_blocks() -> None:
    """Its middle needs more of the source than memory holds, until its parts are as small as blocks."""
    to = Destination(2400, 2400, 4, "float32")
    cost = PixelCost(values=16, source_mask=0, destination_mask=0, scratch=0)
    settings = GdalSettings(way=Way.VRT, resampling="nearest", warp_memory_bytes=8 * MIB)
    chunk = largest_chunk(cost, [RASTER], to, settings, Placement(turned(45, 600)))
    assert (chunk.width, chunk.height, chunk.count, chunk.small_pixels) == (600, 600, 20, 4 * 600 * 600)


def test_what_malloc_keeps_is_of_the_largest_piece_below_32_mib_not_of_the_largest() -> None:
    """Where the destination begins west of the raster its western half needs less."""
    raster = SourceWindow(0, 0, 4000, 1000, 1, 4000, 1000)
    to = Destination(1000, 200, 4, "float32")
    cost = PixelCost(values=16, source_mask=0, destination_mask=0, scratch=0)
    settings = GdalSettings(way=Way.BAND, resampling="nearest", warp_memory_bytes=48 * MIB)
    chunk = largest_chunk(cost, [raster], to, settings, Placement(box(-1000, 0, 4000, 1000)))
    assert (chunk.count, chunk.source_bytes, chunk.kept_bytes) == (2, 2500 * 1000 * 16, 1500 * 1000 * 16)
