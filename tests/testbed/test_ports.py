"""Ports on loopback: free, and reserved against other testbeds for the life of a process."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from testbed import ports
from testbed.engine_error import EngineError
from testbed.ports import free_port
from tests.testbed.owners import FOREVER, python, said

# Outside the range that testbeds use, so that nobody's cluster is disturbed.
FIRST = 19100
TAKES = """\
import sys, time
from testbed import ports
ports.FIRST, ports.LAST = int(sys.argv[1]), int(sys.argv[1]) + 4
print(*[ports.free_port() for _ in range(3)], flush=True)
time.sleep(600)
"""


@pytest.fixture
def only_four(monkeypatch: pytest.MonkeyPatch) -> Iterator[set[int]]:
    taken: list[socket.socket] = []
    monkeypatch.setattr(ports, "FIRST", FIRST)
    monkeypatch.setattr(ports, "LAST", FIRST + 4)
    monkeypatch.setattr(ports, "_reservations", taken)
    yield set(range(FIRST, FIRST + 4))
    for reservation in taken:
        reservation.close()


def test_a_port_can_be_listened_on_and_lies_below_the_kernel_s_own_range() -> None:
    port = free_port()
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", port))
    assert ports.FIRST <= port < ports.LAST <= 32768


def test_two_processes_never_get_one_port_and_a_port_is_free_again_when_its_process_has_ended(
    only_four: set[int],
) -> None:
    with python(TAKES, str(min(only_four))) as other:
        theirs = {int(port) for port in said(other).split()}
        ours = free_port()
        assert {ours} | theirs == only_four
        with pytest.raises(EngineError) as refusal:
            free_port()
    assert str(refusal.value) == (
        f"no free TCP port on 127.0.0.1 between {ports.FIRST} and {ports.LAST}: end what occupies them "
        "(`ss -ltnp` tells)"
    )
    assert {free_port() for _ in theirs} == theirs


def test_testbeds_with_other_temporary_folders_know_of_each_other_and_leave_no_file(
    only_four: set[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with python(TAKES, str(min(only_four))) as other:
        theirs = {int(port) for port in said(other).split()}
        assert {free_port()} == only_four - theirs
    assert list(tmp_path.iterdir()) == []


def test_a_child_that_outlives_its_testbed_keeps_no_reservation(only_four: set[int]) -> None:
    code = TAKES.replace(
        "print(", "import subprocess; child = subprocess.Popen(['sleep', sys.argv[2]])\nprint(child.pid, "
    )
    with python(code, str(min(only_four)), FOREVER) as other:
        child = int(said(other).split()[0])
    try:
        assert {free_port() for _ in only_four} == only_four
    finally:
        os.kill(child, signal.SIGKILL)


@pytest.mark.parametrize("address", ["127.0.0.1", ""])
def test_a_port_that_somebody_listens_on_is_not_handed_out(only_four: set[int], address: str) -> None:
    with socket.socket() as listener:
        listener.bind((address, min(only_four)))
        listener.listen()
        assert {free_port() for _ in range(3)} == only_four - {min(only_four)}
