"""For the tiers with engines: a failing test says where their logs are, and the folders stay.

Fixtures share a testbed among tests, so a test's failure never passes through the block that would remove the folder.
A conftest takes part by importing the hook.
"""

from __future__ import annotations

from collections.abc import Generator

import pytest

from testbed.state import keep_logs


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed:
        kept = [f"state and logs stay in {folder}" for folder in keep_logs()]
        report.sections.append(("testbed", "\n".join(kept) or "no testbed was up"))
    return report
