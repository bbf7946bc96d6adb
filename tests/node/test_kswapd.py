"""When does the kernel reclaim memory in the background, on a node with our reserve?"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from floodplain.quantity import GIB, KIB, MIB
from nodeconfig import kernel_reserve
from testbed.node.machine import Machine
from tests.node.figures import note
from tests.node.jobs import memory

PAGE = 4096
ROUNDED = 16 * PAGE
"""Each zone has its share of the marks, rounded to pages."""
FILE = "/mnt/k8s-disks/0/to-be-read"
STEP_MIB = 8
AFTERWARDS_MIB = 640
"""Several ways from the high mark to the low one."""
NEAR = 40 * MIB
"""Pages on lists of each processor, the smallest zone, and a step more or less."""

READ = f"""
import os
def counters():
    found = dict(line.split() for line in open("/proc/vmstat"))
    return int(found["nr_free_pages"]), int(found["pgscan_kswapd"])
def step():
    assert file.read({STEP_MIB} << 20), "the file has ended"
    return counters()
free, scanned = counters()
now = scanned
with open("{FILE}", "rb", buffering=0) as file:
    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
    while now == scanned:
        before = free
        free, now = step()
    most = max(step()[0] for _ in range({AFTERWARDS_MIB // STEP_MIB}))
print(before, most)
"""
"""Fills memory with the page cache of a file of holes. Prints the free pages just before kswapd began, and the most
that there were afterwards, while reader and kswapd took and gave between the marks. By single pages: reading ahead asks
for whole blocks, and kswapd is also woken where memory in pieces holds none, whatever is free."""


def test_the_kernels_marks_are_those_of_the_table(machine: Machine) -> None:
    total = memory(machine)["MemTotal"]
    expected = kernel_reserve(total)
    marks = _marks(machine)
    kib = total // KIB
    assert marks["managed"] == pytest.approx(total, abs=ROUNDED)
    assert marks["min"] == pytest.approx(expected.min_free_kib * KIB, abs=ROUNDED)
    assert marks["low"] == pytest.approx(expected.low_kib(kib) * KIB, abs=ROUNDED)
    assert marks["high"] == pytest.approx(expected.high_kib(kib) * KIB, abs=ROUNDED)


def _marks(machine: Machine) -> dict[str, int]:
    """Bytes, of all zones that have memory together. (The kernel gives an empty zone for movable pages marks too.)"""
    zones = machine.run("cat /proc/zoneinfo").split("\nNode ")
    names = ("min", "low", "high", "managed")
    each = [{name: int(re.findall(rf"^ +{name} +(\d+)$", zone, re.MULTILINE)[0]) for name in names} for zone in zones]
    return {name: PAGE * sum(zone[name] for zone in each if zone["managed"]) for name in names}


@pytest.fixture
def empty_cache(machine: Machine) -> Iterator[None]:
    drop = "sync; echo 1 >/proc/sys/vm/drop_caches"
    # Memory that earlier jobs left in pieces makes the kernel reclaim above its marks for a while, to have whole blocks
    # again (vm.watermark_boost_factor in its admin-guide/sysctl/vm.rst). What is asked here is where the marks lie.
    boost = machine.run("cat /proc/sys/vm/watermark_boost_factor").strip()
    machine.run(f"echo 0 >/proc/sys/vm/watermark_boost_factor; {drop}; echo 1 >/proc/sys/vm/compact_memory")
    machine.run(f"truncate -s {memory(machine)['MemTotal'] + GIB} {FILE}")
    yield
    machine.run(f"rm -f {FILE}; {drop}; echo {boost} >/proc/sys/vm/watermark_boost_factor")


@pytest.mark.full
@pytest.mark.usefixtures("empty_cache")
def test_kswapd_starts_at_the_free_memory_of_the_table_and_stops_about_its_second_figure(machine: Machine) -> None:
    total = memory(machine)["MemTotal"]
    reserve = kernel_reserve(total)
    low, high = reserve.low_kib(total // KIB) * KIB, reserve.high_kib(total // KIB) * KIB
    assert high - low > 1.5 * NEAR
    before, most = (int(pages) * PAGE for pages in machine.run(f"python3 -c '{READ}'", timeout_seconds=400).split())
    note(
        f"kswapd began at {before // MIB} MiB free (low mark {low // MIB} MiB), "
        f"and went up to {most // MIB} MiB (high mark {high // MIB} MiB)"
    )
    assert before == pytest.approx(low, abs=NEAR)
    # It looks between rounds whether one zone has its own high mark, and then stops (pgdat_balanced in mm/vmscan.c).
    # A round may free as much as the high marks are (kswapd_shrink_node): 73 MiB above were seen.
    assert before < most <= 2 * high
