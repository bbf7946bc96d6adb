"""Golden files: a reader can browse them, one command refreshes them, and a diff shows what changed."""

from __future__ import annotations

import asyncio
import difflib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

# A busy machine is no fault of a property, and CI must give one answer to one commit.
settings.register_profile("developer", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "developer")

TESTS = Path(__file__).parent


class Golden:
    """Compares text with a committed file, or rewrites the file when asked to refresh."""

    def __init__(self, refresh: bool) -> None:
        self._refresh = refresh

    def check(self, name: str, text: str) -> None:
        """Assert that `text` equals the file `name` (relative to tests/), byte for byte."""
        path = TESTS / name
        if self._refresh:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode())
            return
        assert path.exists(), f"tests/{name} is missing: run `make golden` and review what it writes"
        wanted = path.read_bytes().decode()
        if text != wanted:
            diff = difflib.unified_diff(
                wanted.splitlines(), text.splitlines(), f"tests/{name}", "rendered now", lineterm="", n=2
            )
            pytest.fail("\n".join(["golden file is stale; `make golden` rewrites it:", *diff][:200]))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--refresh-golden", action="store_true", help="rewrite the golden files")


@pytest.fixture
def own_event_loop() -> Iterator[None]:
    """For tests that call asyncio.run: it leaves the thread without an event loop, and Pulumi's outputs want one."""
    yield
    asyncio.set_event_loop_policy(None)


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    return Golden(bool(request.config.getoption("--refresh-golden")))
