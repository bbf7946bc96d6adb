"""A failing test of a tier with engines says where their logs are, and the folder stays, also in an xdist worker."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.testbed.owners import CHECKOUT

CONFTEST = """\
import pytest
from testbed.state import State
from tests.kept_logs import pytest_runtest_makereport

@pytest.fixture(scope="session")
def state():
    with State() as opened:
        opened.path("logs", "etcd.log").write_text("why")
        yield opened
"""


def ran(folder: Path, body: str) -> tuple[str, list[Path]]:
    """What pytest prints of one test that does `body` with a testbed, and the logs that are left."""
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "test_it.py").write_text(f"def test_it(state): {body}\ndef test_next(state): pass\n")
    scratch = folder / "scratch"
    scratch.mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "1", "--rootdir", folder, folder],
        cwd=CHECKOUT,
        env={**os.environ, "TMPDIR": str(scratch), "PYTEST_ADDOPTS": "", "PYTHONPATH": str(CHECKOUT)},
        capture_output=True,
        text=True,
    )
    return done.stdout, list(scratch.glob("floodplain-testbed-*/logs/etcd.log"))


def test_the_logs_of_a_failing_test_stay_and_it_says_where(tmp_path: Path) -> None:
    printed, (log,) = ran(tmp_path, "assert False")
    assert re.findall("state and logs stay in (.*)", printed) == [str(log.parent.parent)]
    assert "1 failed, 1 passed" in printed


def test_nothing_stays_of_tests_that_pass(tmp_path: Path) -> None:
    printed, logs = ran(tmp_path, "pass")
    assert ("2 passed" in printed, logs) == (True, [])
