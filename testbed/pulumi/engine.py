"""The real Pulumi CLI with everything it needs, in a testbed's state folder."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from testbed import engines
from testbed.engine_error import EngineError
from testbed.pulumi.environment import engine_environment, module_script
from testbed.state import State

REGION = "us-west-2"
STAND_INS: Mapping[str, str] = {
    "pulumi-language-python": "testbed.pulumi.language_standin",
    "pulumi-resource-aws": "testbed.pulumi.aws_standin",
    "aws": "testbed.pulumi.aws_cli_standin",
}
"""Test doubles, by the name under which the real thing is looked for."""
REAL = ("pulumi", "pulumi-resource-kubernetes")
REAL_IF_BUILT = ("pulumi-language-yaml",)
LINES_SHOWN = 60


class Cluster(Protocol):
    """As `testbed.cluster.control_plane.ControlPlane` has it."""

    @property
    def kubeconfig(self) -> Path: ...


class Aws(Protocol):
    """As `testbed.aws` has it."""

    @property
    def endpoint(self) -> str: ...


@dataclass(frozen=True)
class Answer:
    """What the CLI said. `seconds` is wall clock."""

    status: int
    stdout: str
    stderr: str
    seconds: float


class Charts(Protocol):
    """As `testbed.pulumi.charts.server.ChartStandIn` has it."""

    @property
    def environment(self) -> Mapping[str, str]: ...


class Engine:
    """Runs `pulumi` commands. Each ends before its method returns, unless it is given up."""

    def __init__(
        self,
        state: State,
        control_plane: Cluster | None = None,
        aws: Aws | None = None,
        charts: Charts | None = None,
    ) -> None:
        self._running: list[subprocess.Popen[str]] = []
        self.folder = state.path("pulumi", "bin").parent
        for name in ("bin", "home", "backend", "tmp"):
            (self.folder / name).mkdir(exist_ok=True)
        _install(self.folder / "bin")
        self.environment = {
            **engine_environment(
                self.folder,
                os.environ,
                aws_endpoint=aws.endpoint if aws else None,
                region=REGION,
                kubeconfig=control_plane.kubeconfig if control_plane else None,
            ),
            **(charts.environment if charts else {}),
        }

    def ask(
        self, *arguments: str, folder: Path, timeout_seconds: float = 600, stdin: str = "", more: Mapping[str, str] = {}
    ) -> Answer:
        """Run `pulumi ARGUMENTS` in `folder` and return whatever it says. Raises EngineError when it does not end."""
        begun = time.monotonic()
        command = [str(self.folder / "bin" / "pulumi"), *arguments, "--color", "never", "--non-interactive"]
        # It dies with us, and with its own session Ctrl-C reaches it through us only.
        popen = subprocess.Popen(
            ["setpriv", "--pdeathsig", "TERM", "--", *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**self.environment, **more},
            cwd=folder,
            start_new_session=True,
        )
        self._running.append(popen)
        try:
            stdout, stderr = popen.communicate(stdin, timeout=timeout_seconds)
        except subprocess.TimeoutExpired:
            stdout, stderr = _given_up(popen)
            raise _error(arguments, f"did not end within {timeout_seconds:.0f} s", stdout, stderr) from None
        except BaseException:
            _given_up(popen)
            raise
        finally:
            self._running.remove(popen)
        return Answer(popen.returncode, stdout, stderr, time.monotonic() - begun)

    def interrupt(self) -> None:
        """As by Ctrl-C at whatever commands are under way, from another thread than theirs."""
        for popen in self._running:
            popen.send_signal(signal.SIGINT)

    def run(self, *arguments: str, folder: Path, timeout_seconds: float = 600, stdin: str = "") -> Answer:
        """The same; raises EngineError with what the CLI said when it fails."""
        answer = self.ask(*arguments, folder=folder, timeout_seconds=timeout_seconds, stdin=stdin)
        return required(arguments, answer)


def required(arguments: Sequence[str], answer: Answer) -> Answer:
    """The answer, or EngineError with what the CLI said."""
    if answer.status:
        raise _error(arguments, f"ended with status {answer.status}", answer.stdout, answer.stderr)
    return answer


def _error(arguments: Sequence[str], what: str, stdout: str, stderr: str) -> EngineError:
    lines = f"{stdout.rstrip()}\n{stderr.rstrip()}".strip().splitlines()
    said = "\n".join(f"    {line}" for line in lines[-LINES_SHOWN:]) or "    (nothing)"
    return EngineError(f"pulumi {' '.join(arguments)}: {what}; it said:\n{said}")


def _given_up(popen: subprocess.Popen[str]) -> tuple[str, str]:
    """As by Ctrl-C twice: first it lets go of what is under way, then it is killed."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        popen.send_signal(number)
        try:
            return popen.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            continue
    return "", ""


def _install(folder: Path) -> None:
    """The programs that the CLI looks for on PATH: the real ones as links, the stand-ins as scripts."""
    found = {name: engines.path(name) for name in REAL}
    for name in REAL_IF_BUILT:
        try:
            found[name] = engines.path(name)
        except EngineError:
            continue
    for name, program in found.items():
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(program)
    for name, module in STAND_INS.items():
        (folder / name).write_text(module_script(module))
        (folder / name).chmod(0o755)
