"""Tasks for the tests of measuring, importable by processes of a pool."""

from __future__ import annotations

import mmap
import os
import signal

from floodplain.quantity import MIB
from floodplain.raster.measuring import measured


def hold(mib: int) -> int:
    """Touch so many MiB of memory, all at one time, and give them back."""
    with mmap.mmap(-1, mib * MIB) as pages:
        for page in range(0, mib * MIB, 4096):
            pages[page] = 1
    return mib


def hold_and_fail(mib: int) -> None:
    hold(mib)
    raise ValueError("no such tile")


def hold_and_die(mib: int, by: int = signal.SIGKILL) -> None:
    hold(mib)
    os.kill(os.getpid(), by)


@measured(layer="decorated")
def decorated(mib: int, *, twice: bool = False) -> int:
    """Of these docs."""
    return hold(mib) * (2 if twice else 1)
