"""CI fails on anything red or skipped and ends with the tests' closing line, shown with a stand-in for make."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from types import ModuleType

import pytest


def junit(seconds: float, *cases: str) -> str:
    """A report with these testcases' insides."""
    inside = "".join(f'<testcase classname="a" name="b">{case}</testcase>' for case in cases)
    return f'<testsuites><testsuite tests="{len(cases)}" time="{seconds}">{inside}</testsuite></testsuites>'


PASSED = junit(0.1, "", "")
SKIPPED = junit(0.1, '<skipped message="no qemu"/>', "")
BROKEN = junit(0.2, '<failure message="no"/>', '<error message="no fixture"/>')
NONE = junit(0.01)

# Writes the junit report that pytest would, and fails where the test says so.
MAKE = """\
#!/bin/sh
echo "make $*" >> "$CALLS"
case $1 in
  test*)
    report=${PYTEST_ADDOPTS#*--junitxml=}
    printf '%s' "$JUNIT" > "${report%% *}"
    echo "7 passed in 9.99s"
    ;;
esac
if [ "$*" = "$HANGS" ]; then exec sleep 30; fi
if [ "$*" = "$FAILS" ]; then exit 2; fi
"""

FAST = ["make test", "make preview STACK=dev", "make preview STACK=prod", "make lint"]
ENGINES = ["make engines", "make test-cluster", "make test-node", "make test-chain"]
BROWSER = ["make test-browser"]
IMAGE = ["make image"]


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


def run(tree: Path, *arguments: str, **settings: str) -> tuple[int, list[str]]:
    environment = {
        "PATH": f"{tree.parent / 'bin'}:{os.environ['PATH']}",
        "CALLS": str(tree.parent / "calls"),
        "JUNIT": PASSED,
        "FAILS": "-",
        "HANGS": "-",
        "CI": "true",
        **settings,
    }
    done = subprocess.run(
        ["bash", ".ci/run", *arguments],
        cwd=tree,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout.splitlines()


def calls(tree: Path) -> list[str]:
    return (tree.parent / "calls").read_text().splitlines()


def with_tiers(tree: Path, *tiers: str) -> None:
    for tier in tiers:
        (tree / "tests" / tier).mkdir(parents=True)


def test_both_commands_for_every_stack_then_lint_and_the_closing_line_last(clone: Path) -> None:
    status, printed = run(clone)
    assert (status, printed[-1]) == (0, "2 passed in 0.10s"), printed
    assert calls(clone) == FAST


def test_then_the_engines_and_the_tiers_that_are_there_with_one_closing_line_over_all(clone: Path) -> None:
    with_tiers(clone, "cluster", "node", "chain")
    status, printed = run(clone)
    assert (status, printed[-1]) == (0, "8 passed in 0.40s"), printed
    assert calls(clone) == [*FAST, *ENGINES]
    result = printed[printed.index("== result") :]
    assert [line.split(" s ", 1)[1] for line in result[1:-1]] == calls(clone)


def test_engines_are_built_only_for_a_tier_that_is_there(clone: Path) -> None:
    with_tiers(clone, "cluster")
    assert run(clone)[0] == 0
    assert calls(clone) == [*FAST, "make engines", "make test-cluster"]


@pytest.mark.parametrize(("part", "wanted"), [("fast", FAST), ("engines", BROWSER), ("all", [*FAST, *BROWSER])])
def test_the_tier_with_a_browser_needs_no_engine(clone: Path, part: str, wanted: list[str]) -> None:
    with_tiers(clone, "browser")
    chromium = clone.parent / "bin" / "chromium"
    chromium.write_text("#!/bin/sh\n")
    chromium.chmod(0o755)
    assert run(clone, part)[0] == 0
    assert calls(clone) == wanted


@pytest.mark.parametrize(("part", "wanted"), [("fast", FAST), ("engines", IMAGE), ("all", [*FAST, *IMAGE])])
def test_the_image_is_built_where_there_is_something_to_build_it_from(
    clone: Path, part: str, wanted: list[str]
) -> None:
    (clone / "Dockerfile").write_text("FROM scratch\n")
    for command in (["add", "Dockerfile"], ["-c", "user.name=x", "-c", "user.email=x@x", "commit", "-qm", "x"]):
        subprocess.run(["git", *command], cwd=clone, check=True)
    for name in ("buildah", "debootstrap"):
        program = clone.parent / "bin" / name
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
    assert run(clone, part)[0] == 0
    assert calls(clone) == wanted


@pytest.mark.parametrize(("part", "wanted"), [("fast", FAST), ("engines", ENGINES), ("all", [*FAST, *ENGINES])])
def test_a_part_can_be_run_alone(clone: Path, part: str, wanted: list[str]) -> None:
    with_tiers(clone, "cluster", "node", "chain")
    assert run(clone, part)[0] == 0
    assert calls(clone) == wanted


def test_a_part_that_does_not_exist_is_wrong_use(clone: Path) -> None:
    assert run(clone, "quick") == (2, [])


@pytest.mark.parametrize(
    "fails", ["make test", "make preview STACK=prod", "make lint", "make engines", "make test-node"]
)
def test_a_failing_step_fails_the_run_and_the_others_still_run(clone: Path, fails: str) -> None:
    with_tiers(clone, "cluster", "node", "chain")
    status, printed = run(clone, FAILS=fails.removeprefix("make "))
    assert status == 1
    assert f"failed: {fails}" in printed
    assert printed[-1] == "8 passed in 0.40s"
    assert calls(clone) == [*FAST, *ENGINES]


def test_a_step_that_hangs_is_ended_and_named(clone: Path) -> None:
    script = clone / ".ci" / "run"
    script.write_text(script.read_text().replace('step "make lint" 10', 'step "make lint" 0.01'))
    subprocess.run(["git", "-c", "user.name=x", "-c", "user.email=x@x", "commit", "-qam", "x"], cwd=clone, check=True)
    status, printed = run(clone, HANGS="lint")
    assert status == 1
    assert "ended after 0.01 minutes" in printed
    assert "failed: make lint" in printed


@pytest.mark.parametrize(
    ("junit", "closing"),
    [
        (SKIPPED, "1 passed, 1 skipped in 0.10s"),
        (NONE, "no tests ran in 0.01s"),
        (BROKEN, "2 failed in 0.20s"),
    ],
)
def test_a_skipped_test_fails_the_run_and_so_does_no_test(clone: Path, junit: str, closing: str) -> None:
    status, printed = run(clone, JUNIT=junit)
    assert status == 1
    assert "failed: tests of make test that did not run or did not pass" in printed
    assert printed[-1] == closing


@pytest.mark.parametrize("tier", ["cluster", "node", "chain"])
def test_a_skip_in_a_tier_with_engines_fails_the_run(clone: Path, tier: str) -> None:
    with_tiers(clone, tier)
    status, printed = run(clone, "engines", JUNIT=SKIPPED)
    assert status == 1
    assert f"failed: tests of make test-{tier} that did not run or did not pass" in printed


def test_files_that_a_run_leaves_behind_fail_it(clone: Path) -> None:
    (clone / "stray.txt").write_text("")
    status, printed = run(clone)
    assert status == 1
    assert "?? stray.txt" in printed


@pytest.mark.parametrize("fails", ["-", "lint"])
def test_a_home_that_was_made_for_the_run_goes_with_it(clone: Path, tmp_path: Path, fails: str) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    make = tmp_path / "bin" / "make"
    make.write_text(f'{make.read_text()}\nmkdir -p "$HOME/go/mod"; touch "$HOME/go/mod/a"; chmod 500 "$HOME/go/mod"\n')
    assert run(clone, TMPDIR=str(scratch), FAILS=fails)[0] == (0 if fails == "-" else 1)
    assert list(scratch.iterdir()) == []


def test_complaints_name_the_test_and_the_reason(no_skips: ModuleType) -> None:
    assert no_skips.complaints(SKIPPED) == ["skipped: a.b: no qemu"]
    assert no_skips.complaints(NONE) == ["no test ran"]
    assert no_skips.complaints(PASSED) == []
