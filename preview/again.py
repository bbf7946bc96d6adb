"""Render once more, in another process with another hash seed, and say what came out differently.

Within one process sets keep their order and caches their content, so a second run there would hide most of what
makes every `pulumi preview` show a change.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from . import document
from .recording import Recording

MODES = ("plan", "apply")
_HERE = Path(__file__).resolve().parent.parent


class Again:
    """The second process. It starts at once and runs while this one does its own work."""

    def __init__(self, stack: str, root: Path) -> None:
        seed = "1" if os.environ.get("PYTHONHASHSEED") != "1" else "2"
        command = [sys.executable, "-m", "preview", "dump", "--stack", stack, "--root", str(root.resolve()), "--plan"]
        self._process = subprocess.Popen(
            command,
            cwd=_HERE,
            env={**os.environ, "PYTHONHASHSEED": seed},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )

    def stop(self) -> None:
        self._process.kill()
        self._process.communicate()

    def differences(self, plan: Recording, apply: Recording) -> tuple[str, ...]:
        """`MODE URN` for each resource, `MODE PART` for each other part, that is not the same byte for byte."""
        said, complaint = self._process.communicate()
        if self._process.returncode != 0:
            return (f"apply {' '.join(complaint.split())[-300:] or 'the program'}",)
        second = json.loads(said)
        found: list[str] = []
        for mode, recording in zip(MODES, (plan, apply), strict=True):
            first = document.of(recording)
            if json.dumps(first) != json.dumps(second[mode]):
                found += [f"{mode} {place}" for place in _places(first, second[mode])]
        return tuple(found)


def _places(first: dict[str, Any], second: dict[str, Any]) -> list[str]:
    before, after = ({item["urn"]: item for item in each["resources"]} for each in (first, second))
    urns = sorted(urn for urn in before | after if json.dumps(before.get(urn)) != json.dumps(after.get(urn)))
    return urns + [part for part in first if part != "resources" and first[part] != second[part]] or ["the order"]
