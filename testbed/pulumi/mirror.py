"""A project folder beside the checkout: everything in it is the checkout's own, but its stack files are copies.

The CLI writes into stack files (salt, secrets), and tests edit them; the checkout must stay as it is.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import yaml

STACK_FILES = "Pulumi.*.yaml"


def mirrored(project: Path, folder: Path) -> Path:
    """Make `folder` a mirror of `project`: links, but `Pulumi.yaml` and the stack files copied."""
    content = yaml.safe_load((project / "Pulumi.yaml").read_text())
    stacks = str(content.get("stackConfigDir") or "").strip("/")
    _link(project, folder, leaving={stacks} if stacks else set())
    if stacks:
        _link(project / stacks, folder / stacks, leaving=set())
    return folder


def stack_file(folder: Path, stack: str) -> Path:
    """Where the CLI keeps the configuration of a stack of that project."""
    content = yaml.safe_load((folder / "Pulumi.yaml").read_text())
    return folder / str(content.get("stackConfigDir") or "") / f"Pulumi.{stack}.yaml"


def _link(source: Path, target: Path, leaving: set[str]) -> None:
    target.mkdir(parents=True, exist_ok=True)
    for entry in sorted(source.iterdir()):
        if entry.name.startswith(".") or entry.name in ("__pycache__", *leaving):
            continue
        if entry.name == "Pulumi.yaml" or entry.match(STACK_FILES):
            shutil.copy(entry, target / entry.name)
        else:
            (target / entry.name).symlink_to(entry)
