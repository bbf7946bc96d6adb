"""`floodplain plan`: from an image count to limit, request and node. Edge: reads arguments, prints.

Whatever plans is imported inside the functions, so that `--help` stays fast. Exit status: see the command's help.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

if TYPE_CHECKING:
    from floodplain.cli_plan_files import Ground
    from floodplain.problem import Problem
    from floodplain.sizing.plan import Plan
    from floodplain.sizing.workload import Workload

FEASIBLE, UNREADABLE, BAD_INPUT, INFEASIBLE = 0, 1, 2, 3
"""Exit status. Of several the first that applies: unreadable, infeasible."""

_STATUS = (
    "Exit status: 0 feasible, 3 not feasible, 2 bad input, 1 a file that cannot be read, understood or written, "
    "or a bad line of --images-file."
)
_HELP = "Plan a job before it runs: limit, request and node from what is known about it."
_OPTIONS = {
    "images": "--images",
    "options": "--option",
    "megapixels": "--megapixels",
    "peak": "--peak",
    "estimate": "--estimate",
    "capacityType": "--capacity-type",
    "deadlineSeconds": "--deadline",
}
_REMEDIES = {
    "--megapixels": "write the megapixels of one image, such as 20",
    "--capacity-type": "write spot, on-demand or reserved, or leave it out",
    "--deadline": "write a duration such as 24h, or leave it out",
    "--estimate": "write a few words, or leave it out",
}
plan = typer.Typer(help=_HELP, no_args_is_help=True)


@plan.callback()
def _root() -> None:
    """Plan a job before it runs: limit, request and node from what is known about it."""


PoolsFile = Annotated[
    str | None,
    typer.Option(help="Pool documents; default: FLOODPLAIN_POOLS, else an example pool.", metavar="FILE"),
]
SettingsFile = Annotated[
    str | None, typer.Option(help="Sizing settings as JSON; default: FLOODPLAIN_SETTINGS.", metavar="FILE")
]


@plan.command("odm", epilog=_STATUS)
def plan_odm(
    images: Annotated[str | None, typer.Option(help="How many images the job reads.", metavar="COUNT")] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(help="Option of ODM, such as dsm or pc-quality=high; may be repeated.", metavar="NAME[=VALUE]"),
    ] = None,
    megapixels: Annotated[str | None, typer.Option(help="Of one image.", metavar="NUMBER")] = None,
    capacity_type: Annotated[
        str | None, typer.Option(help="spot, on-demand or reserved; default: the plan decides.", metavar="TYPE")
    ] = None,
    deadline: Annotated[
        str | None, typer.Option(help="After which the job is ended, such as 24h.", metavar="DURATION")
    ] = None,
    pools: PoolsFile = None,
    settings: SettingsFile = None,
    compatibility: Annotated[
        str | None, typer.Option(help="Size as another planner does: scaleodm.", metavar="PLANNER")
    ] = None,
    prices: Annotated[
        str | None,
        typer.Option(
            help="Prices; default: FLOODPLAIN_PRICES, else what `floodplain catalogue refresh --prices` wrote.",
            metavar="FILE",
        ),
    ] = None,
    images_file: Annotated[
        str | None,
        typer.Option(
            help="Plan many jobs: a count or a JSON object (images, options, megapixels) a line; - reads stdin. "
            "Prints a JSON object a line.",
            metavar="FILE",
        ),
    ] = None,
    chart: Annotated[str | None, typer.Option(help="Draw images against memory, as SVG.", metavar="FILE")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the plan as JSON.")] = False,
) -> None:
    """Plan a photogrammetry job of OpenDroneMap: peak, limit, request, swap, instance types and cost."""
    from floodplain.cli_plan_files import FileError

    if images is None and images_file is None:
        _bad("--images: is required; write how many images the job reads, or name a file of counts with --images-file")
    for name, given in (("--images", images), ("--chart", chart)):
        if given is not None and images_file is not None:
            _bad(f"{name}: {given!r} does not go with --images-file; leave one of them out")
    known, problems = _known(option, megapixels, capacity_type, deadline)
    problems += _unknown_planner(compatibility)
    # With a file of counts any good one: the rest is checked before the file is read.
    workload, more = _workload({"images": 1 if images is None else images, **known})
    if workload is None or problems:
        _bad("\n".join([*more, *problems]))
    try:
        ground = _ground(pools, settings, prices, compatibility)
        if images_file is not None:
            status = _plan_lines(images_file, known, ground)
        else:
            status = _plan_one(workload, ground, chart, as_json=as_json)
    except FileError as error:
        typer.echo(str(error), err=True)
        status = UNREADABLE
    raise typer.Exit(status)


@plan.command("raster", epilog="Exit status: 0 feasible, 3 not feasible, 2 bad input, 1 a file that cannot be read.")
def plan_raster(
    peak: Annotated[
        str,
        typer.Option(help="The most the container will hold, baseline of the process included.", metavar="QUANTITY"),
    ],
    estimate: Annotated[str | None, typer.Option(help="How that was found; only shown.", metavar="TEXT")] = None,
    capacity_type: Annotated[
        str | None, typer.Option(help="spot, on-demand or reserved; default: the plan decides.", metavar="TYPE")
    ] = None,
    deadline: Annotated[
        str | None, typer.Option(help="After which the task is ended, such as 1h.", metavar="DURATION")
    ] = None,
    pools: PoolsFile = None,
    settings: SettingsFile = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the plan as JSON.")] = False,
) -> None:
    """Plan a raster task whose peak `floodplain raster estimate` has found: limit, request, swap and instance types."""
    from floodplain.cli_plan_files import FileError

    known, problems = _known(None, None, capacity_type, deadline)
    if estimate is not None:
        known["estimate"] = estimate
    workload, more = _workload({"engine": "raster", "peak": peak, **known})
    if workload is None or problems:
        _bad("\n".join([*more, *problems]))
    try:
        status = _plan_one(workload, _ground(pools, settings, None, None), None, as_json=as_json)
    except FileError as error:
        typer.echo(str(error), err=True)
        status = UNREADABLE
    raise typer.Exit(status)


def _known(
    option: Sequence[str] | None, megapixels: str | None, capacity_type: str | None, deadline: str | None
) -> tuple[dict[str, Any], list[str]]:
    """What the arguments say beside the count, by the names of Workload, and what is wrong with them."""
    from floodplain.duration import DurationError, parse

    known: dict[str, Any] = {"megapixels": megapixels, "capacity_type": capacity_type}
    problems: list[str] = []
    if option:
        known["options"] = [part for text in option for part in _parts(text)]
    if deadline is not None:
        try:
            known["deadline_seconds"] = parse(deadline)
        except DurationError as error:
            problems.append(f"--deadline: {error}")
    return {name: value for name, value in known.items() if value is not None}, problems


def _parts(text: str) -> list[str]:
    """`dsm,dtm` is two options; a comma in the value of one that takes text (a boundary) is its own."""
    from floodplain.sizing.odm.options import KINDS

    name = text.partition("=")[0].strip().removeprefix("--")
    return [text] if KINDS.get(name) == "text" else text.split(",")


def _workload(given: Mapping[str, Any]) -> tuple[Workload | None, list[str]]:
    from pydantic import ValidationError

    from floodplain.problem import problems_of
    from floodplain.sizing.workload import Workload

    try:
        return Workload.model_validate(given), []
    except ValidationError as error:
        return None, [str(_as_option(problem)) for problem in problems_of(error, Workload)]


def _as_option(problem: Problem) -> Problem:
    """The problem by the name of the option instead of the setting's."""
    name = _OPTIONS.get(re.split(r"[.\[]", problem.path)[0], problem.path)
    return replace(problem, path=name, remedy=_REMEDIES.get(name, problem.remedy))


def _unknown_planner(compatibility: str | None) -> list[str]:
    from floodplain.sizing.settings import Compatibility

    known = [one.value for one in Compatibility]
    if compatibility is None or compatibility in known:
        return []
    return [f"--compatibility: {compatibility!r} is no planner that can be followed; known: {', '.join(known)}"]


def _ground(pools: str | None, settings: str | None, prices: str | None, following: str | None) -> Ground:
    from floodplain.cli_plan_files import read_ground
    from floodplain.sizing.settings import Compatibility

    ground = read_ground(pools, settings, prices)
    if following is None:
        return ground
    followed = ground.settings.model_copy(update={"compatibility": Compatibility(following)})
    return replace(ground, settings=followed)


def _plan(workload: Workload, ground: Ground) -> Plan:
    from floodplain.sizing.planner import make_plan

    return make_plan(workload, ground.pools, settings=ground.settings, prices=ground.prices)


def _plan_one(workload: Workload, ground: Ground, chart: str | None, *, as_json: bool) -> int:
    from floodplain.cli_plan_files import shown, write_text
    from floodplain.cli_plan_screen import print_plan
    from floodplain.console import console
    from floodplain.sizing.explain import explain

    made = _plan(workload, ground)
    if chart is not None:
        from floodplain.sizing.chart import chart_svg

        write_text("--chart", chart, chart_svg(workload, ground.pools, ground.settings, marked=made))
    if as_json:
        _tell_example(ground)
        typer.echo(made.model_dump_json(indent=2))
    else:
        told = explain(made, priced=ground.prices is not None)
        remarks = (_EXAMPLE,) if ground.example else ()
        print_plan(console(), told, feasible=made.feasible, remarks=remarks)
        if chart is not None:
            typer.echo(f"\nChart: {shown(chart)}")
    return FEASIBLE if made.feasible else INFEASIBLE


def _plan_lines(path: str, known: Mapping[str, Any], ground: Ground) -> int:
    """Plan every line that holds a job, and tell those that hold none."""
    from floodplain.cli_plan_files import FileError, opened_lines, shown
    from floodplain.sizing.images_file import LineError, job_of_line

    _tell_example(ground)
    seen: set[int] = set()
    with opened_lines("--images-file", path) as lines:
        for number, line in enumerate(lines, start=1):
            try:
                workload = job_of_line(line, number, known)
            except LineError as error:
                seen.add(UNREADABLE)
                for problem in error.problems:
                    typer.echo(f"--images-file: {shown(path)}: {problem}", err=True)
                continue
            if workload is not None:
                made = _plan(workload, ground)
                seen.add(FEASIBLE if made.feasible else INFEASIBLE)
                typer.echo(made.model_dump_json())
    if not seen:
        raise FileError(f"--images-file: {shown(path)} has no job; write a count of images a line")
    return next(status for status in (UNREADABLE, INFEASIBLE, FEASIBLE) if status in seen)


_EXAMPLE = "Planned for the example pool of this release: neither --pools nor FLOODPLAIN_POOLS names a file."


def _tell_example(ground: Ground) -> None:
    if ground.example:
        typer.echo(_EXAMPLE, err=True)


def _bad(message: str) -> NoReturn:
    typer.echo(message, err=True)
    raise typer.Exit(BAD_INPUT)
