"""A stack with as many pools as wanted: the program of this checkout, and a stack file made from that of `prod`."""

from __future__ import annotations

import copy
import shutil
from pathlib import Path
from typing import Any

import yaml

from preview import yamlfile

STACK = "many"


def make(checkout: Path, folder: Path, pools: int) -> Path:
    """A program in `folder` whose stack `many` is `prod` with `pools` pools; its root."""
    root = folder / f"pools-{pools}"
    (root / "stacks").mkdir(parents=True)
    for name in ("Pulumi.yaml", "__main__.py"):
        shutil.copyfile(checkout / name, root / name)
    name = "Pulumi.prod.yaml"
    content = yamlfile.read(checkout / "stacks" / name, name).content
    content["config"]["floodplain:pools"] = _pools(content["config"]["floodplain:pools"], pools)
    (root / "stacks" / f"Pulumi.{STACK}.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
    return root


def _pools(given: list[dict[str, Any]], count: int) -> list[dict[str, Any]]:
    """The pools of the stack in turn, each with a name of its own."""
    made = []
    for number in range(count):
        pool = copy.deepcopy(given[number % len(given)])
        made.append({**pool, "name": f"pool-{number:03d}"})
    return made
