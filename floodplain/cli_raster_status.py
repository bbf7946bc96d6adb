"""How the raster commands end: one rule for all of them, that of `floodplain plan` too. Edge: prints.

2 is for the command line: an option with a value that cannot be used, by itself or beside the others. 1 is for all else
that keeps a command from its answer: a file or raster that cannot be read, understood or written, or a bad line of
one; and for an answer that is no. Where both hold it is 2. `floodplain measure` ends as its command does, and so has
125 for both, as env and timeout have.
"""

from __future__ import annotations

from typing import NoReturn

import typer

DONE, FAILED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130


def bad(*messages: str) -> NoReturn:
    """Tell what is wrong with options, and end."""
    _end(messages, BAD_INPUT)


def failed(*messages: str) -> NoReturn:
    """Tell why there is no answer, and end."""
    _end(messages, FAILED)


def _end(messages: tuple[str, ...], status: int) -> NoReturn:
    for message in messages:
        typer.echo(message, err=True)
    raise typer.Exit(status)
