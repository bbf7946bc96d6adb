"""The command `floodplain`. Edge: reads arguments, prints; every answer is computed elsewhere.

Whatever a subcommand needs is imported inside it, so that `--help` stays fast.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

from floodplain.standard_output import guarded

try:
    import typer

    from floodplain.cli_backtest import STATUS as BACKTEST_STATUS
    from floodplain.cli_backtest import backtest
    from floodplain.cli_doctor import STATUS as DOCTOR_STATUS
    from floodplain.cli_doctor import doctor
    from floodplain.cli_measure import CONTEXT as MEASURE_CONTEXT
    from floodplain.cli_measure import STATUS as MEASURE_STATUS
    from floodplain.cli_measure import measure
    from floodplain.cli_plan import plan
    from floodplain.cli_raster import raster
    from floodplain.cli_serve import serve
except ModuleNotFoundError as missing:  # the library alone does not bring the command's packages
    raise SystemExit("The command needs typer, rich and boto3: pip install 'floodplain[cli]'") from missing

if TYPE_CHECKING:
    from floodplain.catalogue.refresh import Changes
    from floodplain.swap import TypeFit

app = typer.Typer(
    name="floodplain",
    help="Places for the memory peaks of batch jobs.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
catalogue = typer.Typer(help="Instance types with local NVMe.", no_args_is_help=True)
app.add_typer(catalogue, name="catalogue")
app.add_typer(plan, name="plan")
app.add_typer(serve, name="serve")
app.add_typer(raster, name="raster")
app.command("measure", epilog=MEASURE_STATUS, context_settings=MEASURE_CONTEXT)(measure)
app.command("doctor", epilog=DOCTOR_STATUS)(doctor)
app.command("backtest", epilog=BACKTEST_STATUS)(backtest)

_IMAGES = "20Gi"
_PER_MEMORY = 1.0


@app.callback()
def _root() -> None:
    """Places for the memory peaks of batch jobs."""


@catalogue.command("refresh")
def catalogue_refresh(
    region: Annotated[str | None, typer.Option(help="AWS region; default: from the environment.")] = None,
    output: Annotated[
        Path | None, typer.Option(help="File to write; default: the table this installation reads.")
    ] = None,
    prices: Annotated[
        bool, typer.Option("--prices", help="Read what the types cost instead, for `floodplain plan`.")
    ] = False,
) -> None:
    """Read the instance types of a region from EC2 and write them as a table. Prints what changed."""
    from floodplain.catalogue.refresh import RefreshError

    for name, given in (("--region", region), ("AWS_DEFAULT_REGION", os.environ.get("AWS_DEFAULT_REGION"))):
        # boto3 would make an address of it that is none.
        if given is not None and not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", given):
            _fail(f"{name}: {given!r} is no region; name one, such as eu-central-1")
        if given is not None:
            break
    try:
        lines = _prices_lines(output, region) if prices else _types_lines(output, region)
    except RefreshError as error:
        _fail(str(error))
    except ValueError as error:
        _fail(f"AWS cannot be asked with these settings ({error}); check the region and the profile")
    for line in lines:
        typer.echo(line)


@catalogue.command("show")
def catalogue_show(
    family: Annotated[list[str] | None, typer.Option(help="Only this family; may be repeated.")] = None,
    swap_ratio: Annotated[float, typer.Option(min=0, max=64, help="Swap / memory that is wanted.")] = 2,
    per_memory: Annotated[
        float, typer.Option(min=0, help="Ephemeral storage that pods may ask per byte of memory.")
    ] = _PER_MEMORY,
    images: Annotated[str, typer.Option(help="Disk kept for container images.")] = _IMAGES,
) -> None:
    """Show virtual instance types, what Karpenter lets pods have, and the largest swap ratio each disk holds."""
    from floodplain.catalogue import load
    from floodplain.problem import RuleError, did_you_mean
    from floodplain.quantity import QuantityError, to_bytes
    from floodplain.swap import type_fit

    try:
        kinds = load()
    except (OSError, ValueError) as error:
        _fail(f"{error}\nWrite the table anew with `floodplain catalogue refresh`, or install floodplain again.")
    known = sorted({kind.family for kind in kinds})
    for wanted in family or ():
        if wanted not in known:
            hint = did_you_mean(wanted, known, most=3) or f"known: {', '.join(known)}"
            _fail(f"--family: {wanted!r} is no family with local NVMe; {hint}")
    try:
        images_bytes = to_bytes(images)
    except QuantityError as error:
        _fail(f"--images: {error}")
    try:
        fits = [
            type_fit(kind, ratio=swap_ratio, ephemeral_per_memory=per_memory, images_bytes=images_bytes)
            for kind in kinds
            if not kind.metal and (not family or kind.family in family)
        ]
    except RuleError as error:
        _fail(f"{error.value} {error}")
    _print_fits(
        fits,
        "For pods: allocatable by Karpenter's estimate. k: the largest swap / memory beside "
        f"{per_memory:g} x memory of ephemeral storage and {images} of images, "
        f"in 85 % of the disk. Red and marked: {swap_ratio:g} does not fit.",
    )


def _print_fits(fits: list[TypeFit], caption: str) -> None:
    import math

    from rich.table import Table

    from floodplain.catalogue import allocatable
    from floodplain.console import console
    from floodplain.quantity import MIB

    table = Table(caption=caption, caption_justify="left")
    table.add_column("Type", no_wrap=True)
    for heading in ("vCPU", "RAM GiB", "NVMe GB", "For pods MiB", "k"):
        table.add_column(heading, justify="right", no_wrap=True)
    for fit in fits:
        kind = fit.kind
        # Cut, not rounded: the figure shown must fit.
        largest = f"{math.floor(fit.largest_ratio * 100) / 100:.2f}"
        table.add_row(
            kind.name,
            str(kind.vcpu),
            f"{kind.memory_mib / 1024:g}",
            str(kind.nvme_gb),
            str(allocatable(kind).memory_bytes // MIB),
            largest if fit.fits else "HDD no" if fit.spinning else f"{largest} no",
            style=None if fit.fits else "red",
        )
    console().print(table)


def _types_lines(output: Path | None, region: str | None) -> list[str]:
    from floodplain.catalogue.refresh import default_output, refresh

    target = output or default_output()
    changes = refresh(target, region)
    counts = f"{len(changes.added)} added, {len(changes.removed)} removed, {len(changes.changed)} changed"
    return [*_change_lines(changes), f"{target}: {counts}"]


def _prices_lines(output: Path | None, region: str | None) -> list[str]:
    from datetime import UTC, datetime

    from floodplain.catalogue.refresh_prices import default_prices, refresh_prices

    target = output or default_prices()
    reading = refresh_prices(target, datetime.now(UTC), region)
    priced = f"{len(reading.on_demand)} on-demand and {len(reading.spot)} spot prices of {reading.region}"
    lacking = len(reading.unpriced)
    return [f"{target}: {priced}" + (f"; types of the catalogue without a price there: {lacking}" if lacking else "")]


def _change_lines(changes: Changes) -> list[str]:
    lines = [f"+ {name}" for name in changes.added]
    lines += [f"- {name}" for name in changes.removed]
    for one in changes.changed:
        values = ", ".join(f"{column} {_text(old)} -> {_text(new)}" for column, old, new in one.values)
        lines.append(f"~ {one.name}: {values}")
    return lines


def _text(value: object) -> str:
    return "(none)" if value in (None, "") else str(value)


def _fail(message: str) -> NoReturn:
    typer.echo(message, err=True)
    raise typer.Exit(1)


def main() -> None:
    """Entry point of the console script."""
    guarded(app)


if __name__ == "__main__":
    main()
