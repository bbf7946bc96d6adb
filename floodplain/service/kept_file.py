"""One small file whose last good content is kept, whatever becomes of the file. Edge: reads it.

The whole file is read at each look and compared: at some 100 KiB that costs nothing, and it sees every kind of change
(a mounted ConfigMap swaps a symlink, an editor writes in place within one tick of the clock).
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")

_LARGEST_BYTES = 4 << 20
"""A ConfigMap holds 1 MiB."""
_TOLD = 8
"""Problems of one file that are told; the rest is counted."""


class KeptFile(Generic[T]):
    """`value` is the last good content, `problem` what the last look found wrong."""

    def __init__(self, path: str, parse: Callable[[bytes], T], *, absent: T | None = None) -> None:
        """`parse` raises ValueError for bad content. With `absent`, a file that was never there is no problem."""
        self.path = path
        self.value: T | None = absent
        self.problem: str | None = None
        self.found = False
        """Whether the file has ever been there."""
        self._parse, self._absent = parse, absent
        self._content: bytes | None = None

    def look(self) -> None:
        """Read the file; never raises for what is wrong with it."""
        try:
            content = _read(self.path)
        except FileNotFoundError:
            missing = self._absent is None or self.found
            self.problem = f"{self.path}: does not exist; make it, or name another file" if missing else None
            return
        except (OSError, ValueError) as error:
            self.found = True
            self.problem = f"{self.path}: cannot be read ({getattr(error, 'strerror', None) or error})"
            return
        self.found = True
        if content == self._content:
            self.problem = None
            return
        try:
            self.value = self._parse(content)
        except ValueError as error:
            self.problem = f"{self.path}: {_line(error)}"
            return
        self._content, self.problem = content, None


def _line(error: ValueError) -> str:
    lines = str(error).splitlines()
    more = f"; and {len(lines) - _TOLD} more" if len(lines) > _TOLD else ""
    return "; ".join(lines[:_TOLD]) + more


def _read(path: str) -> bytes:
    # Not blocking: what somebody put there may be a pipe.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ValueError("is no regular file")
        parts: list[bytes] = []
        size = 0
        while part := os.read(descriptor, 1 << 16):
            size += len(part)
            if size > _LARGEST_BYTES:
                raise ValueError(f"is larger than {_LARGEST_BYTES >> 20} MiB")
            parts.append(part)
        return b"".join(parts)
    finally:
        os.close(descriptor)
