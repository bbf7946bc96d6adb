"""Sizing's own admission as a process beside the API server, which calls it by address and with the testbed's keys.

In a cluster it is reached through a Service and keeps certificates of its own; here nothing runs containers.
"""

from __future__ import annotations

import base64
import copy
import sys
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from testbed.cluster.control_plane import ControlPlane
from testbed.ports import free_port
from testbed.processes import Process, Processes, clean_environment, wait_until
from testbed.state import State

CHECKOUT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Admission:
    """`floodplain serve admission`, ready. `url` is where the API server calls it."""

    process: Process
    url: str
    health: str
    _authority: bytes

    def called_by_address(self, configuration: Mapping[str, Any]) -> dict[str, Any]:
        """A webhook configuration whose entries call this process in place of a Service, on the same paths."""
        found: dict[str, Any] = copy.deepcopy(dict(configuration))
        for webhook in found["webhooks"]:
            path = webhook["clientConfig"]["service"]["path"]
            authority = base64.b64encode(self._authority).decode()
            webhook["clientConfig"] = {"url": f"{self.url}{path}", "caBundle": authority}
        return found


def start_admission(state: State, processes: Processes, cluster: ControlPlane, pools: bytes) -> Admission:
    """Started with these pool documents, and ready. Raises EngineError with its last lines when it does not come up."""
    file = state.path("admission", "pools.json")
    file.write_bytes(pools)
    pair = cluster.authority.issue("admission", "floodplain-admission", hosts=("127.0.0.1",))
    port, health_port = free_port(), free_port()
    command = [sys.executable, "-m", "floodplain", "serve", "admission", "--host", "127.0.0.1"]
    command += ["--port", str(port), "--health-port", str(health_port), "--pools", str(file)]
    command += ["--certificate", str(pair.certificate), "--key", str(pair.key)]
    process = processes.start("admission", command, env=clean_environment(), cwd=CHECKOUT)
    health = f"http://127.0.0.1:{health_port}"
    wait_until("admission is ready", lambda: _is_ready(health), process=process)
    return Admission(process, f"https://127.0.0.1:{port}", health, cluster.authority.certificate.read_bytes())


def _is_ready(health: str) -> bool:
    with urllib.request.urlopen(f"{health}/readyz", timeout=5) as answer:
        return int(answer.status) == 200
