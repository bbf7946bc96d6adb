"""How a container runs ODM: by what it is recognised, and the words it is given. Not what they mean for memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_IMAGES = ("odm", "odx")
"""Last part of an image's name: opendronemap/odm and its successor, whose entry point is run.py."""
_SCRIPTS = ("run.py", "run.sh")


@dataclass(frozen=True)
class OdmCommand:
    """A container that is known to run ODM."""

    rule: str
    """By what it is known."""
    words: tuple[str, ...]
    """Command and arguments."""


def odm_command(container: Mapping[str, Any]) -> OdmCommand | None:
    """The container's command, or None where neither image nor command is known as ODM's."""
    command, args = _unwrapped(_words(container.get("command"))), _words(container.get("args"))
    rule = _recognised(command, container.get("image"))
    return None if rule is None else OdmCommand(rule, (*command, *args))


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


def _base(path: str) -> str:
    return path.rsplit("/", 1)[-1]


def _words(value: Any) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []
