"""A control plane of its own for sizing, and admission at work in it unless a test stops it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from testbed.cluster.control_plane import ControlPlane, Options, control_plane
from testbed.processes import Processes
from testbed.state import State
from tests.cluster.admission.sizing_bed import SizingBed, make_bed


@pytest.fixture(scope="session")
def state() -> Iterator[State]:
    with State() as state:
        yield state


@pytest.fixture(scope="session")
def cluster(state: State) -> Iterator[ControlPlane]:
    """Without a scheduler: how pods are made is under test, not where they go."""
    with Processes(state) as processes, control_plane(state, processes, Options(scheduler=False)) as running:
        yield running


@pytest.fixture(scope="session")
def stopped_bed(state: State, cluster: ControlPlane) -> SizingBed:
    """The configuration is there, and nobody answers."""
    return make_bed(state, cluster)


@pytest.fixture(scope="module")
def bed(stopped_bed: SizingBed) -> Iterator[SizingBed]:
    """Admission answers, and works by the rights that SizingService gives it."""
    with stopped_bed.serving():
        yield stopped_bed
