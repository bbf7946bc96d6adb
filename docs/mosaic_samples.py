"""Where the tiles of examples/mosaic go, as its own command prints it, made for its README."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

_ROOT = Path(__file__).resolve().parent.parent


def routes(*tiles: str) -> str:
    """The lines of these tiles."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(_ROOT), str(_ROOT / "examples" / "mosaic")])}
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "mosaic", "route", folder]
        done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    lines = {line.partition(" ")[0]: line for line in done.stdout.splitlines()}
    return "\n".join(["```text", *(lines[tile] for tile in tiles), "```"])
