"""The fifteen defects of the published raster pattern (facts of sizing, section 0), and what floodplain does instead.

One test each, in their order. Where another test says more, its name is in the docstring.
"""

from __future__ import annotations

import ast
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Literal

import pytest

from floodplain.quantity import GIB, MIB
from floodplain.raster import measured, worker_memory
from floodplain.raster.gdal_cache import cache_bytes, lint
from floodplain.raster.header import Header
from floodplain.raster.measuring import start_worker
from floodplain.raster.model import estimate_task
from floodplain.raster.pixel_size import itemsize
from floodplain.raster.process_spans import MeasuringError
from floodplain.raster.record import Record
from floodplain.raster.target import Target, complete
from floodplain.raster.task import Destination, GdalSettings, SourceWindow
from floodplain.raster.window import NoOverlap, windows

ROOT = Path(__file__).resolve().parents[3]
UTM = Header(
    width=10_000,
    height=10_000,
    transform=(10.0, 0.0, 500_000.0, 0.0, -10.0, 5_600_000.0),
    crs="EPSG:32633",
    dtypes=("uint8",) * 3,
    nodata=(None,) * 3,
    block_width=512,
    block_height=512,
)


def _reading(side: int) -> tuple[SourceWindow, Destination]:
    return SourceWindow(0, 0, side, side, 1, UTM.width, UTM.height), Destination(side, side, 3, "uint8")


@pytest.mark.parametrize(
    ("dtype", "size"),
    [
        ("uint8", 1),
        ("int16", 2),
        ("float32", 4),
        ("float64", 8),
        ("complex_int16", 4),
        ("complex64", 8),
        ("complex128", 16),
    ],
)
def test_1_a_pixel_has_the_size_of_its_dtypes_name(dtype: str, size: int) -> None:
    """`src.dtypes` are plain strings, of which an attribute or a short table fails."""
    assert itemsize(dtype) == size


def test_2_the_reference_values_of_the_worker_formula_are_exact() -> None:
    """4.3 was asserted of 4.2656 to a relative 1e-6."""
    plain = [worker_memory(420 * MIB, slots=slots, headroom=1.3) for slots in (8, 16)]
    # Bytes are rounded up once a slot.
    assert [(one.bytes - one.fixed_bytes) / GIB for one in plain] == [
        pytest.approx(4.265625, abs=8 / GIB),
        pytest.approx(8.53125, abs=16 / GIB),
    ]


def test_3_estimate_measurement_and_worker_are_all_in_bytes() -> None:
    """MB, MiB, GB and GiB were mixed: 5 to 7 % were lost between them."""
    window, destination = _reading(1024)
    estimate = estimate_task(UTM, (window,), destination, GdalSettings())
    assert {term.name: term.bytes for term in estimate.terms}["destination"] >= 3 * 1024 * 1024
    assert all(field.endswith("_bytes") for field in Record.model_fields if "peak" in field or "estimate" in field)
    assert worker_memory(MIB, slots=1, headroom=1.0).slot_bytes == MIB


def _allocate(mib: int) -> int:
    """What a task of `mib` is measured to hold, in a process that has done larger ones."""
    with measured(layer="allocate") as measurement:
        block = bytearray(mib * MIB)
        block[::4096] = b"x" * len(block[::4096])
    del block
    assert measurement.record is not None
    return measurement.record.marginal_bytes


def _warm_up() -> None:
    """Loads this module, which every task needs."""


def test_4_a_task_smaller_than_the_largest_before_it_is_measured_all_the_same() -> None:
    """After less before of `ru_maxrss` is 0 for every task that is no new record of its process."""
    sizes = [120, 10, 60, 10]
    known = ("allocate", None, None, _warm_up)
    with ProcessPoolExecutor(1, get_context("spawn"), initializer=start_worker, initargs=known) as pool:
        found = [count / MIB for count in pool.map(_allocate, sizes)]
    assert found == [pytest.approx(size, abs=4) for size in sizes]


def test_5_two_tasks_of_one_process_are_not_each_given_the_number_of_both() -> None:
    """There is no peak of a thread; every concurrent task saw that of its process."""
    with measured(layer="ortho"), ThreadPoolExecutor(1) as other, pytest.raises(MeasuringError, match="set"):
        other.submit(_measured, "no").result()
    with measured(layer="ortho", shared="set"), ThreadPoolExecutor(1) as other:
        record = other.submit(_measured, "set").result()
    assert record is not None
    assert record.concurrent == 2


def _measured(shared: Literal["no", "set"]) -> Record | None:
    with measured(layer="ortho", shared=shared) as measurement:
        pass
    return measurement.record


def test_7_destination_mask_blocks_and_chunk_are_terms_of_their_own_and_small_windows_have_a_fixed_cost() -> None:
    """Only source pixels were counted. (6, the factor of 3, is in test_model_measured.py, over all 153 warps.)"""
    window, destination = _reading(256)
    names = {term.name for term in estimate_task(UTM, (window,), destination, GdalSettings(masked=True)).terms}
    assert len(names) >= 5
    small = estimate_task(UTM, (window,), destination, GdalSettings()).peak_bytes
    assert small > 10 * window.pixels * 3
    wider = Destination(4 * destination.width, 4 * destination.height, 3, "uint8")
    assert estimate_task(UTM, (window,), wider, GdalSettings()).peak_bytes > small


def test_8_windows_are_clipped_and_what_lies_outside_is_no_task() -> None:
    """`src.window(*bounds)` gave negative offsets, and sizes many times the raster."""
    at_the_edge = Target(None, (400_000.0, 5_590_000.0, 510_000.0, 5_700_000.0), 256, 256)
    (found,) = windows(UTM, complete(at_the_edge, UTM), GdalSettings())  # type: ignore[misc]
    assert (found.column, found.row) == (0, 0)
    assert 1_000 <= found.width <= 3_000
    assert 1_000 <= found.height <= 3_000
    outside = Target(None, (0.0, 0.0, 1_000.0, 1_000.0), 256, 256)
    assert isinstance(windows(UTM, complete(outside, UTM), GdalSettings()), NoOverlap)


@pytest.mark.parametrize(
    ("text", "size"),
    [("0", 0), ("256MB", 256 * MIB), ("5%", 1 * GIB), ("268435456", 256 * MIB), ("256", 256 * MIB)],
)
def test_13_the_cache_is_read_as_gdal_reads_it_and_zero_is_told(text: str, size: int) -> None:
    """`int(...) <= 512` accepted 0, failed at `256MB` and `5%`, and refused 256 MiB written as bytes."""
    assert cache_bytes(text, 20 * GIB) == size
    assert bool(lint(text, 20 * GIB)) == (text in ("0", "5%"))


def test_14_a_worker_has_a_baseline_and_a_cache_for_each_process() -> None:
    """Eight processes were short of eight baselines, 104 MiB each with floodplain, and every cache."""
    threads = worker_memory(420 * MIB, slots=8, processes=1)
    processes = worker_memory(420 * MIB, slots=8, processes=8)
    assert processes.bytes - threads.bytes == 7 * (104 + 64) * MIB


ELSEWHERE = {
    6: ("tests/floodplain/raster/test_model_measured.py", "test_of_153_measured_warps_none_is_below_08"),
    9: ("tests/floodplain/raster/test_read_header_http.py", "test_a_cog_takes_a_head_and_one_range"),
    10: ("examples/mosaic/tests/test_two_pools.py", "test_the_largest_tile_ran_alone_in_the_big_pool"),
    11: (
        "examples/mosaic/tests/test_faults.py",
        "test_a_tile_that_fails_every_time_fails_the_flow_by_its_name_when_all_others_have_ended",
    ),
    12: (
        "examples/mosaic/tests/test_two_pools.py",
        "test_every_tile_that_a_raster_covers_was_built_once_in_the_pool_of_its_estimate",
    ),
    15: (
        "examples/mosaic/tests/test_faults.py",
        "test_a_tile_that_hangs_in_native_code_is_killed_when_its_time_is_over_and_tried_again",
    ),
}
"""Shown where more than arithmetic runs: an HTTP server, Prefect."""


@pytest.mark.parametrize("number", ELSEWHERE)
def test_the_others_are_shown_where_more_runs(number: int) -> None:
    file, name = ELSEWHERE[number]
    tree = ast.parse((ROOT / file).read_text())
    assert name in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
