"""Whether `--max-concurrency` can be added to a container's arguments, and how it is told. Not the figure.

ODM uses every core that it sees, and a container sees the node's. Where a CPU limit holds, more threads than that only
cost memory: ScaleODM adds the option under the same condition.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from floodplain.admission.odm_command import odm_command

OPTION = "--max-concurrency"
_SHORTEST = len("--max")
"""Python's argparse takes any start of an option that is unambiguous."""


@dataclass(frozen=True)
class Addition:
    """Arguments to add at the end, or why none are. `rule` says by what ODM was recognised."""

    args: tuple[str, ...] = ()
    rule: str = ""
    why_not: str = ""


def addition(container: Mapping[str, Any], most: int | None) -> Addition:
    """What to add to the container's args so that ODM works on at most this many cores; None adds nothing."""
    if most is None:
        return Addition()
    found = odm_command(container)
    if found is None:
        return Addition(why_not=f"{OPTION} is not set: neither image nor command is known as ODM's")
    if any(_sets(word) for word in found.words):
        return Addition(rule=found.rule)
    if "--" in found.words:
        return Addition(rule=found.rule, why_not=f"{OPTION} is not set: the arguments hold a bare --")
    if not found.words:
        why_not = f"{OPTION} is not set: the container has no args, and the image may have some"
        return Addition(rule=found.rule, why_not=why_not)
    return Addition((OPTION, str(most)), found.rule)


def _sets(word: str) -> bool:
    name = word.partition("=")[0]
    return len(name) >= _SHORTEST and OPTION.startswith(name)
