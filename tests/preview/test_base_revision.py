"""The base of a diff is another revision, run by its own code. Each test has a git repository of its own."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from preview.base_revision import render_base, resolve, worktree
from preview.problems import PreviewError
from preview.report import report

CHECKOUT = Path(__file__).parent.parent.parent
ROOMS = ("components", "floodplain", "nodeconfig", "policies", "preview", "stacks")


def git(root: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "init.defaultBranch=main")
    done = subprocess.run(["git", *identity, *arguments], cwd=root, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with this checkout's program in its first commit."""
    root = tmp_path / "repository"
    root.mkdir()
    for name in ROOMS:
        shutil.copytree(CHECKOUT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("Pulumi.yaml", "__main__.py"):
        shutil.copy(CHECKOUT / name, root / name)
    git(root, "init", "--quiet")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "first")
    return root


@pytest.fixture
def small(sample: Callable[..., Path]) -> Path:
    """A repository whose program is a sample, without a preview of its own."""
    root = sample("good", {"token": {"secure": "v1:a"}})
    git(root, "init", "--quiet")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "first")
    return root


def line_of(root: Path, revision: str) -> str:
    with pytest.raises(PreviewError) as caught:
        resolve(root, revision)
    [line] = caught.value.lines
    return line


def test_a_stack_is_compared_with_what_another_revision_wants(repository: Path) -> None:
    path = repository / "stacks" / "Pulumi.prod.yaml"
    content = yaml.safe_load(path.read_text())
    content["config"]["floodplain:pools"][0]["limits"]["memory"] = "3Ti"
    path.write_text(yaml.safe_dump(content))
    made = report("prod", repository, "HEAD")
    assert made.diff is not None
    assert made.diff.base == f"HEAD ({git(repository, 'rev-parse', 'HEAD')[:12]})"
    assert made.diff.note == ()
    assert [(change.action, change.name) for change in made.diff.changes] == [("update", "platform-swap-nodepool")]
    assert git(repository, "worktree", "list").count("\n") == 0


def test_a_base_that_cannot_be_rendered_says_what_it_said(repository: Path) -> None:
    path = repository / "stacks" / "Pulumi.prod.yaml"
    good = path.read_text()
    path.write_text(good.replace("families:", "famlies:", 1))
    git(repository, "commit", "--quiet", "--all", "--message", "broken")
    base = render_base(repository, "HEAD", "prod")
    assert base.recording is None
    assert base.note[0] == "That revision cannot be rendered in this environment:"
    assert any("did you mean `families`?" in line for line in base.note)


def test_a_base_without_the_stack_says_so(repository: Path) -> None:
    base = render_base(repository, "main", "other")
    assert (base.recording, base.note) == (
        None,
        ("That revision has no stack other, so everything is shown as new.",),
    )


def test_a_base_without_a_preview_program_says_so(small: Path) -> None:
    base = render_base(small, "HEAD", "dev")
    assert (base.recording, base.note) == (
        None,
        ("That revision has no preview program, so everything is shown as new.",),
    )
    made = report("dev", small, "HEAD")
    assert made.diff is not None
    assert {change.action for change in made.diff.changes} == {"create"}


def test_an_unknown_revision_says_how_to_get_it(small: Path) -> None:
    assert line_of(small, "feature") == (
        "--base: 'feature' is no revision that git knows here; fetch it: git fetch origin feature, then use "
        "BASE=FETCH_HEAD"
    )


def test_a_branch_that_only_the_remote_has_is_suggested(small: Path) -> None:
    git(small, "update-ref", "refs/remotes/origin/feature", "HEAD")
    assert line_of(small, "feature").endswith("did you mean origin/feature?")


def test_a_shallow_clone_says_how_to_deepen_it(small: Path, tmp_path: Path) -> None:
    (small / "more").write_text("")
    git(small, "add", "more")
    git(small, "commit", "--quiet", "--message", "second")
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "--quiet", "--depth=1", f"file://{small}", str(clone))
    assert line_of(clone, "main~1") == (
        "--base: 'main~1' is not in this shallow clone; git fetch --depth=1 origin main~1, then use BASE=FETCH_HEAD; "
        "in CI check out with fetch-depth: 0"
    )


def test_a_folder_outside_git_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    line = line_of(tmp_path, "main")
    assert line.startswith("--base: 'main' needs a git checkout; git says: not a git repository")


def test_a_revision_that_looks_like_an_option_is_no_option(small: Path) -> None:
    assert "is no revision that git knows here" in line_of(small, "--help")


def test_a_worktree_is_gone_afterwards_and_is_not_spoiled_by_hooks(small: Path) -> None:
    hook = small / ".git" / "hooks" / "post-checkout"
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    with worktree(small, "HEAD") as folder:
        assert (folder / "__main__.py").is_file()
    assert not folder.exists()
    assert git(small, "worktree", "list").count("\n") == 0
