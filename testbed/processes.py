"""Starts engines, waits until they are ready and ends them, each by its process id and in reverse order.

Engines get a session of their own, so that Ctrl-C reaches only us, and the kernel kills them when we die without
having ended them (prctl(2), PR_SET_PDEATHSIG, set by setpriv before it becomes the engine).
"""

import contextlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TypeVar

from testbed.engine_error import EngineError
from testbed.log_tail import last_lines
from testbed.state import State

T = TypeVar("T")

# We may have died before the kernel was told to watch us: then the parent is another by now.
_UNLESS_ORPHAN = '[ "$PPID" = "$0" ] && exec "$@"'

_expected_to_run: list["Process"] = []
"""Every engine that was started here and that nobody has asked to end."""


class Process:
    """One running engine. `log` holds what it wrote to both of its outputs."""

    def __init__(self, name: str, popen: "subprocess.Popen[bytes]", log: Path) -> None:
        self.name = name
        self.log = log
        self._popen = popen

    @property
    def pid(self) -> int:
        return self._popen.pid

    def alive(self) -> bool:
        return self._popen.poll() is None

    def exit_code(self) -> int | None:
        """None while it runs; negative is the signal that ended it."""
        return self._popen.poll()

    def last_lines(self, count: int = 20) -> str:
        """The last lines of the log, indented, as `log_tail` shows them; at most 32 KiB of it are read."""
        with self.log.open("rb") as file:
            file.seek(max(0, self.log.stat().st_size - 32768))
            return last_lines(file.read().decode(errors="replace"), count)

    def stop(self, timeout_seconds: float = 10) -> None:
        """Ask it to end, and kill it when it has not within the time."""
        _forget(self)
        if not self.alive():
            return
        self._popen.terminate()
        try:
            self._popen.wait(timeout_seconds)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        """End it and what it has started at once."""
        _forget(self)
        if self.alive():
            os.killpg(self.pid, signal.SIGKILL)
            self._popen.wait()


class Processes:
    """The engines of one testbed. On leaving the context all of them are ended, the last started first."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._running: list[Process] = []

    def start(
        self,
        name: str,
        command: Sequence[str | Path],
        *,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> Process:
        """Start `command` with exactly the environment `env` (`clean_environment` when None: etcd, for one, takes
        settings from ETCD_...). Returns without waiting for readiness.

        Raises EngineError when the program does not exist or the disk is full. Call it from the main thread: the kernel
        ends an engine when the thread that started it ends.
        """
        program, setpriv = _program(name, command[0]), _program(name, "setpriv")
        dies_with_us = [setpriv, "--pdeathsig", "KILL", "--", "/bin/sh", "-c", _UNLESS_ORPHAN, str(os.getpid())]
        try:
            return self._start(name, [*dies_with_us, program, *map(str, command[1:])], env, cwd)
        except OSError as error:
            raise EngineError(
                f"{name} could not be started: {error}; its log and its id go to {self._state.folder}, "
                "which may lie on a full disk"
            ) from error

    def _start(self, name: str, command: list[str], env: Mapping[str, str] | None, cwd: Path | None) -> Process:
        log = self._state.path("logs", f"{name}.log")
        with log.open("ab") as output:
            popen = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=clean_environment() if env is None else dict(env),
                cwd=cwd or self._state.folder,
                start_new_session=True,
            )
        process = Process(name, popen, log)
        self._running.append(process)
        self._state.record(name, popen.pid)
        _expected_to_run.append(process)
        return process

    def running(self) -> list[Process]:
        """Those that are alive."""
        return [process for process in self._running if process.alive()]

    def require_all(self) -> None:
        """Raise EngineError with the last lines of an engine that has ended although nobody asked it to."""
        for process in self._running:
            if process in _expected_to_run and not process.alive():
                raise EngineError(_ended(process, "although nobody asked it to"))

    def stop_all(self) -> None:
        """End all, in reverse order: an API server hangs in its shutdown when its etcd has gone before it."""
        while self._running:
            self._running.pop().stop()

    def __enter__(self) -> "Processes":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop_all()


def wait_until(
    question: str,
    ready: Callable[[], T],
    *,
    process: Process | None = None,
    timeout_seconds: float = 60,
    pause_seconds: float = 0.1,
) -> T:
    """The first true value of `ready()`, which may raise OSError while nobody listens yet.

    Raises EngineError, with the last lines of the process's log, when the process ends, when another engine has ended
    and `ready` cannot do without it, or when the time is over; `question` completes the sentence "timed out waiting
    until ...".
    """
    deadline = time.monotonic() + timeout_seconds
    while True:
        value: T | None = None
        problem = ""
        try:
            value = ready()
        except Exception as error:
            for ended in (one for one in _expected_to_run if one.exit_code()):
                raise EngineError(_ended(ended, f"before {question}")) from error
            if not isinstance(error, OSError):
                raise
            problem = f" ({error})"
        if value:
            return value
        if process is not None and not process.alive():
            raise EngineError(_ended(process, f"before {question}"))
        if time.monotonic() > deadline:
            shown = f"; last lines of {process.name}:\n{process.last_lines()}" if process is not None else ""
            raise EngineError(f"timed out after {timeout_seconds:.0f} s waiting until {question}{problem}{shown}")
        time.sleep(pause_seconds)


def _ended(process: Process, when: str) -> str:
    status = process.exit_code() or 0
    how = f"was killed by {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"
    return f"{process.name} {how} {when}; its last lines:\n{process.last_lines()}"


def _forget(process: Process) -> None:
    if process in _expected_to_run:
        _expected_to_run.remove(process)


def _program(name: str, wanted: str | Path) -> str:
    found = shutil.which(str(wanted))
    if found is None:
        what = "`python -m testbed build` builds the engines, other programs come with your system's packages"
        raise EngineError(f"{name}: there is no program {wanted}; {what}")
    return found


@contextlib.contextmanager
def held(process: Process) -> Iterator[Process]:
    """A process that is ended when the block is left, before the others of its testbed."""
    try:
        yield process
    finally:
        process.stop()


def clean_environment(**extra: str) -> dict[str, str]:
    """Only what a program needs to run, without a person's proxies, credentials and cluster; plus `extra`."""
    kept = {
        name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR", "LANG", "XDG_CACHE_HOME") if name in os.environ
    }
    return {**kept, **extra}
