"""The terms of an estimate and what they depend on."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from floodplain.problem import RuleError
from floodplain.quantity import MIB
from floodplain.raster.block_cache import Blocks, blocks
from floodplain.raster.header import Header
from floodplain.raster.model import FIXED_READ, estimate_task
from floodplain.raster.placement import Placement
from floodplain.raster.task import Destination, GdalSettings, SourceWindow, Way
from floodplain.raster.terms import Estimate
from floodplain.raster.warp_chunk import Chunk, largest_chunk, pixel_cost

PLACE = (10.0, 0.0, 0.0, 0.0, -10.0, 0.0)
RGB = Header(8192, 8192, PLACE, "EPSG:32633", ("uint8",) * 3, (None,) * 3, block_width=512, block_height=512)
WINDOW = SourceWindow(1000, 1000, 4096, 4096, 1, 8192, 8192)
SAME = Destination(4096, 4096, 3, "uint8")
HERE = Placement(one_datum=True)
BIG = GdalSettings(cache_bytes=1024 * MIB, warp_memory_bytes=1024 * MIB)


def sizes(estimate: Estimate) -> dict[str, float]:
    """MiB by name of term."""
    return {term.name: term.bytes / MIB for term in estimate.terms}


def peak(header: Header = RGB, window: SourceWindow = WINDOW, to: Destination = SAME, **settings: object) -> int:
    return estimate_task(header, [window], to, replace(BIG, **settings)).peak_bytes  # type: ignore[arg-type]


def test_a_read_is_its_array_and_the_blocks_it_touched() -> None:
    found = sizes(estimate_task(RGB, [WINDOW], SAME, replace(BIG, way=Way.READ)))
    assert found == {"destination": 48, "block cache": 9 * 9 * 0.75, "decoding": 0.75, "fixed": 0.25}


def test_a_small_warped_vrt_is_made_in_the_destination_itself() -> None:
    found = sizes(estimate_task(RGB, [WINDOW], SAME, BIG, placement=HERE))
    assert found == {"destination": 48, "block cache": 60.75, "decoding": 0.75, "warp chunk": 48, "fixed": 0.375}


def test_an_array_is_held_twice_while_it_is_warped() -> None:
    found = sizes(estimate_task(RGB, [WINDOW], SAME, replace(BIG, way=Way.ARRAY)))
    assert found["source array"] == 96


def test_the_cache_has_its_limit_but_holds_the_block_that_is_read() -> None:
    held = Blocks(touched_bytes=100, one_bytes=30, buffer_bytes=0, count=4)
    assert [held.cached(limit) for limit in (10, 50, 1000)] == [30, 50, 100]


def test_a_strip_is_as_wide_as_the_raster() -> None:
    strips = replace(RGB, block_width=8192, block_height=16)
    window = SourceWindow(4000, 160, 100, 16, 1, 8192, 8192)
    assert blocks(strips, [window], 3, with_mask=False, halo=0).touched_bytes == 8192 * 16 * 3


def test_an_overview_is_tiled_as_its_raster_and_in_tiles_of_128_where_that_has_strips() -> None:
    level = SourceWindow(0, 0, 100, 100, 8, 1024, 1024)
    strips = replace(RGB, block_width=8192, block_height=16)
    found = [blocks(header, [level], 3, with_mask=False).touched_bytes for header in (RGB, strips)]
    assert found == [512 * 512 * 3, 128 * 128 * 3]


def test_complex_int16_is_read_into_pixels_of_8_bytes() -> None:
    header = replace(RGB, dtypes=("complex_int16",), nodata=(None,))
    to = Destination(4096, 4096, 1, "complex_int16")
    assert sizes(estimate_task(header, [WINDOW], to, replace(BIG, way=Way.READ)))["destination"] == 128


def test_bands_apart_are_read_alone_and_bands_together_are_read_together() -> None:
    def touched(together: bool) -> int:
        header = replace(RGB, pixel_interleaved=together)
        return blocks(header, [WINDOW], 1, with_mask=False).touched_bytes

    assert touched(True) == 3 * touched(False)


def test_chunks_are_halves_of_the_longer_side_until_they_fit() -> None:
    settings = GdalSettings(warp_memory_bytes=16 * MIB)
    cost, buffer = pixel_cost(RGB, 3, SAME, settings), 1024 * 2048 * 3
    assert largest_chunk(cost, [WINDOW], SAME, settings) == Chunk(1024, 2048, 8, buffer, 0, buffer, 0, buffer)


def test_alpha_costs_a_float_a_pixel_on_both_sides_of_a_warped_vrt_only() -> None:
    rgba = replace(RGB, dtypes=("uint8",) * 4, nodata=(None,) * 4, alpha_bands=(4,))
    to = replace(SAME, bands=4)
    vrt, band = (pixel_cost(rgba, 4, to, GdalSettings(way=way)) for way in (Way.VRT, Way.BAND))
    assert (vrt.source_mask, vrt.destination_mask) == (4, 4)
    assert (band.source_mask, band.destination_mask) == (0, 0)


BLOCK = 512 * 512


@pytest.mark.parametrize(
    ("compression", "remote", "row", "buffers"),
    [
        (None, False, 1000, 3 * BLOCK),
        (None, False, 4000, 2 * 3 * BLOCK),
        (None, True, 1000, 2 * 3 * BLOCK),
        ("DEFLATE", False, 1000, 1.75 * 3 * BLOCK),
        ("ZSTD", False, 1000, 2.75 * 3 * BLOCK + MIB // 2),
    ],
)
def test_beside_the_cache_are_bands_together_and_what_libtiff_reads_them_from(
    compression: str | None, remote: bool, row: int, buffers: float
) -> None:
    """Without a codec nothing, unless the block is the last and reaches below the raster, or comes over the network."""
    header = replace(RGB, compression=compression, height=8000)
    window = SourceWindow(1000, row, 4096, 4096 if row == 1000 else 4000, 1, 8192, 8000)
    assert blocks(header, [window], 3, with_mask=False, remote=remote).buffer_bytes == buffers


def test_a_lone_band_is_decoded_where_it_is_cached() -> None:
    assert blocks(replace(RGB, dtypes=("uint8",), nodata=(None,)), [WINDOW], 1, with_mask=False).buffer_bytes == 0


def test_the_mask_of_alpha_of_a_warped_vrt_is_made_at_full_resolution_where_an_overview_is_read() -> None:
    rgba = replace(RGB, dtypes=("uint8",) * 4, nodata=(None,) * 4, alpha_bands=(4,), compression="deflate")
    eighth = SourceWindow(0, 0, 512, 512, 8, 1024, 1024)
    to = Destination(512, 512, 4, "uint8")
    found = sizes(estimate_task(rgba, [eighth], to, replace(BIG, masked=True)))
    # 4 blocks of the overview, and 4096 x 4096 pixels of alpha in blocks of 512 x 128.
    assert found["block cache"] == 4 * 1 + 16


@pytest.mark.parametrize(("placement", "each"), [(HERE, 1), (Placement(), 2)])
def test_threads_cost_one_each_that_has_pixels_and_reproject_reads_in_one_more(placement: Placement, each: int) -> None:
    def threads(way: Way, to: Destination, window: SourceWindow) -> float:
        settings = replace(BIG, way=way, threads=4)
        return sizes(estimate_task(RGB, [window], to, settings, placement=placement)).get("threads", 0)

    small, window = Destination(64, 64, 3, "uint8"), replace(WINDOW, width=64, height=64)
    assert [threads(way, small, window) for way in (Way.BAND, Way.ARRAY, Way.VRT)] == [each / 2, each / 2, 0]
    assert [threads(way, SAME, WINDOW) for way in (Way.BAND, Way.ARRAY, Way.VRT)] == [3.5 * each, 3.5 * each, 3 * each]


@pytest.mark.parametrize(
    ("way", "native_vrt", "same_datum", "another"),
    [(Way.READ, False, 0.25, 0.25), (Way.BAND, False, 0.375, 0.875), (Way.VRT, True, 0.75, 1.875)],
)
def test_another_datum_costs_more_than_another_crs_and_an_overview_of_a_vrt_once_more(
    way: Way, native_vrt: bool, same_datum: float, another: float
) -> None:
    def fixed(placement: Placement) -> float:
        settings = replace(BIG, way=way, native_vrt=native_vrt)
        return sizes(estimate_task(RGB, [WINDOW], SAME, settings, placement=placement))["fixed"]

    assert (fixed(HERE), fixed(Placement())) == (same_datum, another)


@pytest.mark.parametrize(
    ("way", "destination", "chunk"), [(Way.VRT, 128, 64 + 64), (Way.BAND, 128, 128 + 128), (Way.READ, 128, 0)]
)
def test_complex_int16_is_warped_in_4_bytes_by_a_warped_vrt_and_in_8_into_an_array(
    way: Way, destination: int, chunk: int
) -> None:
    header = replace(RGB, dtypes=("complex_int16",), nodata=(None,))
    to = Destination(4096, 4096, 1, "complex_int16")
    estimate = estimate_task(header, [WINDOW], to, replace(BIG, way=way), placement=HERE)
    found = sizes(estimate)
    # The greater moment: the source is gone when the buffer of the destination is written into the array.
    wanted = {Way.VRT: {"destination": destination, "warp chunk": 64}, Way.BAND: {"warp chunk": chunk}}
    wanted[Way.READ] = {"destination": destination}
    assert {name: found[name] for name in ("destination", "warp chunk") if name in found} == wanted[way]


def test_a_warped_vrt_of_int8_gives_an_array_of_int16() -> None:
    header = replace(RGB, dtypes=("int8",), nodata=(None,))
    to = Destination(4096, 4096, 1, "int8")
    found = {way: sizes(estimate_task(header, [WINDOW], to, replace(BIG, way=way))) for way in (Way.VRT, Way.READ)}
    assert (found[Way.VRT]["destination"], found[Way.READ]["destination"]) == (32, 16)


def test_the_widest_band_decides_what_all_bands_cost_in_a_warp() -> None:
    mixed = replace(RGB, dtypes=("uint8", "uint8", "float32"))
    assert pixel_cost(mixed, 3, replace(SAME, dtype="float32"), BIG).values == 12


def test_int8_is_warped_as_int16() -> None:
    assert pixel_cost(replace(RGB, dtypes=("int8",) * 3), 3, replace(SAME, dtype="int8"), BIG).values == 6


def test_an_alpha_mask_of_16_bits_is_made_at_full_resolution_even_if_an_overview_is_read() -> None:
    level = SourceWindow(0, 0, 1024, 1024, 8, 1024, 1024)
    to = Destination(1024, 1024, 4, "uint16")
    wide = replace(RGB, dtypes=("uint16",) * 4, nodata=(None,) * 4, alpha_bands=(4,))
    limited = replace(BIG, cache_bytes=64 * MIB, masked=True, native_vrt=True)
    found = sizes(estimate_task(wide, [level], to, limited))
    assert found["block cache"] == 64


def test_the_factor_of_a_layer_multiplies_the_peak_and_notes_are_kept() -> None:
    plain = estimate_task(RGB, [WINDOW], SAME, BIG)
    grown = estimate_task(RGB, [WINDOW], SAME, BIG, factor=1.5, notes=["why"])
    assert grown == replace(plain, factor=1.5, notes=("why",))
    assert grown.peak_bytes == round(1.5 * plain.peak_bytes)


def test_unknown_names_are_told() -> None:
    with pytest.raises(RuleError, match="is no resampling"):
        peak(resampling="bicubic", warp_memory_bytes=MIB)
    with pytest.raises(RuleError, match="is no data type"):
        peak(header=replace(RGB, dtypes=("uint12",) * 3))


WAYS = st.sampled_from(list(Way))
SIDES = st.integers(1, 6000)


@given(WAYS, SIDES, SIDES, st.integers(1, 512), st.integers(1, 512), st.booleans(), st.integers(1, 8))
def test_every_estimate_holds_its_destination_and_has_no_negative_term(
    way: Way, width: int, height: int, cache: int, warp: int, masked: bool, threads: int
) -> None:
    settings = GdalSettings(cache * MIB, warp * MIB, "cubic", threads, way, masked)
    to = Destination(width, height, 3, "uint8")
    found = estimate_task(RGB, [WINDOW], to, settings)
    assert all(term.bytes > 0 and term.why for term in found.terms)
    assert found.peak_bytes >= width * height * 3 + FIXED_READ


@given(WAYS, st.integers(4, 256), st.integers(0, 256))
def test_a_larger_cache_never_lowers_an_estimate(way: Way, cache: int, more: int) -> None:
    assert peak(way=way, cache_bytes=cache * MIB) <= peak(way=way, cache_bytes=(cache + more) * MIB)


@given(WAYS, st.integers(1, 4096), st.integers(0, 4096))
def test_a_larger_window_never_lowers_an_estimate(way: Way, side: int, more: int) -> None:
    def of(length: int) -> int:
        length = min(length, 7192)
        return peak(window=SourceWindow(1000, 1000, length, length, 1, 8192, 8192), way=way)

    assert of(side) <= of(side + more)


@given(WAYS)
def test_remote_reads_and_masked_reads_never_take_less(way: Way) -> None:
    assert peak(way=way) < peak(way=way, remote=True)
    assert peak(way=way) <= peak(way=way, masked=True)
