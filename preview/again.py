"""Render once more in another process, whose sets have another order.

Within one process sets keep their order and caches their content, so a second run there misses what only differs
from process to process. This module imports little, so that the process can start before all else is imported.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from .problems import PreviewError

_HERE = Path(__file__).resolve().parent.parent


class Again:
    """The other process. It starts at once and runs while this one does its own work."""

    def __init__(self, stack: str, root: Path) -> None:
        seed = "1" if os.environ.get("PYTHONHASHSEED") != "1" else "2"
        self._process = subprocess.Popen(
            [sys.executable, "-m", "preview", "dump", "--stack", stack, "--root", str(root.resolve()), "--plan"],
            cwd=_HERE,
            env={**os.environ, "PYTHONHASHSEED": seed},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )

    def documents(self) -> dict[str, Any]:
        """What it rendered, by mode. Raises PreviewError when it could not, which is a difference, too."""
        said, complaint = self._process.communicate()
        if self._process.returncode != 0:
            raise PreviewError(["rendered here, but not in a second process:", *complaint.splitlines()[-20:]])
        return dict(json.loads(said))

    def stop(self) -> None:
        """End the process if it still runs. May be called at any time, and more than once."""
        if self._process.poll() is None:
            self._process.kill()
        for stream in (self._process.stdout, self._process.stderr):
            if stream and not stream.closed:
                stream.close()
        self._process.wait()
