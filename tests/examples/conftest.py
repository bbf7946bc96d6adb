"""The rasters of the example, made once."""

from __future__ import annotations

from pathlib import Path

import pytest

from mosaic.make_scene import make_scene


@pytest.fixture(scope="session")
def scene(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """By name, from the top of the mosaic to its bottom."""
    return {path.stem: path for path in make_scene(tmp_path_factory.mktemp("scene"))}
