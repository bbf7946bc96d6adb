"""A dataclass of options as one parameter of a command: what typer sees, and what the command gets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer
from typer.testing import CliRunner

from floodplain.grouped_options import grouped


@dataclass(frozen=True)
class Size:
    width: Annotated[int, typer.Option(min=1, help="In pixels.")] = 8
    height: int = 4


@dataclass(frozen=True)
class Look:
    colour: Annotated[str | None, typer.Option("--tint")] = None
    dark: bool = False


SEEN: list[tuple[str, Size, bool, Look]] = []
app = typer.Typer()


@app.command()
@grouped
def draw(name: str, *, size: Size, quiet: Annotated[bool, typer.Option("--quiet")] = False, look: Look) -> None:
    """Draw it."""
    SEEN.append((name, size, quiet, look))


def run(*arguments: str) -> tuple[int, list[tuple[str, Size, bool, Look]]]:
    SEEN.clear()
    return CliRunner().invoke(app, arguments).exit_code, list(SEEN)


def test_options_left_out_have_the_defaults_of_their_fields() -> None:
    assert run("cat") == (0, [("cat", Size(), False, Look())])


def test_options_reach_the_command_in_their_groups() -> None:
    given = ("--dark", "cat", "--height", "2", "--quiet", "--tint", "red", "--width", "1")
    assert run(*given) == (0, [("cat", Size(1, 2), True, Look("red", dark=True))])


def test_what_typer_checks_of_a_field_is_checked() -> None:
    assert run("cat", "--width", "0") == (2, [])
    assert run("cat", "--size", "1") == (2, [])


def test_help_has_the_options_in_the_order_of_parameters_and_fields() -> None:
    words = CliRunner().invoke(app, "--help", env={"COLUMNS": "120", "TERM": "dumb"}).stdout
    names = ["Draw it.", "--width", "In pixels.", "--height", "--quiet", "--tint", "--dark"]
    assert [name for name in sorted(names, key=words.index) if name in words] == names
