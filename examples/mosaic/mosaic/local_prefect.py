"""Prefect on this machine: a server, two work pools and a worker for each, on loopback, with a state folder.

Nothing here calls out: analytics and update checks are off. All processes end with the block.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from mosaic.settings import BIG, SLOTS, SMALL, worker_settings

START_SECONDS = 120
EXAMPLE = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class LocalPrefect:
    """What runs. `environment` is what a client of it needs."""

    url: str
    folder: Path
    environment: Mapping[str, str]
    workers: Mapping[str, int]
    """The id of each pool's worker process."""


@contextlib.contextmanager
def local_prefect(folder: Path) -> Iterator[LocalPrefect]:
    """Raises RuntimeError with the last lines of whatever did not come up."""
    folder.mkdir(parents=True, exist_ok=True)
    port = _free_port()
    environment = client_environment(folder, f"http://127.0.0.1:{port}/api")
    with contextlib.ExitStack() as stack:
        command = ["server", "start", "--host", "127.0.0.1", "--port", str(port), "--no-ui", "--analytics-off"]
        server = stack.enter_context(_running("server", command, folder, environment))
        _wait(f"http://127.0.0.1:{port}/api/health", server, folder / "server.log")
        _python("mosaic.deployments", folder, environment)
        workers = {}
        for pool in (SMALL, BIG):
            command = ["worker", "start", "--pool", pool, "--type", "process", "--name", f"{pool}-worker"]
            # At most so many flow runs at once: in the pool over all of its workers, here in this worker.
            command += ["--limit", str(SLOTS[pool])]
            process = stack.enter_context(_running(pool, command, folder, {**environment, **worker_settings(pool)}))
            workers[pool] = process.pid
        yield LocalPrefect(environment["PREFECT_API_URL"], folder, environment, workers)


def client_environment(folder: Path, url: str) -> dict[str, str]:
    """Prefect's settings and the places of our modules; nothing of a user's own Prefect."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    # Made absolute: workers run elsewhere.
    places = [str(Path(place).resolve()) for place in os.environ.get("PYTHONPATH", "").split(os.pathsep) if place]
    return {
        **kept,
        "PREFECT_HOME": str(folder / "home"),
        "PREFECT_API_URL": url,
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "DO_NOT_TRACK": "1",
        "PREFECT_CLI_COLORS": "false",
        "PREFECT_WORKER_QUERY_SECONDS": "1",
        "NO_PROXY": "127.0.0.1,localhost",
        "no_proxy": "127.0.0.1,localhost",
        "PYTHONPATH": os.pathsep.join([str(EXAMPLE), *places]),
    }


@contextlib.contextmanager
def _running(
    name: str, command: list[str], folder: Path, environment: Mapping[str, str]
) -> Iterator[subprocess.Popen[bytes]]:
    with (folder / f"{name}.log").open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "prefect", *command],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=dict(environment),
            cwd=folder,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """The process and what it has started, which is in its session. The state folder is not used again."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _wait(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(OSError), opener.open(url, timeout=2) as answer:
            if answer.status == 200:
                return
        time.sleep(0.2)
    last = "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-20:])
    raise RuntimeError(f"Prefect's server did not answer at {url}; its last lines:\n{last}")


def _python(module: str, folder: Path, environment: Mapping[str, str]) -> None:
    command = [sys.executable, "-m", module]
    done = subprocess.run(command, env=dict(environment), cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{module} failed:\n{done.stdout}{done.stderr}")


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
