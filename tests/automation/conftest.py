"""The scripts of .ci as modules: they lie outside any package, since they run without the environment."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


def load(name: str) -> ModuleType:
    """The module .ci/NAME.py."""
    known = f"floodplain_ci_{name}"
    if known not in sys.modules:
        spec = importlib.util.spec_from_file_location(known, ROOT / ".ci" / f"{name}.py")
        assert spec and spec.loader
        module = importlib.util.module_from_spec(spec)
        sys.modules[known] = module
        spec.loader.exec_module(module)
    return sys.modules[known]


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def write_digests() -> ModuleType:
    return load("write_digests")


@pytest.fixture(scope="session")
def report() -> ModuleType:
    return load("report")


@pytest.fixture(scope="session")
def comment() -> ModuleType:
    return load("comment")


@pytest.fixture(scope="session")
def release_version() -> ModuleType:
    return load("release_version")


@pytest.fixture(scope="session")
def no_skips() -> ModuleType:
    return load("no_skips")
