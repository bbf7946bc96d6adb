"""Edge: SIGTERM and SIGHUP end a command as Ctrl-C does, so that what it began is taken back; or wait for a moment."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

_STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_waits = False
_came: int | None = None
"""What came while it had to wait."""


class Stopped(KeyboardInterrupt):
    """A signal that asks the command to end. `status` is what a shell expects of it."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.status = 128 + number


@contextlib.contextmanager
def stoppable() -> Iterator[None]:
    """Within it signals that end a process raise Stopped; those that are ignored (nohup) stay ignored."""
    global _came
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    earlier = {number: signal.getsignal(number) for number in _STOPS}
    taken = [number for number, handler in earlier.items() if handler is not signal.SIG_IGN]
    try:
        for number in taken:
            signal.signal(number, _stop)
        yield
    finally:
        _came = None
        for number in taken:
            signal.signal(number, earlier[number] or signal.SIG_DFL)


@contextlib.contextmanager
def unstopped() -> Iterator[None]:
    """Within it such signals wait; a process that is started here never gets them, only SIGKILL.

    Blocking them is for those processes, which inherit it. It does not keep them from this one: another thread may
    take a signal, and Python then runs the handler here.
    """
    global _waits, _came
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, _STOPS)
    outer, _waits = _waits, True
    try:
        yield
    finally:
        _waits = outer
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
    if _came is not None and not outer:
        number, _came = _came, None
        raise Stopped(number)


def _stop(number: int, _: FrameType | None) -> None:
    global _came
    if not _waits:
        raise Stopped(number)
    _came = number
