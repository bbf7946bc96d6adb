"""Every command of ours that a page quotes exists, with the options and variables it is given."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path

import pytest
import typer

import testbed.__main__
from docs.key_tables import PROGRAMS, every_command, options_of
from docs.tables import ROOT
from tests.docs.pages import PAGES, blocks, code_spans, name

MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
TARGETS = set(re.findall(r"^([a-z-]+):", MAKEFILE, re.M))
VARIABLES = set(re.findall(r"^([A-Z]+) \?=", MAKEFILE, re.M)) | {"NAME"}
CALLS = {
    "-m preview": "preview",
    "-m floodplain": "floodplain",
    "-m testbed": "testbed",
}
APPS = {**PROGRAMS, "testbed": (testbed.__main__.app, "python -m testbed")}


def quoted(page: Path) -> Iterator[str]:
    """Commands in blocks and in running text, one a line, pipes cut off."""
    lines = [line for block in blocks("sh") if block.page == page for line in block.body.splitlines()]
    for line in [*lines, *code_spans(page)]:
        for part in re.split(r" \| | && | > ", line.strip()):
            if re.match(r"(make|floodplain|python|\.venv/bin/python) ", part):
                yield part


def problems(command: str) -> list[str]:
    words = shlex.split(command)
    if words[0] == "make":
        return [*_target(words[1:]), *_variables(words[1:])]
    if words[0] == "floodplain":
        return _of_program("floodplain", words[1:])
    for call, program in CALLS.items():
        if " ".join(words[1:3]) == call:
            return _of_program(program, words[3:])
    if words[1] == "-m":
        module = words[2].replace(".", "/")
        return [] if (ROOT / module).is_dir() or (ROOT / f"{module}.py").is_file() else [f"no module {words[2]}"]
    return [] if words[1] == "-c" else [f"unknown way to call Python: {command}"]


def _target(words: list[str]) -> list[str]:
    return [f"no target {word}" for word in words if "=" not in word and word not in TARGETS]


def _variables(words: list[str]) -> list[str]:
    return [f"no variable {word}" for word in words if "=" in word and word.partition("=")[0] not in VARIABLES]


def _of_program(program: str, words: list[str]) -> list[str]:
    app, called = APPS[program]
    known = dict(every_command(typer.main.get_command(app), called))
    for length in range(len(words), 0, -1):
        command = known.get(" ".join([called, *words[:length]]))
        if command is not None:
            options = options_of(command)
            given = takewhile(lambda word: word != "--", words[length:])
            return [f"no option {word}" for word in given if word.startswith("-") and word not in options]
    group = " ".join([called, *words])
    return [] if any(one.startswith(group) for one in known) else [f"no command {group}"]


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_command_of_a_page_exists(page: Path) -> None:
    assert {command: found for command in quoted(page) if (found := problems(command))} == {}


def test_wrong_commands_would_be_found() -> None:
    assert problems("make previw") == ["no target previw"]
    assert problems("make preview STAK=dev") == ["no variable STAK=dev"]
    assert problems("python -m preview show userdatas swap") == ["no command python -m preview show userdatas swap"]
    assert problems("python -m preview report --stacks prod") == ["no option --stacks"]
    assert problems("floodplain catalog show") == ["no command floodplain catalog show"]
    assert problems("make test-clusters") == ["no target test-clusters"]
    assert problems("python -m testbed build --lst") == ["no option --lst"]
    assert problems("python -m testbed upp") == ["no command python -m testbed upp"]
    assert problems("python -m docs.table") == ["no module docs.table"]
    assert problems("make preview STACK=dev BASE=main") == []
    assert problems("python -m preview show") == []


def test_the_readme_begins_with_its_two_commands() -> None:
    first = next(block for block in blocks("sh") if block.page == ROOT / "README.md")
    assert first.body.splitlines() == ["make preview", "make test"]
