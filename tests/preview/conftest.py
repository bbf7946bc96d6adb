"""Programs to preview: the samples beside this file, and the stacks of this checkout with their file edited."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from preview.render import Rendering, render

HERE = Path(__file__).parent
CHECKOUT = HERE.parent.parent
PROJECT = "name: test\nruntime: python\nstackConfigDir: stacks\n"


@pytest.fixture
def sample(tmp_path: Path) -> Callable[..., Path]:
    """`sample("nulls", config={...})`: a folder with that program and a stack `dev`."""

    def make(name: str, config: dict[str, Any] | None = None, stack: str = "dev") -> Path:
        root = tmp_path / name
        (root / "stacks").mkdir(parents=True, exist_ok=True)
        (root / "Pulumi.yaml").write_text(PROJECT)
        shutil.copy(HERE / "programs" / f"{name}.py", root / "__main__.py")
        content = {"config": {f"test:{key}": value for key, value in (config or {}).items()}}
        (root / "stacks" / f"Pulumi.{stack}.yaml").write_text(yaml.safe_dump(content))
        return root

    return make


@pytest.fixture
def rendered(sample: Callable[..., Path]) -> Callable[..., Rendering]:
    """`rendered("nulls", config={...})`: the same, rendered once in each mode."""

    def make(name: str, config: dict[str, Any] | None = None) -> Rendering:
        return render("dev", sample(name, config))

    return make


@pytest.fixture
def edited(tmp_path: Path) -> Callable[..., Rendering]:
    """`edited("prod", edit)`: a stack of this checkout, rendered with `edit(config)` applied to its file."""

    def make(stack: str, edit: Callable[[dict[str, Any]], None] = lambda config: None) -> Rendering:
        root = tmp_path / "checkout"
        (root / "stacks").mkdir(parents=True, exist_ok=True)
        for name in ("Pulumi.yaml", "__main__.py"):
            shutil.copy(CHECKOUT / name, root / name)
        content = yaml.safe_load((CHECKOUT / "stacks" / f"Pulumi.{stack}.yaml").read_text())
        edit(content["config"])
        (root / "stacks" / f"Pulumi.{stack}.yaml").write_text(yaml.safe_dump(content, sort_keys=False))
        return render(stack, root)

    return make
