"""The histories that `--history` names: records of measured tasks, and the factors of their layers. Edge: reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from floodplain.raster.calibration import Calibration
    from floodplain.raster.record import Record


def read_records(paths: Sequence[str]) -> list[Record]:
    """All records of the files, one after the other. Raises FileError with every problem."""
    from floodplain.cli_plan_files import FileError, shown
    from floodplain.problem import ProblemsError, printable
    from floodplain.raster.history_file import read

    records: list[Record] = []
    problems: list[str] = []
    for path in paths:
        try:
            records += read(path, lambda said: typer.echo(f"--history: {printable(said)}", err=True))
        except ProblemsError as error:
            problems += [f"--history: {shown(path)}: {problem}" for problem in error.problems]
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            problems.append(f"--history: {shown(path)} cannot be read ({reason}); name a file that you may read")
    if problems:
        raise FileError("\n".join(problems))
    if not records:
        measure = "measure tasks first: `floodplain measure -- COMMAND`, or `measured` in Python"
        raise FileError(f"--history: {', '.join(shown(path) for path in paths)} has no records; {measure}")
    return records


def read_calibration(paths: Sequence[str], layer: str | None) -> Calibration:
    """Factors by layer. Raises FileError, and RuleError where `layer` is none of the histories."""
    from floodplain.cli_plan_files import shown
    from floodplain.problem import RuleError, did_you_mean
    from floodplain.raster.calibration import calibrate

    records = read_records(paths)
    layers = {record.layer for record in records}
    if layer is not None and layer not in layers:
        known = f"the history has {', '.join(shown(name) for name in sorted(layers)[:10])}"
        raise RuleError("is not a layer of the history", did_you_mean(layer, layers) or known, value=layer)
    return calibrate(records)
