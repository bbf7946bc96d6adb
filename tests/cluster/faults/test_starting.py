"""A control plane that cannot start: one error that says which engine, why in its own words, and what to do."""

from __future__ import annotations

import shutil
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from testbed import engines
from testbed.cluster.control_plane import Options, control_plane
from testbed.engine_error import EngineError
from testbed.processes import Processes
from testbed.state import State
from tests.testbed.owners import python, said

NAMES = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
# Starts a control plane in the folder argv[1] and prints what came of it in one line. The check of the disk is left
# out: it is another test's, and disks also fill up later.
STARTS = """\
import sys
from pathlib import Path
from testbed.cluster.control_plane import control_plane
from testbed.engine_error import EngineError
from testbed.processes import Processes
from testbed.state import NEEDED_BYTES, State
try:
    needed = NEEDED_BYTES if sys.argv[2] == "checked" else 0
    with State(Path(sys.argv[1]), needed_bytes=needed) as state, Processes(state) as processes:
        with control_plane(state, processes):
            print("started", flush=True)
except EngineError as error:
    print(str(error).replace(chr(10), " | "), flush=True)
"""


def starting(options: Options | None = None) -> str:
    """What is said of a start that fails."""
    with (
        pytest.raises(EngineError) as failure,
        State() as state,
        Processes(state) as processes,
        control_plane(state, processes, options),
    ):
        pass
    shutil.rmtree(state.folder, ignore_errors=True)  # nothing stays where nothing was started
    return str(failure.value)


@pytest.fixture
def binaries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of engines in place of the built ones, which may be changed."""
    folder = tmp_path / "engines"
    folder.mkdir()
    for name in NAMES:
        (folder / name).symlink_to(engines.path(name))
    monkeypatch.setenv("FLOODPLAIN_ENGINES", str(folder))
    return folder


@pytest.fixture
def taken_port() -> Iterator[int]:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield int(listener.getsockname()[1])


def test_a_port_that_is_taken_is_told_in_the_server_s_words(taken_port: int) -> None:
    first, *lines = starting(Options(port=taken_port)).splitlines()
    assert first == "kube-apiserver ended with status 1 before the API server is ready; its last lines:"
    assert f"listen tcp 127.0.0.1:{taken_port}: bind: address already in use" in "\n".join(lines)


@pytest.mark.parametrize("name", NAMES)
def test_a_binary_that_is_missing_is_named_before_anything_starts(name: str, binaries: Path) -> None:
    (binaries / name).unlink()
    assert starting() == (
        f"FLOODPLAIN_ENGINES names {binaries}, which has no program {name}; unset it to use our builds"
    )


@pytest.mark.parametrize("name", ["etcd", "kube-apiserver"])
@pytest.mark.parametrize("size", [0, 100, 2**20])
def test_a_binary_that_was_written_half_is_told_as_the_engine_that_ended(name: str, size: int, binaries: Path) -> None:
    whole = (binaries / name).read_bytes()
    (binaries / name).unlink()
    (binaries / name).write_bytes(whole[:size])
    (binaries / name).chmod(0o755)
    assert starting().startswith(f"{name} ")


def test_a_disk_that_is_full_is_told_before_anything_starts(tmp_path: Path) -> None:
    message = in_memory(tmp_path, 64, "checked")
    assert message.startswith(f"state folder {tmp_path}/bed: 0.1 GiB free on its disk, a testbed needs 2.0 GiB; ")


def test_a_disk_that_fills_up_is_told_in_the_words_of_the_engine_that_met_it(tmp_path: Path) -> None:
    message = in_memory(tmp_path, 16, "unchecked")
    assert message.startswith("etcd ")
    assert "no space left on device" in message


def in_memory(folder: Path, mebibytes: int, check: str) -> str:
    """Start a control plane on a disk of that size: a tmpfs that only that process sees."""
    mount = f'mount -t tmpfs -o size={mebibytes}m none "$0" && exec "$@"'
    within = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", mount, str(folder)]
    with python(STARTS, folder / "bed", check, within=within) as process:
        return said(process)
