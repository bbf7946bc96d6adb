"""`floodplain serve admission` as a real process on free loopback ports, and what it has logged."""

from __future__ import annotations

import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
PATIENCE_SECONDS = 60.0


class RunningAdmission:
    """`url` is the TLS door, `health` the plain one."""

    def __init__(self, popen: subprocess.Popen[str]) -> None:
        self.popen = popen
        self.log: list[dict[str, Any]] = []
        self.url = self.health = ""
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def until(self, event: str) -> dict[str, Any]:
        """The next log line of this event, waiting for it."""
        while True:
            line = self._lines.get(timeout=PATIENCE_SECONDS)
            assert line is not None, f"ended with {self.popen.wait()} before it logged {event!r}: {self.log}"
            self.log.append(json.loads(line))
            if self.log[-1]["event"] == event:
                return self.log[-1]

    def end(self, by: signal.Signals = signal.SIGTERM) -> int:
        """Ask it to end; its status."""
        self.popen.send_signal(by)
        return self.popen.wait(PATIENCE_SECONDS)

    def rest_of_log(self) -> list[dict[str, Any]]:
        """Everything that it logged, after it has ended."""
        self.popen.wait(PATIENCE_SECONDS)
        self._reader.join(PATIENCE_SECONDS)
        while not self._lines.empty():
            line = self._lines.get()
            self.log += [json.loads(line)] if line is not None else []
        return self.log

    def _read(self) -> None:
        assert self.popen.stderr is not None
        for line in self.popen.stderr:
            self._lines.put(line)
        self._lines.put(None)


@contextmanager
def running_admission(*arguments: str, **environment: str) -> Iterator[RunningAdmission]:
    """Listens when the block begins; ended when it is left."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("FLOODPLAIN_", "KUBERNETES_"))}
    ports = () if "--port" in arguments else ("--port", "0")
    # Ended by the kernel if the tests are killed.
    setpriv = shutil.which("setpriv")
    dies_with_us = [setpriv, "--pdeathsig", "KILL", "--"] if setpriv else []
    command = [
        *dies_with_us,
        sys.executable,
        "-m",
        "floodplain",
        "serve",
        "admission",
        *ports,
        "--health-port",
        "0",
        *arguments,
    ]
    popen = subprocess.Popen(command, cwd=ROOT, env={**kept, **environment}, stderr=subprocess.PIPE, text=True)
    try:
        process = RunningAdmission(popen)
        told = process.until("listening")
        process.url, process.health = told["url"], told["health"]
        yield process
    finally:
        if popen.poll() is None:
            popen.kill()
            popen.wait()
        process._reader.join(PATIENCE_SECONDS)
        assert popen.stderr is not None
        popen.stderr.close()
