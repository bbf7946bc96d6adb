"""What a meter makes of swap: on a /proc of files, since this machine may have none. A real one: tests/node."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from floodplain.quantity import MIB
from floodplain.raster import process_memory
from floodplain.raster.peak_meter import PeakMeter, Segment
from floodplain.raster.record import Method

Status = Callable[[int, int, int], None]


@pytest.fixture
def status(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Status:
    """Write high-water mark, resident and swapped memory, in MiB."""
    (tmp_path / "self").mkdir()
    (tmp_path / "self" / "clear_refs").touch()
    (tmp_path / "meminfo").write_text("MemTotal:  100 kB\nSwapTotal:   100 kB\n")
    monkeypatch.setattr(process_memory, "PROC", tmp_path)

    def write(mark: int, resident: int, swap: int) -> None:
        whole = f"VmHWM:\t{mark * 1024} kB\nVmRSS:\t{resident * 1024} kB\nVmSwap:\t{swap * 1024} kB\n"
        partial = tmp_path / "self" / "next"
        partial.write_text(whole)
        partial.rename(tmp_path / "self" / "status")

    return write


def in_mib(segment: Segment) -> tuple[int, int, bool]:
    assert segment.method is Method.VMHWM
    return segment.peak_bytes // MIB, segment.swap_peak_bytes // MIB, segment.swapped_out


def test_without_swap_the_mark_is_the_peak(status: Status) -> None:
    meter = PeakMeter()
    status(50, 50, 0)
    assert meter.begin().held_bytes == 50 * MIB
    status(80, 60, 0)
    assert in_mib(meter.end()) == (80, 0, False)


def test_cold_pages_that_lay_in_swap_before_are_held_and_hide_nothing(status: Status) -> None:
    meter = PeakMeter()
    status(50, 50, 30)
    assert meter.begin().held_bytes == 80 * MIB
    status(70, 55, 30)
    assert in_mib(meter.end()) == (100, 30, False)


def test_what_went_to_swap_meanwhile_makes_the_peak_a_lower_bound(status: Status) -> None:
    meter = PeakMeter()
    status(50, 50, 10)
    meter.begin()
    status(70, 60, 40)
    assert in_mib(meter.end()) == (100, 40, True)


def test_swap_that_was_used_and_freed_between_is_seen_by_samples(status: Status) -> None:
    meter = PeakMeter(interval_seconds=0.001)
    status(50, 50, 0)
    meter.begin()
    status(70, 60, 25)
    end = time.monotonic() + 60
    while max(one.swap_bytes for one in meter._samples) == 0:
        assert time.monotonic() < end
        time.sleep(0.001)
    status(70, 50, 0)
    assert in_mib(meter.end()) == (85, 25, True)


def test_each_fold_begins_anew(status: Status) -> None:
    meter = PeakMeter()
    status(50, 50, 0)
    meter.begin()
    status(90, 60, 0)
    assert in_mib(meter.fold()) == (90, 0, False)
    status(65, 60, 0)
    assert in_mib(meter.end()) == (65, 0, False)


def test_segments_join_to_the_larger_of_each_and_samples_taint_them() -> None:
    sure, unsure = Segment(5, 0, Method.VMHWM), Segment(3, 2, Method.SAMPLES, swapped_out=True)
    assert sure.joined(unsure) == Segment(5, 2, Method.SAMPLES, swapped_out=True)
    assert sure.joined(sure) == sure
