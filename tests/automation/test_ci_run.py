"""CI fails on anything red or skipped and ends with the tests' closing line, shown with a stand-in for make."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from types import ModuleType

import pytest

PASSED = '<testsuites><testsuite tests="2"><testcase classname="a" name="b"/></testsuite></testsuites>'
SKIPPED = (
    '<testsuites><testsuite tests="2"><testcase classname="a" name="b"><skipped message="no qemu"/></testcase>'
    "</testsuite></testsuites>"
)
NONE = '<testsuites><testsuite tests="0"/></testsuites>'

# Writes the junit report that pytest would, says its closing line, and fails where the test says so.
MAKE = """\
#!/bin/sh
echo "make $*" >> "$CALLS"
case $1 in
  test)
    printf '%s' "$JUNIT" > build/ci/junit.xml
    echo "..s"
    echo "$CLOSING"
    ;;
esac
if [ "$*" = "$FAILS" ]; then exit 2; fi
"""


@pytest.fixture
def clone(tmp_path: Path, root: Path) -> Path:
    """A repository with .ci, two stacks and a stand-in for make."""
    tree = tmp_path / "clone"
    shutil.copytree(root / ".ci", tree / ".ci", ignore=shutil.ignore_patterns("__pycache__"))
    (tree / "stacks").mkdir()
    for stack in ("dev", "prod"):
        (tree / "stacks" / f"Pulumi.{stack}.yaml").write_text("config: {}\n")
    (tree / ".gitignore").write_text("build/\n")
    (tmp_path / "bin").mkdir()
    make = tmp_path / "bin" / "make"
    make.write_text(MAKE)
    make.chmod(0o755)
    for command in (["init", "-q"], ["add", "-A"], ["-c", "user.name=x", "-c", "user.email=x@x", "commit", "-qm", "x"]):
        subprocess.run(["git", *command], cwd=tree, check=True)
    return tree


def run(tree: Path, *, junit: str = PASSED, closing: str = "2 passed in 0.10s", fails: str = "-") -> tuple[int, str]:
    environment = {
        "PATH": f"{tree.parent / 'bin'}:{os.environ['PATH']}",
        "CALLS": str(tree.parent / "calls"),
        "JUNIT": junit,
        "CLOSING": closing,
        "FAILS": fails,
        "CI": "true",
    }
    done = subprocess.run(
        ["bash", ".ci/run"], cwd=tree, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    return done.returncode, done.stdout


def test_both_commands_for_every_stack_then_lint_and_the_closing_line_last(clone: Path) -> None:
    status, printed = run(clone)
    assert (status, printed.splitlines()[-1]) == (0, "2 passed in 0.10s"), printed
    assert (clone.parent / "calls").read_text().splitlines() == [
        "make test",
        "make preview STACK=dev",
        "make preview STACK=prod",
        "make lint",
    ]


@pytest.mark.parametrize("fails", ["test", "preview STACK=prod", "lint"])
def test_a_failing_step_fails_the_run_and_the_others_still_run(clone: Path, fails: str) -> None:
    status, printed = run(clone, fails=fails)
    assert status == 1
    assert f"failed: make {fails}" in printed
    assert printed.splitlines()[-1] == "2 passed in 0.10s"
    assert len((clone.parent / "calls").read_text().splitlines()) == 4


@pytest.mark.parametrize(
    ("junit", "closing"),
    [(SKIPPED, "1 passed, 1 skipped in 0.10s"), (NONE, "no tests ran in 0.01s")],
)
def test_a_skipped_test_fails_the_run_and_so_does_no_test(clone: Path, junit: str, closing: str) -> None:
    status, printed = run(clone, junit=junit, closing=closing)
    assert status == 1
    assert "failed: tests that did not run or did not pass" in printed
    assert printed.splitlines()[-1] == closing


def test_files_that_a_run_leaves_behind_fail_it(clone: Path) -> None:
    (clone / "stray.txt").write_text("")
    status, printed = run(clone)
    assert status == 1
    assert "?? stray.txt\n" in printed


def test_complaints_name_the_test_and_the_reason(no_skips: ModuleType) -> None:
    assert no_skips.complaints(SKIPPED) == ["skipped: a.b: no qemu"]
    assert no_skips.complaints(NONE) == ["no test ran"]
    assert no_skips.complaints(PASSED) == []
