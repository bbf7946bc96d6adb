"""A command whose standard output is closed or full ends with a line and a status, not with a traceback. Edge."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Callable


def guarded(command: Callable[[], object]) -> None:
    """Run `command`; where its standard output cannot be written, say so and exit with status 1.

    A letter that the output's encoding lacks is written as its escape, as standard error does.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        try:
            command()
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()
    except OSError as error:
        if error.filename is not None:  # some other file
            raise
        if sys.stdout is not None:
            with contextlib.suppress(OSError, ValueError):
                # Else the interpreter tries once more at its end, and complains.
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError) and sys.stderr is not None:
            print(f"stdout: cannot be written ({error.strerror or error}); name another file", file=sys.stderr)
        sys.exit(1)
