"""Whether figures of a worker can be: whole numbers, not negative, in bytes rather than in MiB. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from floodplain.problem import Problem
from floodplain.quantity import MIB

LEAST_BYTES = MIB
"""Below this no cache, baseline or limit was meant in bytes."""


def count_problem(name: str, value: object, *, least_bytes: int = 0) -> Problem | None:
    """What is wrong with a field; those whose names do not end in `_bytes` are counts from one on.

    An amount of bytes above zero and below `least_bytes` lacks its unit.
    """
    amount = name.endswith("_bytes")
    if isinstance(value, bool) or not isinstance(value, int):
        remedy = f"write {'bytes' if amount else 'a count'} without quotes"
        return Problem(name, "should be a whole number", remedy, value)
    if not amount:
        return Problem(name, "is less than one", "a worker has at least one", value) if value < 1 else None
    if value < 0:
        return Problem(name, "is negative", "write zero or more bytes", value)
    if 0 < value < least_bytes:
        unit = f"it counts bytes: if {value} MiB are meant, write {value * MIB}"
        return Problem(name, "is less than 1 MiB", unit, value)
    return None


def idle_processes(processes: int, slots: int) -> Iterator[Problem]:
    """The problem of more processes than slots. Both are counts."""
    if processes > slots:
        rule = f"are more than the {slots} slots"
        yield Problem("processes", rule, "a process without a slot only costs", processes)
