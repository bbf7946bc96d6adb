"""Testbeds in a Python process of their own, so that they can be killed, interrupted and run side by side."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

CHECKOUT = Path(__file__).parent.parent.parent
FOREVER = "600"

# Opens a testbed in the folder argv[1], starts what argv[2:] says and prints its id. SIGINT is what a terminal sends;
# a shell that runs us in the background has turned it off.
OWNER = """\
import signal, sys, time
from pathlib import Path
from testbed.processes import Processes
from testbed.state import State
signal.signal(signal.SIGINT, signal.default_int_handler)
with State(Path(sys.argv[1])) as state, Processes(state) as processes:
    print(processes.start("engine", sys.argv[2:]).pid, flush=True)
    time.sleep(600)
"""


@contextlib.contextmanager
def python(code: str, *arguments: str | Path, within: Sequence[str] = ()) -> Iterator[subprocess.Popen[str]]:
    """A Python process of this checkout, in a process group of its own; killed at the end of the block.

    `within` is a command that becomes it, such as `unshare`.
    """
    command = [*within, sys.executable, "-c", code, *map(str, arguments)]
    with subprocess.Popen(
        command, cwd=CHECKOUT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def said(process: subprocess.Popen[str]) -> str:
    """The next line that it prints."""
    assert process.stdout is not None
    line = process.stdout.readline().strip()
    if not line:
        assert process.stderr is not None
        raise AssertionError(process.stderr.read())
    return line


def runs(pid: int) -> bool:
    """Whether a process is there and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def soon(question: Callable[[], bool], seconds: float = 10) -> bool:
    """Whether it becomes true within the time."""
    deadline = time.monotonic() + seconds
    while not question():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True
