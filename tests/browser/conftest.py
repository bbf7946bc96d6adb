"""The real service and a real Chromium. Nothing here skips: a browser that is missing is an error."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, Request, expect, sync_playwright

PATIENCE_MS = 60_000
"""For what surely comes: a busy machine draws a chart in seconds."""
expect.set_options(timeout=PATIENCE_MS)

ROOT = Path(__file__).resolve().parents[2]


@dataclass
class Service:
    """`floodplain serve sizing` with the example pool, on a free loopback port."""

    popen: subprocess.Popen[str]
    url: str


@dataclass
class Tab:
    """A page, what its console says, and whom it asks."""

    page: Page
    service: Service
    errors: list[str] = field(default_factory=list)
    elsewhere: list[str] = field(default_factory=list)

    def open(self, path: str = "/") -> Page:
        self.page.goto(self.service.url + path)
        return self.page

    def watch(self) -> None:
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", self._request)

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.errors.append(message.text)

    def _request(self, request: Request) -> None:
        if not request.url.startswith((self.service.url, "data:")):
            self.elsewhere.append(request.url)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = shutil.which("chromium") or shutil.which("google-chrome")
    if path is None:
        pytest.fail("there is no chromium on PATH: apt-get install chromium")
    with sync_playwright() as playwright:
        # Root, as in CI, may not use Chromium's sandbox; the only page it shows is ours.
        started = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture
def service() -> Iterator[Service]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("FLOODPLAIN_", "KUBERNETES_"))}
    popen = subprocess.Popen(
        [sys.executable, "-m", "floodplain", "serve", "sizing", "--port", "0"],
        cwd=ROOT,
        env=kept,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert popen.stderr is not None
    events: list[dict[str, Any]] = []
    for line in popen.stderr:
        events.append(json.loads(line))
        if events[-1]["event"] == "listening":
            break
    assert events and events[-1]["event"] == "listening", events
    yield Service(popen, events[-1]["url"])
    popen.terminate()
    # Reads what it still logs, so that a full pipe cannot keep it from ending.
    popen.communicate(timeout=60)


@pytest.fixture
def tab(browser: Browser, service: Service) -> Iterator[Callable[..., Tab]]:
    """Opens tabs, with options of a context. At the end no console may have complained, nobody else been asked."""
    opened: list[Tab] = []

    def make(**options: Any) -> Tab:
        context = browser.new_context(**options)
        context.set_default_timeout(PATIENCE_MS)
        made = Tab(context.new_page(), service)
        made.watch()
        opened.append(made)
        return made

    yield make
    for one in opened:
        one.page.context.close()
    assert [one.errors for one in opened if one.errors] == []
    assert [one.elsewhere for one in opened if one.elsewhere] == []
