"""The memory of a process by /proc, with the units of each system, and what is done where /proc does not help."""

from __future__ import annotations

import mmap
import os
import subprocess
import sys
from pathlib import Path

import pytest

from floodplain.quantity import KIB, MIB
from floodplain.raster.process_memory import (
    ProcessMemory,
    give_back,
    parse_status,
    read_memory,
    reset_peak,
    resident_by_ps,
    rusage_unit,
)

STATUS = """Name:\tVmHWM:
VmPeak:\t  900 kB
VmHWM:\t  300 kB
VmRSS:\t  200 kB
VmSwap:\t    5 kB
"""


def held(count: int) -> int:
    """The mark after `count` bytes were touched and given back."""
    with mmap.mmap(-1, count) as pages:
        pages.write(b"x" * count)
    memory = read_memory()
    assert memory is not None
    return memory.peak_bytes


def test_kib_of_proc_become_bytes() -> None:
    assert parse_status(STATUS) == ProcessMemory(200 * KIB, 300 * KIB, 5 * KIB)


def test_a_kernel_without_swap_support_has_no_line_of_it() -> None:
    assert parse_status("VmHWM:\t300 kB\nVmRSS:\t200 kB\n") == ProcessMemory(200 * KIB, 300 * KIB, 0)


@pytest.mark.parametrize("text", ["", "Name:\tkthreadd\nThreads:\t1\n", "VmHWM:\t300 kB\n", "VmHWM: many kB\n"])
def test_a_process_without_memory_has_no_figures(text: str) -> None:
    assert parse_status(text) is None


def test_a_process_that_is_gone_has_no_figures() -> None:
    child = subprocess.Popen(["true"])
    assert child.wait() == 0
    assert read_memory(child.pid) is None


def test_a_reset_sets_the_mark_back_to_what_is_resident() -> None:
    high = held(64 * MIB)
    assert reset_peak()
    low = read_memory()
    assert low is not None
    assert low.peak_bytes - low.resident_bytes < 2 * MIB
    assert high - low.peak_bytes > 32 * MIB


@pytest.mark.parametrize(("platform", "unit"), [("linux", 1024), ("darwin", 1), ("freebsd14", 1024)])
def test_rusage_counts_kib_but_bytes_on_macos(platform: str, unit: int) -> None:
    assert rusage_unit(platform) == unit


def test_ps_says_what_proc_says() -> None:
    memory, by_ps = read_memory(), resident_by_ps()
    assert memory is not None and by_ps is not None
    assert abs(memory.resident_bytes - by_ps) < 4 * MIB


def test_what_was_freed_is_given_back() -> None:
    code = """
from floodplain.raster.process_memory import give_back, read_memory
kept = [bytes(100_000) for _ in range(500)]
last = bytes(100_000)  # above them, so that the heap cannot shrink by itself
full = read_memory().resident_bytes
kept.clear()
print(give_back(), full - read_memory().resident_bytes)
"""
    given, count = run(code).split()
    assert given == str(give_back())
    assert int(count) > 20 * MIB


UNDUMPABLE = """
import ctypes, os
if os.getuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
"""


def test_a_process_whose_proc_is_not_its_own_cannot_reset() -> None:
    code = "from floodplain.raster.process_memory import read_memory, reset_peak\n"
    code += UNDUMPABLE + "print(reset_peak(), read_memory() is not None)"
    assert run(code) == "False True\n"


def run(code: str) -> str:
    """What a process of its own prints."""
    root = Path(__file__).parents[3]
    answer = subprocess.run(
        [sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=False, env={**os.environ}
    )
    assert answer.stderr == ""
    return answer.stdout
