"""Render in another process: another revision's code, or this one's with another order of its sets.

Within one process sets keep their order and caches their content, so a second run there misses what only differs
from process to process.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from .problems import PreviewError

TIMEOUT_SECONDS = 300
_HERE = Path(__file__).resolve().parent.parent


def dump(folder: Path, environment: Mapping[str, str], *options: str) -> subprocess.CompletedProcess[str]:
    """`python -m preview dump` of the code in `folder`. Raises subprocess.TimeoutExpired."""
    command = [sys.executable, "-m", "preview", "dump", *options]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, encoding="utf-8", timeout=TIMEOUT_SECONDS
    )


def rendered(stack: str, root: Path) -> str:
    """Both modes of the stack at `root`, rendered by this code with other sets, as `dump` writes them.

    Raises PreviewError when it cannot be rendered there, which is a difference, too.
    """
    seed = "1" if os.environ.get("PYTHONHASHSEED") != "1" else "2"
    options = ("--stack", stack, "--root", str(root.resolve()), "--plan")
    try:
        done = dump(_HERE, {**os.environ, "PYTHONHASHSEED": seed}, *options)
    except subprocess.TimeoutExpired:
        raise PreviewError([f"rendered here, but not within {TIMEOUT_SECONDS} s in a second process"]) from None
    if done.returncode != 0:
        raise PreviewError(["rendered here, but not in a second process:", *done.stderr.splitlines()[-20:]])
    return done.stdout
