"""Compute something beside this process, in a copy of it, where the system can make one. Knows nothing of what.

A copy (fork) has everything imported already, so a second rendering costs no time as long as a processor is idle.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable


class Beside:
    """`result()` is what `compute` returns. Where no copy can be made, or it fails, `compute` runs here and then."""

    def __init__(self, compute: Callable[[], bytes]) -> None:
        self._compute = compute
        self._process = 0
        # A copy has only the thread that made it, so nothing may be going on in others.
        if hasattr(os, "fork") and (os.cpu_count() or 1) > 1 and threading.active_count() == 1:
            self._start()

    def _start(self) -> None:
        reading, writing = os.pipe()
        self._process = os.fork()
        if self._process == 0:
            status = 1
            try:
                os.close(reading)
                # It prints what this process prints already.
                sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115, PTH123  closed with the copy
                with os.fdopen(writing, "wb") as pipe:
                    pipe.write(self._compute())
                status = 0
            finally:
                os._exit(status)  # without flushing what this process has still to print
        os.close(writing)
        self._pipe = os.fdopen(reading, "rb")

    def result(self) -> bytes:
        if self._process:
            with self._pipe:
                said = self._pipe.read()
            _, status = os.waitpid(self._process, 0)
            self._process = 0
            if status == 0:
                return said
        return self._compute()

    def close(self) -> None:
        """Forget about it. May be called at any time, and more than once."""
        if self._process:
            self._pipe.close()
            os.kill(self._process, signal.SIGTERM)
            os.waitpid(self._process, 0)
            self._process = 0
