"""`floodplain measure` and `memory.peak` under cgroup v2, on a real kernel with limits, swap and kills for memory.

The machine's own Python runs our sources, with a disk of packages, as a service of systemd with a cgroup of its own.
"""

from __future__ import annotations

import io
import json
import shlex
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from floodplain.quantity import MIB
from floodplain.raster.record import Method, Outcome, Record
from testbed.node.machine import Machine
from testbed.node.qemu import PACKAGES
from tests.node.figures import note

pytestmark = pytest.mark.full

ROOT = Path(__file__).parents[2]
SOURCES, MOUNT = "/opt/peak-sources", "/opt/peak-packages"
EAT = "x = bytearray(b'x') * ({} << 20)"
"""Holds so many MiB at one time."""
MAY_SWAP = {"Slice": "peaks.slice"}
"""Out of system.slice, which our nodes keep from swapping."""


@dataclass(frozen=True)
class Python:
    """The machine's, with our sources."""

    machine: Machine

    def unit(self, *command: str, **properties: str) -> str:
        """What a command says on both streams, as a service with these properties."""
        settings = {"MemoryAccounting": "yes", "OOMPolicy": "continue", **properties}
        words = [
            *("systemd-run", "--quiet", "--pipe", "--wait", "--collect", f"--setenv=PYTHONPATH={MOUNT}:{SOURCES}"),
            *(f"--property={name}={value}" for name, value in settings.items()),
            *command,
        ]
        return self.machine.run(f"{shlex.join(words)} 2>&1 || :", timeout_seconds=600)

    def measure(self, *command: str, **properties: str) -> tuple[Record, dict[str, Any]]:
        """The record of `floodplain measure` in such a service, and what else it says."""
        said = self.unit("python3", "-m", "floodplain", "measure", "--json", "--", *command, **properties)
        (told,) = (json.loads(line) for line in said.splitlines() if line.startswith('{"layer"'))
        rest = {key: told.pop(key) for key in ("exit_status", "processes", "notes")}
        note(f"{shlex.join(command)} with {properties}: {told} {rest}")
        return Record.model_validate(told), rest


@pytest.fixture(scope="module")
def python(machine: Machine) -> Iterator[Python]:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for path in (ROOT / "floodplain").rglob("*"):
            if path.suffix in (".py", ".tsv", ".json"):
                archive.add(path, str(path.relative_to(ROOT)))
    machine.unpack(buffer.getvalue(), SOURCES)
    machine.run(f"mkdir -p {MOUNT} && mount -t ext4 -o ro {PACKAGES} {MOUNT}")
    yield Python(machine)
    machine.run(f"umount {MOUNT} && rm -r {SOURCES} {MOUNT}")


def test_a_command_has_a_cgroup_of_its_own_with_all_its_processes_and_none_of_ours(python: Python) -> None:
    both = f"python3 -S -c {shlex.quote(EAT.format(60) + '; import time; time.sleep(6)')}"
    record, rest = python.measure("sh", "-c", f"{both} & {both}; wait")
    assert (record.method, record.outcome, record.censored, rest["exit_status"]) == (
        Method.CGROUP,
        Outcome.DONE,
        False,
        0,
    )
    assert (120 * MIB <= record.peak_bytes <= 160 * MIB, record.baseline_bytes) == (True, 0)
    assert python.machine.run("find /sys/fs/cgroup -name 'floodplain-measure-*'") == ""


def test_under_a_limit_of_its_own_the_cgroup_that_is_there_is_used_and_not_left(python: Python) -> None:
    record, _ = python.measure("python3", "-S", "-c", EAT.format(80), MemoryMax="400M")
    assert (record.method, record.slot_limit_bytes) == (Method.CGROUP, 400 * MIB)
    # This program itself is there before and is not the command's.
    assert record.baseline_bytes > 10 * MIB
    assert 75 * MIB <= record.marginal_bytes <= 120 * MIB


def test_a_command_killed_for_memory_is_a_lower_bound_of_the_limit(python: Python) -> None:
    record, rest = python.measure("python3", "-S", "-c", EAT.format(500), MemoryMax="250M", MemorySwapMax="0")
    assert (record.outcome, record.censored, rest["exit_status"]) == (Outcome.KILLED, True, 137)
    assert (record.peak_bytes >= 250 * MIB, record.slot_limit_bytes) == (True, 250 * MIB)


def test_sigkill_by_a_person_is_told_from_the_kernels(python: Python) -> None:
    record, rest = python.measure("python3", "-S", "-c", "import os; os.kill(os.getpid(), 9)", MemoryMax="250M")
    assert (record.outcome, rest["exit_status"]) == (Outcome.FAILED, 137)


def test_swap_hides_demand_and_the_peak_is_a_lower_bound(python: Python) -> None:
    record, rest = python.measure("python3", "-S", "-c", EAT.format(400), MemoryMax="250M", **MAY_SWAP)
    assert (record.outcome, record.censored, rest["exit_status"]) == (Outcome.DONE, True, 0)
    assert record.swap_peak_bytes > 100 * MIB
    assert record.peak_bytes >= 250 * MIB
    assert record.peak_bytes + record.swap_peak_bytes >= 400 * MIB


def test_a_peak_is_set_back_for_its_reader_alone_since_linux_6_12(python: Python) -> None:
    code = f"""
from floodplain.raster.cgroup_memory import PeakFile, own_cgroup
group = own_cgroup()
mine, other = PeakFile(group.folder / "memory.peak"), PeakFile(group.folder / "memory.peak")
{EAT.format(100)}
del x
reset = mine.reset()
print(reset, mine.peak_bytes() // 2**20, other.peak_bytes() // 2**20, other.is_reset)
"""
    said = python.unit("python3", "-c", code)
    kernel = tuple(int(part) for part in python.machine.run("uname -r").split("-")[0].split(".")[:2])
    note(f"memory.peak set back on Linux {kernel}: {said}")
    reset, mine, other, others = said.split()
    assert (reset, others) == (str(kernel >= (6, 12)), "False")
    assert int(other) >= 100
    assert (int(mine) < 80) == (kernel >= (6, 12))


def test_a_task_that_swapped_is_a_lower_bound_and_the_next_is_not(python: Python) -> None:
    code = f"""
import time
from floodplain.raster.measuring import measured
with measured("ortho") as first:
    {EAT.format(300)}
    time.sleep(0.5)
    del x
with measured("ortho") as second:
    {EAT.format(20)}
    del x
print(first.record.model_dump_json())
print(second.record.model_dump_json())
"""
    said = python.unit("python3", "-c", code, MemoryMax="200M", **MAY_SWAP)
    first, second = (Record.model_validate_json(line) for line in said.splitlines())
    note(f"a task over its limit with swap: {first}; the next: {second}")
    assert (first.method, first.censored, first.swap_peak_bytes > 80 * MIB) == (Method.VMHWM, True, True)
    assert first.peak_bytes >= 280 * MIB
    assert (second.method, second.outcome, second.censored) == (Method.VMHWM, Outcome.DONE, False)
    assert second.before_bytes is not None
    assert 18 * MIB <= second.peak_bytes - second.before_bytes <= 24 * MIB
