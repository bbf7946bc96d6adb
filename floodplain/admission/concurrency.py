"""Whether a container runs ODM in a way that `--max-concurrency` can be added to, and how it is told. Not the figure.

ODM uses every core that it sees, and a container sees the node's. Where a CPU limit holds, more threads than that only
cost memory (ScaleODM's rule; facts in docs/how-we-size.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

OPTION = "--max-concurrency"
_SHORTEST = len("--max")
"""Python's argparse takes any start of an option that is unambiguous."""
_IMAGES = ("odm", "odx")
"""Last part of an image's name: opendronemap/odm and its successor, whose entry point is run.py."""
_SCRIPTS = ("run.py", "run.sh")


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
    command, args = _unwrapped(_words(container.get("command"))), _words(container.get("args"))
    rule = _recognised(command, container.get("image"))
    if rule is None:
        return Addition(why_not=f"{OPTION} is not set: neither image nor command is known as ODM's")
    if any(_sets(word) for word in (*command, *args)):
        return Addition(rule=rule)
    if "--" in (*command, *args):
        return Addition(rule=rule, why_not=f"{OPTION} is not set: the arguments hold a bare --")
    if not args and not command:
        return Addition(
            rule=rule, why_not=f"{OPTION} is not set: the container has no args, and the image may have some"
        )
    return Addition((OPTION, str(most)), rule)


def _recognised(command: Sequence[str], image: Any) -> str | None:
    """The rule by which a container is ODM's, None if it is not."""
    if command:
        script = command[0] if not _base(command[0]).startswith("python") else next(iter(command[1:2]), "")
        return f"command {script[:60]}" if _base(script) in _SCRIPTS else None
    if not isinstance(image, str):
        return None
    name = _base(image.partition("@")[0]).partition(":")[0]
    return f"image {name}" if name in _IMAGES else None


def _unwrapped(command: list[str]) -> list[str]:
    """The user's command, which Argo Workflows starts through its own (`argoexec emissary ... -- COMMAND`)."""
    if command and _base(command[0]) == "argoexec" and "--" in command:
        return command[command.index("--") + 1 :]
    return command


def _sets(word: str) -> bool:
    name = word.partition("=")[0]
    return len(name) >= _SHORTEST and OPTION.startswith(name)


def _base(path: str) -> str:
    return path.rsplit("/", 1)[-1]


def _words(value: Any) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []
