"""Measured bytes and counts for people: three digits and a unit. Not for what is compared or written into a pod."""

from __future__ import annotations

from floodplain.quantity import GIB, MIB


def amount(count: int) -> str:
    """`372.1 GiB`, `512 MiB`, `1.5 MiB`, `800 bytes`."""
    if count < 0:
        return f"-{amount(-count)}"
    if count < MIB:
        return f"{count} bytes"
    if count >= 10 * GIB:
        return f"{count / GIB:.1f} GiB"
    return f"{count // MIB} MiB" if count % MIB == 0 else f"{count / MIB:.1f} MiB"


def counted(count: int, thing: str) -> str:
    """`1 node`, `3 nodes`."""
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"
