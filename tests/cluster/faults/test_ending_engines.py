"""An engine that ends in the middle of a test: whoever waits is told which one, and what it said last."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator

import pytest

from testbed.cluster.control_plane import ControlPlane, Options, control_plane
from testbed.engine_error import EngineError
from testbed.processes import Process, Processes, wait_until
from testbed.state import State


@pytest.fixture
def small_cluster() -> Iterator[ControlPlane]:
    """One that may be broken."""
    options = Options(scheduler=False, controller_manager=False)
    with State() as state, Processes(state) as processes, control_plane(state, processes, options) as running:
        yield running


def test_whoever_waits_is_told_that_the_api_server_was_killed(small_cluster: ControlPlane) -> None:
    api, server = small_cluster.api, small_cluster.processes["kube-apiserver"]
    questions: dict[str, Callable[[], object]] = {
        "find": lambda: api.find("/api/v1/namespaces/default/configmaps/not-there"),
        "items": lambda: api.items("/api/v1/namespaces/default/pods"),
        "delete": lambda: api.delete("/api/v1/namespaces/default/configmaps/not-there").ok,
    }
    assert [bool(ask()) for ask in questions.values()] == [False, False, False]
    die(server)
    for what, ask in questions.items():
        assert_told(server, what, ask)


def test_whoever_waits_is_told_that_etcd_was_killed_although_the_server_still_listens(
    small_cluster: ControlPlane,
) -> None:
    """Without etcd a request hangs for as long as it may."""
    etcd = small_cluster.processes["etcd"]
    die(etcd)
    assert_told(etcd, "answer", lambda: small_cluster.api.request("GET", "/api/v1/pods", timeout_seconds=2).ok)


def die(process: Process) -> None:
    """As a crash: not through the testbed, which would know that it was meant."""
    os.kill(process.pid, signal.SIGKILL)
    wait_until("it is gone", lambda: not process.alive())


def assert_told(process: Process, what: str, ask: Callable[[], object]) -> None:
    started = time.monotonic()
    with pytest.raises(EngineError) as failure:
        wait_until(f"there is something to {what}", ask)
    first, *lines = str(failure.value).splitlines()
    assert first == f"{process.name} was killed by SIGKILL before there is something to {what}; its last lines:"
    assert lines == process.last_lines().splitlines() != []
    assert time.monotonic() - started < 20
