"""`python -m benchmarks [NAME] [OPTIONS]`: run one benchmark or all, print tables, write build/benchmarks/NAME.json."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

from rich.console import Console

from testbed.engine_error import EngineError

from .rows import show, write

NAMES = (
    "preview",
    "checks",
    "sizing",
    "odm",
    "service",
    "testbed",
    "raster_measured",
    "raster_bill",
    "raster_warps",
    "raster_headers",
)
"""A module each."""
OUT = Path(__file__).resolve().parent.parent / "build" / "benchmarks"


def main(arguments: list[str]) -> int:
    """0 if every goal holds. What a benchmark's options are is in its `run`."""
    names = [argument for argument in arguments if not argument.startswith("-")]
    options = [argument for argument in arguments if argument.startswith("-")]
    unknown = [name for name in names if name not in NAMES]
    if unknown:
        print(f"no benchmark is called {unknown[0]!r}; there are: {', '.join(NAMES)}", file=sys.stderr)
        return 2
    console = Console(width=None if sys.stdout.isatty() else 160)
    holds = True
    for name in names or NAMES:
        benchmark = import_module(f".{name}", __package__)
        try:
            rows = benchmark.run(options)
        except EngineError as error:
            print(f"benchmark {name}: {error}", file=sys.stderr)
            holds = False
            continue
        getattr(benchmark, "show", show)(name, rows, console)
        console.print(f"written to {write(name, rows, OUT).relative_to(OUT.parent.parent)}\n")
        holds = holds and all(row.holds for row in rows)
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
