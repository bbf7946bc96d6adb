"""Swappiness 10 against 60 for a job in the shape of OpenDroneMap's: it fills, then goes over its memory again and
again. Prints what was measured; which value is better is for a pool of real size to tell."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from floodplain.quantity import MIB
from testbed.node.machine import Machine
from tests.node.figures import note
from tests.node.jobs import Jobs, container

pytestmark = pytest.mark.full

PEAK_MIB, LIMIT_MIB, SWEEPS = 480, 256, 2


@pytest.fixture
def as_found(machine: Machine) -> Iterator[None]:
    before = machine.run("sysctl -n vm.swappiness")
    yield
    machine.run(f"sysctl -q -w vm.swappiness={before}")


@pytest.mark.usefixtures("as_found")
def test_the_job_ends_well_at_10_and_at_60(machine: Machine, jobs: Jobs) -> None:
    for swappiness in (10, 60):
        machine.run(f"sysctl -q -w vm.swappiness={swappiness}; echo 3 >/proc/sys/vm/drop_caches")
        eat = (f"-mib={PEAK_MIB}", f"-sweeps={SWEEPS}")
        pages = _swapped_pages(machine)
        jobs.start("odm", container(request_mib=LIMIT_MIB - 1, limit_mib=LIMIT_MIB, eat=eat))
        ends = jobs.ended("odm", timeout_seconds=600)
        log = jobs.log("odm").splitlines()
        written, read = (after - before for before, after in zip(pages, _swapped_pages(machine), strict=True))
        jobs.remove("odm")
        note(
            f"swappiness {swappiness}: {log[-1]}, to swap {written * 4096 // MIB} MiB, from swap "
            f"{read * 4096 // MIB} MiB ({', '.join(line for line in log if line.startswith('sweep'))})"
        )
        assert (ends["odm"].exit_code, ends["odm"].reason) == (0, "Completed")
        assert written * 4096 >= (PEAK_MIB - LIMIT_MIB) * MIB


def _swapped_pages(machine: Machine) -> tuple[int, int]:
    """Pages written to swap and read from it since boot."""
    counters = dict(line.split() for line in machine.run("cat /proc/vmstat").splitlines())
    return int(counters["pswpout"]), int(counters["pswpin"])
