"""The other side of a diff: another git revision, rendered by its own code in a worktree with this interpreter.

Reads git and the file system; what it finds missing it says with the command that helps.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from floodplain.problem import Problem

from . import dump, elsewhere
from .problems import PreviewError
from .recording import Recording


@dataclass(frozen=True)
class Base:
    """`recording` is None when the revision has nothing to compare with; `note` then says why."""

    name: str
    recording: Recording | None
    note: tuple[str, ...] = ()


def render_base(root: Path, revision: str, stack: str) -> Base:
    """Raises PreviewError when the revision cannot be had."""
    commit = resolve(root, revision)
    name = f"{revision} ({commit[:12]})"
    with worktree(root, commit) as folder:
        if not (folder / "preview" / "__main__.py").is_file():
            return Base(name, None, ("That revision has no preview program, so everything is shown as new.",))
        if not any((folder / place / f"Pulumi.{stack}.yaml").is_file() for place in ("stacks", ".")):
            return Base(name, None, (f"That revision has no stack {stack}, so everything is shown as new.",))
        return _rendered(folder, name, stack)


def _rendered(folder: Path, name: str, stack: str) -> Base:
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    try:
        done = elsewhere.dump(folder, environment, "--stack", stack)
    except subprocess.TimeoutExpired:
        return Base(name, None, (f"Its preview did not end within {elsewhere.TIMEOUT_SECONDS} s.",))
    if done.returncode != 0:
        said = (done.stderr.strip() or done.stdout.strip()).splitlines()[-12:]
        return Base(name, None, ("That revision cannot be rendered in this environment:", *said))
    try:
        return Base(name, dump.read(done.stdout))
    except (ValueError, KeyError, TypeError) as error:
        return Base(name, None, (f"What its preview printed cannot be read here: {error}.",))


def resolve(root: Path, revision: str) -> str:
    """The commit of a revision. Raises PreviewError, with what to do, when git does not have it."""
    inside = _git(root, "rev-parse", "--is-inside-work-tree")
    if inside.returncode != 0:
        said = inside.stderr.strip().splitlines()[:1] or ["nothing"]
        remedy = f"git says: {said[0].removeprefix('fatal: ')}"
        raise PreviewError([Problem("--base", "needs a git checkout", remedy, revision)])
    found = _git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    if found.returncode == 0:
        return found.stdout.strip()
    branch = revision.removeprefix("origin/")
    remedy = f"fetch it: git fetch origin {branch}, then use BASE=FETCH_HEAD"
    for other in (f"origin/{branch}", branch):
        if other != revision and _git(root, "rev-parse", "--verify", "--quiet", f"{other}^{{commit}}").returncode == 0:
            remedy = f"did you mean {other}?"
            break
    rule = "is no revision that git knows here"
    if _git(root, "rev-parse", "--is-shallow-repository").stdout.strip() == "true":
        rule = "is not in this shallow clone"
        remedy = f"git fetch --depth=1 origin {branch}, then use BASE=FETCH_HEAD; in CI check out with fetch-depth: 0"
    raise PreviewError([Problem("--base", rule, remedy, revision)])


@contextmanager
def worktree(root: Path, commit: str) -> Iterator[Path]:
    """A checkout of `commit` beside this one, at the same place below its top, removed afterwards."""
    top = Path(_git(root, "rev-parse", "--show-toplevel").stdout.strip())
    with tempfile.TemporaryDirectory(prefix="floodplain-base-") as scratch:
        folder = Path(scratch) / "base"
        try:
            with _undisturbed():
                made = _git(root, "worktree", "add", "--quiet", "--detach", "--force", str(folder), commit)
            if made.returncode != 0:
                rule = f"cannot be checked out ({made.stderr.strip()})"
                raise PreviewError([Problem("--base", rule, "run `git worktree prune` and try again", commit)])
            yield folder / root.resolve().relative_to(top.resolve())
        finally:
            with _undisturbed():
                _git(root, "worktree", "remove", "--force", str(folder))


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Signals wait for the end, for git that is killed leaves half a worktree registered and locked."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM))
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _git(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    # Hooks of this checkout are not meant for the other one.
    command = ["git", "-c", "core.hooksPath=/dev/null", *arguments]
    environment = {**os.environ, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    for key in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
        environment.pop(key, None)
    try:
        return subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True)
    except FileNotFoundError:
        raise PreviewError([Problem("--base", "needs git", "install git")]) from None
