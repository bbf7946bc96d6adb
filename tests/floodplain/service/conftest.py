"""The service in process, with files of a test's own, and as a real process on a free loopback port."""

from __future__ import annotations

import json
import logging
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import structlog
from starlette.testclient import TestClient

from floodplain.service import logs
from floodplain.service.app import sizing_app
from floodplain.service.metrics import ServiceMetrics
from floodplain.service.pools_source import PoolsSource
from floodplain.service.readiness import Draining
from floodplain.service.settings import ServiceSettings

ROOT = Path(__file__).resolve().parents[3]
PATIENCE_SECONDS = 60.0
"""For a process to do what it surely does; a busy machine takes seconds."""


@pytest.fixture(autouse=True)
def _event_loops_end_with_their_test(own_event_loop: None) -> None:
    """Servers and clients of these tests run in loops of their own."""


@dataclass
class InProcess:
    """The app with everything that it was made of."""

    client: TestClient
    source: PoolsSource
    draining: Draining
    metrics: ServiceMetrics

    def plan(self, body: Any) -> Any:
        """The JSON of a plan that has to be made."""
        answer = self.client.post("/v1/plans", json=body)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def counted(self, name: str, **labels: str) -> float | None:
        """The value of one metric."""
        return self.metrics.registry.get_sample_value(name, labels)


@pytest.fixture
def in_process(tmp_path: Path) -> Callable[..., InProcess]:
    """Builds the app; settings by name. Without `pools` it plans for the example pool."""

    def build(**settings: Any) -> InProcess:
        chosen = ServiceSettings(**settings)
        source = PoolsSource(
            chosen, default_pools=str(tmp_path / "no-pools.json"), default_sizing=str(tmp_path / "no-sizing.json")
        )
        source.look()
        metrics, draining = ServiceMetrics(), Draining()
        metrics.watch(source)
        client = TestClient(sizing_app(source, chosen, metrics, draining), raise_server_exceptions=False)
        return InProcess(client, source, draining, metrics)

    return build


@pytest.fixture
def app(in_process: Callable[..., InProcess]) -> InProcess:
    """The app with the example pool."""
    return in_process()


@pytest.fixture(autouse=True)
def _logs() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers, root.level
    logs.configure()
    yield
    structlog.reset_defaults()
    root.handlers, root.level = handlers, level


@dataclass
class Process:
    """`floodplain serve sizing`, and what it has logged."""

    popen: subprocess.Popen[str]
    url: str = ""
    seen: list[dict[str, Any]] = field(default_factory=list)
    lines: queue.Queue[str | None] = field(default_factory=queue.Queue)

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def until(self, event: str) -> dict[str, Any]:
        """The next log line of this event, waiting for it."""
        while True:
            line = self.lines.get(timeout=PATIENCE_SECONDS)
            assert line is not None, f"ended with {self.popen.wait()} before it logged {event!r}: {self.seen}"
            self.seen.append(json.loads(line))
            if self.seen[-1]["event"] == event:
                return self.seen[-1]

    def status(self) -> int:
        """The exit status, waiting for it."""
        return self.popen.wait(timeout=PATIENCE_SECONDS)


@pytest.fixture
def start() -> Iterator[Callable[..., Process]]:
    """Starts processes, with environment variables by name, and ends them."""
    started: list[Process] = []

    def run(*arguments: str, **environment: str) -> Process:
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("FLOODPLAIN_", "KUBERNETES_"))}
        command = [sys.executable, "-m", "floodplain", "serve", "sizing", "--port", "0", *arguments]
        process = Process(
            subprocess.Popen(command, cwd=ROOT, env={**kept, **environment}, stderr=subprocess.PIPE, text=True)
        )
        started.append(process)
        threading.Thread(target=_read, args=(process,), daemon=True).start()
        process.url = process.until("listening")["url"]
        return process

    yield run
    for process in started:
        if process.popen.poll() is None:
            process.popen.kill()
            process.popen.wait()
        assert process.popen.stderr is not None
        process.popen.stderr.close()


def _read(process: Process) -> None:
    assert process.popen.stderr is not None
    for line in process.popen.stderr:
        process.lines.put(line)
    process.lines.put(None)
