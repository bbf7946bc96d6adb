"""What the Dockerfile says; that the image works is seen by building it (`make image`)."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture
def dockerfile(root: Path) -> str:
    return (root / "Dockerfile").read_text()


def test_the_base_is_named_by_digest_and_may_be_another(dockerfile: str) -> None:
    assert re.findall(r"^ARG BASE=(.*)", dockerfile, re.MULTILINE)[0].count("@sha256:") == 1
    assert re.findall(r"^FROM (\S+)", dockerfile, re.MULTILINE) == ["${BASE}", "${BASE}"]


def test_packages_are_installed_by_hash_without_a_compiler(dockerfile: str) -> None:
    (install,) = re.findall(r"pip install ((?:.*\\\n)*.*)", dockerfile)
    for option in ("--require-hashes", "--only-binary=:all:", "--no-cache-dir"):
        assert option in install
    assert "apt" not in re.sub(r"#.*", "", dockerfile)


def test_it_runs_as_a_number_that_is_not_root(dockerfile: str) -> None:
    assert re.findall(r"^USER (.*)", dockerfile, re.MULTILINE) == ["65532:65532"]


def test_the_context_holds_nothing_but_what_is_copied(root: Path, dockerfile: str) -> None:
    copied = re.findall(r"^COPY (?!--from)(\S+)", dockerfile, re.MULTILINE)
    lines = (root / ".dockerignore").read_text().splitlines()
    kept = [line.removeprefix("!") for line in lines if line.startswith("!")]
    assert sorted(copied) == sorted(kept)
    assert "*" in lines


def test_programs_of_the_shell_in_it_are_sound(dockerfile: str) -> None:
    for script in re.findall(r"^RUN ((?:.*\\\n)*.*)", dockerfile, re.MULTILINE):
        plain = re.sub(r"^\s*#.*\n", "", re.sub(r"--mount=\S+", "", script), flags=re.MULTILINE)
        done = subprocess.run(
            [Path(sys.executable).parent / "shellcheck", "--shell=sh", "-"], input=plain, capture_output=True, text=True
        )
        assert done.stdout == ""
