"""Edge: SIGTERM and SIGHUP end a command as Ctrl-C does, so that what it began is taken back; or wait for a moment."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType
from typing import NoReturn

_STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stopped(KeyboardInterrupt):
    """A signal that asks the command to end. `status` is what a shell expects of it."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.status = 128 + number


@contextlib.contextmanager
def stoppable() -> Iterator[None]:
    """Within it signals that end a process raise Stopped; those that are ignored (nohup) stay ignored."""
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
        for number in taken:
            signal.signal(number, earlier[number] or signal.SIG_DFL)


@contextlib.contextmanager
def unstopped() -> Iterator[None]:
    """Within it such signals wait; a process that is started here never gets them, only SIGKILL."""
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, _STOPS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


def _stop(number: int, _: FrameType | None) -> NoReturn:
    raise Stopped(number)
