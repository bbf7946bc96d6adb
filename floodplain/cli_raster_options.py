"""Options that the raster commands share, and what they mean together: GDAL's settings and the two pools."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

if TYPE_CHECKING:
    from floodplain.problem import Problem
    from floodplain.raster.calibration import Calibration
    from floodplain.raster.routed import Ground
    from floodplain.raster.tile_line import Asked

DONE, FAILED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130

Sized = Annotated[str | None, typer.Option("--size", help="Destination in pixels.", metavar="WIDTHxHEIGHT")]
Bands = Annotated[str | None, typer.Option(help="Only the first that many bands.", metavar="COUNT")]
Dtype = Annotated[str | None, typer.Option(help="Of what is made; default: the widest of the bands.", metavar="NAME")]
Resampling = Annotated[str, typer.Option(help="rasterio's name, such as bilinear or cubic.", metavar="NAME")]
Way = Annotated[str, typer.Option(help="vrt, band, array or read: how the task gets its pixels.", metavar="WAY")]
Masked = Annotated[bool, typer.Option("--masked", help="The task reads masks too.")]
WarpMemory = Annotated[str, typer.Option(help="warp_mem_limit of the task.", metavar="SIZE")]
Threads = Annotated[int, typer.Option(min=1, max=1024, help="Threads of one warp.", metavar="COUNT")]
Factor = Annotated[float, typer.Option(min=0.1, max=100, help="Calibration: what the estimate is multiplied by.")]
History = Annotated[
    list[str] | None,
    typer.Option(
        help="Records of measured tasks (peaks.jsonl), for the factor of --layer; may be repeated.", metavar="FILE"
    ),
]
Layer = Annotated[str | None, typer.Option(help="The kind of task in --history.", metavar="NAME")]
Sidecars = Annotated[
    bool, typer.Option("--sidecars", help="Look for .ovr, .msk and .aux.xml too, at the price of more requests.")
]
PoolsFile = Annotated[
    str | None, typer.Option(help="raster.json of WorkerPools; the options below go before it.", metavar="FILE")
]
Slots = Annotated[int | None, typer.Option(help="Tasks at once in a small worker; default 8.", metavar="COUNT")]
SmallMemory = Annotated[str | None, typer.Option(help="Limit of a small worker; default 8Gi.", metavar="SIZE")]
BigMemory = Annotated[str | None, typer.Option(help="Limit of the big worker; default 16Gi.", metavar="SIZE")]
Baseline = Annotated[str | None, typer.Option(help="Of a warmed-up process that waits; default 104Mi.", metavar="SIZE")]
Cache = Annotated[str | None, typer.Option(help="GDAL_CACHEMAX of a process; default 64Mi.", metavar="SIZE")]
Processes = Annotated[int | None, typer.Option(help="Of a small worker; default 1.", metavar="COUNT")]
Agent = Annotated[str | None, typer.Option(help="What else runs in the pod; default 0.", metavar="SIZE")]
Threshold = Annotated[str | None, typer.Option(help="Default: half the slot budget.", metavar="SIZE")]

_SHARE = re.compile(r"0?\.[0-9]+")

OPTIONS = {
    "slots": "--slots",
    "small_limit_bytes": "--small-memory",
    "big_limit_bytes": "--big-memory",
    "baseline_bytes": "--baseline",
    "cache_bytes": "--cache",
    "processes": "--processes",
    "agent_bytes": "--agent",
    "given_threshold_bytes": "--threshold",
}


@dataclass(frozen=True)
class PoolFlags:
    """The pools as options give them; None: left out."""

    pools_file: str | None = None
    slots: int | None = None
    small_limit_bytes: str | None = None
    big_limit_bytes: str | None = None
    baseline_bytes: str | None = None
    cache_bytes: str | None = None
    processes: int | None = None
    agent_bytes: str | None = None
    given_threshold_bytes: str | None = None


@dataclass(frozen=True)
class TaskFlags:
    """Settings of tasks as options give them."""

    resampling: str
    way: str
    masked: bool
    warp_memory: str
    threads: int
    factor: float
    history: Sequence[str] | None = None
    layer: str | None = None
    on_failure: str = "fail"
    layer_of_line: bool = False
    """A line of a list may name its layer."""


def ground_of(tasks: TaskFlags, flags: PoolFlags) -> Ground:
    """What estimates are made with. Ends the command with status 2 after telling everything that is wrong."""
    from floodplain.problem import ProblemsError, did_you_mean
    from floodplain.raster.pools_file import two_pools
    from floodplain.raster.route import OnFailure
    from floodplain.raster.routed import Ground
    from floodplain.raster.task import GdalSettings
    from floodplain.raster.tile_line import read_asked

    try:
        import rasterio  # noqa: F401
    except ModuleNotFoundError:
        typer.echo("The command needs rasterio: pip install 'floodplain[raster]'", err=True)
        raise typer.Exit(FAILED) from None
    told: list[str] = []
    in_file, own = _in_file(flags, told), _own(flags, told)
    warp_memory = _size("--warp-memory", tasks.warp_memory, told)
    asked = None
    try:
        asked = read_asked({"resampling": tasks.resampling, "way": tasks.way})
    except ProblemsError as error:
        told += [str(replace(problem, path=f"--{problem.path}")) for problem in error.problems]
    if tasks.on_failure not in tuple(OnFailure):
        remedy = did_you_mean(tasks.on_failure, OnFailure) or f"write {' or '.join(OnFailure)}"
        told.append(f"--on-failure: {tasks.on_failure!r} is not known; {remedy}")
    told += _calibrated_wrongly(tasks)
    if told:
        bad(*told)
    try:
        pools = two_pools(in_file, own)
    except ProblemsError as error:
        bad(*(_named(problem, flags, in_file, own) for problem in error.problems))
    assert asked is not None and asked.way is not None and asked.resampling is not None and warp_memory is not None
    settings = GdalSettings(
        cache_bytes=pools.cache_bytes,
        warp_memory_bytes=warp_memory,
        resampling=asked.resampling,
        threads=tasks.threads,
        way=asked.way,
        masked=tasks.masked,
    )
    calibration = _calibration(tasks) if tasks.history else None
    return Ground(settings, pools, tasks.factor, OnFailure(tasks.on_failure), calibration, tasks.layer)


def _calibrated_wrongly(tasks: TaskFlags) -> list[str]:
    if not tasks.history:
        return ["--layer: goes with --history; name the file with its measured tasks"] if tasks.layer else []
    told = []
    if tasks.factor != 1:
        told.append("--factor: does not go with --history, which gives a factor; leave one of them out")
    if tasks.layer is None and not tasks.layer_of_line:
        told.append("--history: needs --layer, the kind of task; factors are by layer")
    return told


def _calibration(tasks: TaskFlags) -> Calibration:
    from floodplain.cli_plan_files import FileError
    from floodplain.cli_raster_history import read_calibration

    try:
        return read_calibration(tasks.history or (), tasks.layer)
    except FileError as error:
        bad(str(error))


def asked_of(given: Mapping[str, str | None]) -> Asked:
    """What of a raster options ask for. Ends the command with status 2 after telling everything that is wrong."""
    from floodplain.problem import ProblemsError
    from floodplain.raster.tile_line import read_asked

    try:
        return read_asked(given)
    except ProblemsError as error:
        bad(
            *(
                str(replace(one, path=" and ".join(f"--{key}" for key in one.path.split(" and "))))
                for one in error.problems
            )
        )


def bad(*messages: str) -> NoReturn:
    """Tell what is wrong with the options, and end."""
    for message in messages:
        typer.echo(message, err=True)
    raise typer.Exit(BAD_INPUT)


def _in_file(flags: PoolFlags, told: list[str]) -> dict[str, int]:
    from floodplain.cli_plan_files import FileError
    from floodplain.cli_raster_files import read_file
    from floodplain.raster.pools_file import read_pools_file

    if flags.pools_file is None:
        return {}
    try:
        return read_file("--pools-file", flags.pools_file, read_pools_file).given
    except FileError as error:
        told.append(str(error))
        return {}


def _own(flags: PoolFlags, told: list[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for field, option in OPTIONS.items():
        value = getattr(flags, field)
        if option == "--threshold" and isinstance(value, str) and _SHARE.fullmatch(value):
            told.append(
                f"{option}: {value!r} is a share; write the size that `raster workers --threshold {value}` prints"
            )
            continue
        count = _size(option, value, told) if isinstance(value, str) else value
        if count is not None:
            found[field] = count
    return found


def _size(option: str, text: str, told: list[str]) -> int | None:
    from floodplain.problem import RuleError
    from floodplain.raster.pools_file import size_bytes, size_problem

    try:
        count = size_bytes(text)
    except RuleError as error:
        told.append(f"{option}: {error}")
        return None
    problem = size_problem(option, count, text)
    told += [problem] if problem else []
    return count


def _named(problem: Problem, flags: PoolFlags, in_file: Mapping[str, int], own: Mapping[str, int]) -> str:
    """By the option, or by the file and its key where the figure is from there."""
    option = OPTIONS.get(problem.path, problem.path)
    if problem.path in in_file and problem.path not in own:
        option = f"--pools-file: {flags.pools_file}: {problem.path}"
    return str(in_quantities(replace(problem, path=option), problem.path))


def in_quantities(problem: Problem, field: str) -> Problem:
    """A problem of bytes as people write them: 8Gi. `field` says what it counts."""
    from floodplain.quantity import from_bytes

    counts_bytes = field.endswith("_bytes") and isinstance(problem.value, int) and problem.value > 0
    return replace(problem, value=from_bytes(problem.value)) if counts_bytes else problem
