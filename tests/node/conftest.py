"""A cluster for all node tests, one machine that most of them share, and a way to boot others. Nothing is skipped: what
this computer lacks for it is an error that says so."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from testbed.cluster.control_plane import ControlPlane, Options, control_plane
from testbed.node.image import Image, build_image
from testbed.node.instance import Instance
from testbed.node.machine import KernelPanicError, Machine, boot
from testbed.node.python_packages import packages_disk
from testbed.processes import Processes
from testbed.state import State
from tests.kept_logs import pytest_runtest_makereport  # noqa: F401
from tests.node.figures import note, noted
from tests.node.jobs import Jobs
from tests.node.pool import DISK_BYTES, MEMORY_MIB, pool, user_data


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if noted():
        terminalreporter.section("figures")
        for figure in noted():
            terminalreporter.write_line(figure)


NAMES = ("shared", "other", "diskless")
Boot = Callable[..., Machine]


def instance(name: str) -> Instance:
    """An instance of its own for each machine of a test."""
    number = NAMES.index(name) + 1
    identity = f"i-0f100d91a1000000{number}"
    return replace(Instance(), instance_id=identity, node_name=f"{name}.eu-west-1.compute.internal")


@pytest.fixture(scope="session")
def image() -> Image:
    return build_image()


@pytest.fixture(scope="session")
def state() -> Iterator[State]:
    with State() as opened:
        yield opened


@pytest.fixture(scope="session")
def processes(state: State) -> Iterator[Processes]:
    with Processes(state) as opened:
        yield opened


@pytest.fixture(scope="session")
def cluster(state: State, processes: Processes) -> Iterator[ControlPlane]:
    hosts = tuple(instance(name).node_name for name in NAMES)
    with control_plane(state, processes, Options(kubelet_hosts=hosts)) as opened:
        yield opened


@pytest.fixture(scope="session")
def start(state: State, processes: Processes, image: Image, cluster: ControlPlane) -> Boot:
    """Boots a machine of the pool: `settings` change the pool, `ours` its part of the user data; the rest goes to
    `boot`."""

    def started(
        name: str, *, settings: dict[str, Any] | None = None, ours: str | None = None, **details: Any
    ) -> Machine:
        return boot(
            state,
            processes,
            image,
            user_data(pool(**settings or {}), cluster, ours=ours),
            control_plane=cluster,
            instance=instance(name),
            name=name,
            **{"memory_mib": MEMORY_MIB, "disks": (DISK_BYTES, DISK_BYTES), **details},
        )

    return started


@pytest.fixture(scope="session")
def machine(start: Boot) -> Iterator[Machine]:
    """Two disks, the pool as it is, Ready, and a disk of Python packages. Shared: a test leaves it as it found it."""
    booted = start("shared", allow_reboot=True, packages=packages_disk())
    try:
        seconds = booted.wait_until_ready()
    except KernelPanicError as error:
        # Of a stock kernel that runs nothing of ours yet: the emulator's, and told. A second one is an error.
        note(f"booted a second time: {error}")
        booted.stop()
        booted = start("shared", allow_reboot=True, packages=packages_disk())
        seconds = booted.wait_until_ready()
    note(f"boot to Ready: {seconds:.0f} s, of which the emulator computed {cpu_seconds(booted):.0f} s on its cores")
    yield booted
    booted.stop()


def cpu_seconds(machine: Machine) -> float:
    """What a machine has cost so far, however busy this computer is with other things."""
    fields = Path(f"/proc/{machine.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.fixture
def other(start: Boot, cluster: ControlPlane) -> Iterator[Boot]:
    """Boots a second machine for one test, and ends it."""
    made: list[Machine] = []

    def started(**details: Any) -> Machine:
        made.append(start("other", **details))
        return made[-1]

    yield started
    for each in made:
        each.stop()
        cluster.api.delete(f"/api/v1/nodes/{each.instance.node_name}")


@pytest.fixture
def jobs(machine: Machine, cluster: ControlPlane) -> Iterator[Jobs]:
    """Pods on the shared machine; what a test leaves behind is removed."""
    made = Jobs(cluster.api, machine)
    yield made
    made.remove(*(item["metadata"]["name"] for item in cluster.api.items("/api/v1/namespaces/default/pods")))


@pytest.fixture
def diskless(start: Boot) -> Iterator[Boot]:
    """Boots a machine that is meant to power off before it joins."""
    made: list[Machine] = []

    def started(**details: Any) -> Machine:
        made.append(start("diskless", **details))
        return made[-1]

    yield started
    for each in made:
        each.stop()
