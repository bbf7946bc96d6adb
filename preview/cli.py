"""The command line: `python -m preview ...`. Parses, calls, prints, and sets the exit status. Nothing else.

What takes time to import is imported by the command that needs it.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Optional

import typer

from floodplain.standard_output import guarded

from . import streams
from .problems import PreviewError

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Render a stack offline, check it, compare it with another revision, and show parts of it.",
)
shown = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Show one thing exactly as it is rendered.")
app.add_typer(shown, name="show")


class Format(StrEnum):
    terminal = "terminal"
    markdown = "markdown"
    json = "json"


Stack = Annotated[str, typer.Option("--stack", "-s", help="Name of the stack, as in stacks/Pulumi.<name>.yaml.")]
Root = Annotated[Path, typer.Option("--root", help="Folder of the program, with Pulumi.yaml.")]
Traceback = Annotated[bool, typer.Option("--traceback", help="On a fault of the program, show the calls.")]
Pool = Annotated[str, typer.Argument(metavar="POOL", help="Name of the pool; `show pools` lists them.")]
HERE = Path(__file__).resolve().parent.parent


@contextmanager
def _told(traceback: bool = False) -> Iterator[None]:
    """Problems end the command with status 1 and no traceback, unless one is asked for."""
    try:
        yield
    except PreviewError as error:
        if traceback and error.__cause__ is not None:
            raise
        for line in error.lines:
            print(streams.printable(line), file=sys.stderr)
        raise typer.Exit(1) from None


@app.command()
def report(
    stack: Stack,
    base: Annotated[Optional[str], typer.Option(help="Git revision to compare with.")] = None,
    form: Annotated[Format, typer.Option("--format", help="For whom.")] = Format.terminal,
    elsewhere: Annotated[
        bool, typer.Option("--elsewhere", help="Render the second time in another process: slower, finds more.")
    ] = False,
    root: Root = HERE,
    traceback: Traceback = False,
) -> None:
    """What a stack would create, its pools, and what is wrong. Status 1 if there are errors."""
    from .report import report as make

    with _told(traceback):
        made = make(stack, root, base, elsewhere=elsewhere)
    if form is Format.json:
        from . import jsonform

        streams.write(jsonform.text(made))
    elif form is Format.markdown:
        from . import markdown

        streams.write(markdown.text(made))
    else:
        from . import terminal

        terminal.show(made, streams.output())
    if made.errors:
        raise typer.Exit(1)


@app.command()
def dump(
    stack: Stack,
    root: Root = HERE,
    plan: Annotated[bool, typer.Option("--plan", help="Also what is asked for before anything is known.")] = False,
) -> None:
    """Everything the stack would ask the engine for, as JSON for another process."""
    from . import dump as form
    from .render import render

    with _told():
        streams.write(form.write(render(stack, root), plan=plan))


@app.command("list")
def list_stacks(root: Root = HERE) -> None:
    """Names of the stacks that have a file."""
    from .stackfile import stacks_of

    with _told():
        streams.write("".join(f"{name}\n" for name in stacks_of(root)))


@app.command()
def schema() -> None:
    """JSON schema of `report --format json`."""
    from . import jsonform

    streams.write(jsonform.schema())


@shown.command("userdata")
def show_user_data(pool: Pool, stack: Stack, root: Root = HERE) -> None:
    """The exact boot text of a pool's nodes."""
    _show(stack, root, lambda show, recording: show.user_data(recording, pool))


@shown.command("nodepool")
def show_node_pool(pool: Pool, stack: Stack, root: Root = HERE) -> None:
    """A pool's NodePool, as YAML for kubectl."""
    _show(stack, root, lambda show, recording: show.node_pool(recording, pool))


@shown.command("nodeclass")
def show_node_class(pool: Pool, stack: Stack, root: Root = HERE) -> None:
    """A pool's EC2NodeClass, as YAML for kubectl."""
    _show(stack, root, lambda show, recording: show.node_class(recording, pool))


@shown.command("policies")
def show_policies(stack: Stack, root: Root = HERE) -> None:
    """Every IAM document with its length."""
    _show(stack, root, lambda show, recording: show.policies(recording))


@shown.command("pools")
def show_pools(
    stack: Stack,
    root: Root = HERE,
    as_json: Annotated[bool, typer.Option("--json", help="The pool documents, for FLOODPLAIN_POOLS.")] = False,
) -> None:
    """Names of the pools, or their documents."""

    def text(show: Any, recording: Any) -> bytes | str:
        if as_json:
            return bytes(show.pools_json(recording))
        return "".join(f"{name}\n" for name in show.pool_names(recording))

    _show(stack, root, text)


def _show(stack: str, root: Path, text: Callable[[Any, Any], bytes | str]) -> None:
    from . import show

    with _told():
        streams.write(text(show, show.rendered(stack, root)))


def main() -> None:
    # A short life with many imports: the collector would go through what they made hundreds of times.
    gc.set_threshold(200_000, 10, 10)
    streams.stop_on_sigterm()
    streams.keep_output()
    guarded(lambda: app(prog_name="python -m preview"))
