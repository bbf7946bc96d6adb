"""The standard streams of the command: what may be written to a terminal, and what to do when one is closed or full.

Nothing here knows what is written.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import sys
from typing import Any, NoReturn, TextIO

# C0 and C1 but for line ends and tabs, and the marks that turn the direction of a text.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


class Stopped(KeyboardInterrupt):
    """SIGTERM came. Whoever tidies up after Ctrl-C does so now, too."""


def stop_on_sigterm() -> None:
    def stop(*_: Any) -> NoReturn:
        raise Stopped

    signal.signal(signal.SIGTERM, stop)


def printable(text: str) -> str:
    """The text with what would steer a terminal spelt out as JSON spells it."""
    return _CONTROL.sub(lambda hit: f"\\u{ord(hit[0]):04x}", text)


def output() -> TextIO:
    """The standard output. Raises OSError when it is closed."""
    if sys.stdout is None:
        raise OSError("it is closed")
    return sys.stdout


def write(text: bytes | str) -> None:
    """To the standard output: bytes as they are, no line ends changed, whatever the locale.

    On a terminal control characters are spelt out. Raises OSError when nobody takes the text.
    """
    stream = output()
    if stream.isatty():
        text = printable(text.decode(errors="replace") if isinstance(text, bytes) else text)
    stream.flush()
    stream.buffer.write(text if isinstance(text, bytes) else text.encode(errors="backslashreplace"))
    stream.buffer.flush()


def keep_output() -> None:
    """From now on the standard output is the command's alone: what programs start prints to the standard error."""
    if sys.stdout is None or sys.stderr is None:
        return
    with contextlib.suppress(OSError, ValueError):  # no files behind them
        encoding, errors, lines = sys.stdout.encoding, sys.stdout.errors, sys.stdout.isatty()
        kept = os.dup(sys.stdout.fileno())
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        sys.stdout = os.fdopen(kept, "w", buffering=1 if lines else -1, encoding=encoding, errors=errors)
