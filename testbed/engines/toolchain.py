"""Finds the Go toolchain, or says what is missing. Not for building: that is build.py."""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from testbed.engine_error import EngineError
from testbed.engines.table import ENGINES

READY = "FLOODPLAIN_ENGINES"
"""Names a folder of programs that are there already."""


@dataclass(frozen=True)
class Go:
    """A toolchain that is new enough: `version` is what `go version` says, platform included."""

    executable: str
    version: str
    environment: Mapping[str, str] = field(hash=False)

    def run(self, *arguments: str, cwd: Path) -> "subprocess.CompletedProcess[str]":
        """One short command; its exit code is the caller's to judge."""
        return subprocess.run(
            [self.executable, *arguments], cwd=cwd, env=self.environment, capture_output=True, text=True, check=False
        )


def numbers(version: str) -> tuple[int, ...]:
    """The three numbers of a Go version such as go1.26.6 or 1.26; raises ValueError where there are none."""
    found = re.search(r"(\d+)\.(\d+)(?:\.(\d+))?", version)
    if found is None:
        raise ValueError(version)
    return int(found[1]), int(found[2]), int(found[3] or 0)


def needed() -> str:
    """The newest Go that one of our go.mod files asks for."""
    folders = {engine.sources for engine in ENGINES.values()}
    lines = (re.search(r"^go (\S+)$", (folder / "go.mod").read_text("utf-8"), re.MULTILINE) for folder in folders)
    return max((found[1] for found in lines if found), key=numbers)


def environment(given: Mapping[str, str]) -> dict[str, str]:
    """What `go` is run with: no C, no flags or workspace of a person's, so that a binary depends on its key only.

    Where HOME is not set Go knows no place for its caches, which the password database does.
    """
    home = given.get("HOME") or str(Path.home())
    return {**given, "HOME": home, "CGO_ENABLED": "0", "GOFLAGS": "", "GOWORK": "off"}


def _version(executable: str, settings: Mapping[str, str]) -> tuple[str, str]:
    """What `go version` says, and what it complains of."""
    try:
        done = subprocess.run(
            [executable, "version"], env=settings, cwd="/", capture_output=True, text=True, check=False, timeout=600
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return "", str(error)
    return done.stdout.strip(), done.stderr.strip()


def remedy(given: Mapping[str, str]) -> str:
    """What to do where there is no Go that is new enough."""
    install = "install it from https://go.dev/dl"
    if given.get(READY):
        return f"{install}: files that come with modules are read through it, also where {READY} names the programs"
    return f"{install}, or set {READY} to a folder of ready engines"


def find_go(given: Mapping[str, str]) -> Go:
    """Go as found on the PATH of the environment `given`; one that is too old is asked to fetch what we need.

    Go from 1.21 on fetches another Go as a module when GOTOOLCHAIN names it. Some distributions switch that off in
    go.env, which the variable overrides; a person who has set the variable is obeyed.
    """
    wanted = needed()
    executable = shutil.which("go", path=given.get("PATH"))
    if executable is None:
        raise EngineError(f"engines are built with Go {wanted} or newer, and there is no `go` on PATH; {remedy(given)}")
    settings = environment(given)
    said, complaint = _version(executable, settings)
    found = re.match(r"go version (?:go|devel go)(\S+)", said)
    if found and numbers(found[1]) >= numbers(wanted):
        return Go(executable, said, settings)
    have = f"{executable} is {said or f'not working: {complaint}'}"
    if found and "GOTOOLCHAIN" not in given:
        settings["GOTOOLCHAIN"] = f"go{wanted}"
        said, complaint = _version(executable, settings)
        switched = re.match(r"go version go(\S+)", said)
        if switched and numbers(switched[1]) >= numbers(wanted):
            return Go(executable, said, settings)
        have += f", and fetching Go {wanted} as a module failed: {complaint or said}"
    raise EngineError(f"engines are built with Go {wanted} or newer; {have}; {remedy(given)}")


@cache
def go() -> Go:
    """The toolchain of this process's environment, found once."""
    return find_go(os.environ)
