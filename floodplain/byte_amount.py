"""Bytes and counts for people. Not for what is compared or written into a pod: that is `quantity`."""

from __future__ import annotations

from floodplain.quantity import GIB, MIB


def amount(count: int) -> str:
    """`372.1 GiB`, `512 MiB`, `1.5 MiB`, `800 bytes`: in the unit that suits the size."""
    if count < 0:
        return f"-{amount(-count)}"
    if count < MIB:
        return f"{count} bytes"
    if count >= 10 * GIB:
        return f"{count / GIB:.1f} GiB"
    return f"{count // MIB} MiB" if count % MIB == 0 else f"{count / MIB:.1f} MiB"


def mib(count: float) -> str:
    """`546 MiB`, `0.5 MiB`, `1,600 MiB`: always in MiB, for what stands beside each other; at most one decimal."""
    return f"{count / MIB:,.1f}".removesuffix(".0") + " MiB"


def counted(count: int, thing: str) -> str:
    """`1 node`, `3 nodes`."""
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"
