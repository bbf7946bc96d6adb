"""`floodplain measure -- CMD`: the peak memory of any command. Edge: reads arguments, prints."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

if TYPE_CHECKING:
    from floodplain.raster.measured_command import MeasuredCommand
    from floodplain.raster.open_tasks import OpenTasks

OWN_FAULT = 125
"""Exit status of env and timeout for what is wrong with themselves: nothing was run."""
STATUS = (
    "Exit status: that of the command; 128 and the number of the signal that ended it; 127 where it is not found, "
    "126 where it cannot be run. 125 where an option has a value that cannot be used, and nothing was run."
)
CONTEXT = {"allow_interspersed_args": False}
"""Options after the command are the command's."""


def measure(
    command: Annotated[list[str], typer.Argument(help="The command and its arguments.", metavar="CMD")],
    history: Annotated[
        str | None, typer.Option(help="Append the record to this file, such as peaks.jsonl.", metavar="FILE")
    ] = None,
    layer: Annotated[str, typer.Option(help="The kind of task.", metavar="NAME")] = "command",
    task: Annotated[str | None, typer.Option(help="A name of this task.", metavar="NAME")] = None,
    limit: Annotated[
        str | None,
        typer.Option(help="What it may use, such as 2Gi; default: the limit of the cgroup.", metavar="QUANTITY"),
    ] = None,
    every_sigkill: Annotated[
        bool,
        typer.Option("--every-sigkill", help="Take SIGKILL for a kill for memory, also where the kernel counted none."),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the record as JSON.")] = False,
) -> None:
    """Run a command; say on standard error how much memory all its processes held at most, and how that is known."""
    from floodplain.quantity import QuantityError, to_bytes
    from floodplain.raster.measured_command import measure_command

    limit_bytes = None
    if limit is not None:
        try:
            limit_bytes = to_bytes(limit)
        except QuantityError as error:
            _fail(f"--limit: {error}")
        if limit_bytes == 0:
            _fail(f"--limit: {limit!r} is nothing; write what the command may use, such as 2Gi")
    note = _begun(history, layer, task, limit_bytes) if history is not None else None
    made = measure_command(command, layer=layer, limit_bytes=limit_bytes, task=task, every_sigkill=every_sigkill)
    if history is not None and note is not None:
        from floodplain.raster.history_file import append

        try:
            if made.record is not None:
                append(history, made.record)
            note.ended(history)
            note.close()
        except OSError as error:
            typer.echo(f"floodplain: --history: {history} cannot be written ({error.strerror})", err=True)
    if as_json and made.record is not None:
        typer.echo(_json(made), err=True)
    else:
        for line in _lines(made):
            typer.echo(f"floodplain: {line}", err=True)
    raise typer.Exit(made.exit_status)


def _lines(made: MeasuredCommand) -> list[str]:
    from floodplain.quantity import MIB
    from floodplain.raster.record import Method

    record = made.record
    if record is None:
        return list(made.notes)
    how = {
        Method.VMHWM: "the high-water mark of its process",
        Method.SAMPLES: f"samples of up to {made.processes} processes",
        Method.CGROUP: "memory.peak of its cgroup, page cache included",
        Method.NONE: "nothing",
    }[record.method]
    least = "at least " if record.censored else ""
    return [
        f"peak {least}{record.peak_bytes / MIB:,.1f} MiB, swap {record.swap_peak_bytes / MIB:,.1f} MiB, "
        f"{record.seconds:.1f} s, {record.outcome.value}, exit {made.exit_status}; by {how}",
        *made.notes,
    ]


def _json(made: MeasuredCommand) -> str:
    import json

    assert made.record is not None
    return json.dumps(
        {
            **made.record.model_dump(mode="json"),
            "exit_status": made.exit_status,
            "processes": made.processes,
            "notes": list(made.notes),
        }
    )


def _begun(history: str, layer: str, task: str | None, limit_bytes: int | None) -> OpenTasks:
    """Note that it begins: where a whole container is killed for memory, this program dies with the command.

    A record that cannot be written should be known before the command has run for a day.
    """
    from floodplain.raster.cgroup_memory import own_cgroup
    from floodplain.raster.open_tasks import OpenTasks, close_open_tasks, start_of

    try:
        os.close(os.open(history, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644))
        close_open_tasks(history)
        group = own_cgroup()
        note = OpenTasks(history)
        limit = limit_bytes or (group.limit_bytes() if group else None)
        note.begun(history, start_of(layer, task=task, slot_limit_bytes=limit))
        return note
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        _fail(f"--history: {history!r} cannot be written ({reason}); name a file in a folder that you may write to")


def _fail(message: str) -> NoReturn:
    typer.echo(message, err=True)
    raise typer.Exit(OWN_FAULT)
