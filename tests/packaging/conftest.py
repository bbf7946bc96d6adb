"""Environments with nothing of this checkout in them, and the engine's side of the wire.

Built from committed and new files only, so that an ignored file cannot make a test pass.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc  # type: ignore[import-untyped]
import pytest
from google.protobuf import empty_pb2  # type: ignore[import-untyped]
from pulumi.runtime.proto import engine_pb2_grpc, resource_pb2, resource_pb2_grpc

from preview.monitor import RecordingMonitor
from preview.outputs import Apply

ROOT = Path(__file__).resolve().parents[2]
UV = Path(sys.executable).parent / "uv"


class Outside:
    """Runs commands in another folder, with an environment that does not lead back to this checkout."""

    @staticmethod
    def run(command: Sequence[str | Path], cwd: Path) -> subprocess.CompletedProcess[str]:
        kept = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV")}
        return subprocess.run([str(part) for part in command], cwd=cwd, env=kept, capture_output=True, text=True)

    @classmethod
    def must(cls, command: Sequence[str | Path], cwd: Path) -> str:
        """The same for what has to work; its output."""
        done = cls.run(command, cwd)
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        return done.stdout

    @classmethod
    def install(cls, python: Path, *what: str | Path) -> None:
        """Into the environment of `python`, from uv's cache, where `make setup` has put every package.

        Where somebody cleared the cache the packages are fetched again.
        """
        command: list[str | Path] = [UV, "pip", "install", "--quiet", "--python", python]
        if cls.run([*command, "--offline", *what], python.parent).returncode:
            cls.must([*command, *what], python.parent)


@pytest.fixture(scope="session")
def outside() -> type[Outside]:
    return Outside


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The repository's files in an empty folder, as `pulumi package add` would clone them."""
    folder = tmp_path_factory.mktemp("clone")
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, folder / name)
    return folder


@pytest.fixture(scope="session")
def new_environment(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], Path]:
    """Makes a virtual environment with a requirements file and nothing else; the path of its Python."""

    def make(requirements: Path) -> Path:
        folder = tmp_path_factory.mktemp("environment")
        Outside.must([UV, "venv", "--quiet", "--python", sys.executable, folder / "venv"], folder)
        python = folder / "venv" / "bin" / "python"
        Outside.install(python, "--require-hashes", "-r", requirements)
        return python

    return make


@pytest.fixture(scope="session")
def wheel(clone: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The distribution, built with the pinned backend of this environment and no network."""
    out = tmp_path_factory.mktemp("dist")
    offline = ["--quiet", "--offline", "--no-build-isolation", "--python", sys.executable]
    Outside.must([UV, "build", "--wheel", *offline, "--out-dir", out, clone], out)
    (built,) = out.glob("*.whl")
    return built


@contextmanager
def serving(monitor: RecordingMonitor) -> Iterator[str]:
    """Serve the two services that an engine offers to programs and plugins; the address."""

    def forwarding(service: str, base: type) -> Any:
        methods = resource_pb2.DESCRIPTOR.services_by_name[service].methods
        calls = {
            method.name: lambda self, request, context, name=method.name: getattr(monitor, name)(request)
            for method in methods
            if hasattr(monitor, method.name)
        }
        return type(f"Forwarding{service}", (base,), calls)()

    class Engine(engine_pb2_grpc.EngineServicer):
        def Log(self, request, context):  # type: ignore[no-untyped-def]  # noqa: N802 the protocol's name
            monitor.Log(request)
            return empty_pb2.Empty()

    server = grpc.server(ThreadPoolExecutor(max_workers=8))
    resource_pb2_grpc.add_ResourceMonitorServicer_to_server(
        forwarding("ResourceMonitor", resource_pb2_grpc.ResourceMonitorServicer), server
    )
    engine_pb2_grpc.add_EngineServicer_to_server(Engine(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        server.stop(0).wait()


@pytest.fixture
def engine() -> Iterator[tuple[RecordingMonitor, str]]:
    """A monitor that records one test's registrations, with its address."""
    monitor = RecordingMonitor(Apply(), project="elsewhere", stack="test")
    with serving(monitor) as address:
        yield monitor, address


@pytest.fixture(scope="module")
def log_address() -> Iterator[str]:
    """An engine that a plugin may log to for as long as it runs."""
    with serving(RecordingMonitor(Apply(), project="elsewhere", stack="test")) as address:
        yield address
