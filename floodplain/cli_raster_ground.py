"""What the options of raster commands mean together: GDAL's settings, two pools, a calibration. Edge: reads files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from floodplain.cli_raster_options import POOL_OPTIONS, PoolFlags, TargetFlags, TaskFlags, given
from floodplain.cli_raster_status import bad, failed

if TYPE_CHECKING:
    from floodplain.problem import Problem
    from floodplain.raster.calibration import Calibration
    from floodplain.raster.routed import Ground
    from floodplain.raster.tile_line import Asked

_SHARE = re.compile(r"0?\.[0-9]+")


def ground_of(tasks: TaskFlags, flags: PoolFlags, *, on_failure: str = "fail", layer_of_line: bool = False) -> Ground:
    """What estimates are made with. Ends the command after telling everything that is wrong.

    `layer_of_line`: a line of a list may name its layer.
    """
    from floodplain.problem import ProblemsError, did_you_mean
    from floodplain.raster.pools_file import two_pools
    from floodplain.raster.route import OnFailure
    from floodplain.raster.routed import Ground
    from floodplain.raster.task import GdalSettings
    from floodplain.raster.tile_line import read_asked

    try:
        import rasterio  # noqa: F401
    except ModuleNotFoundError:
        failed("The command needs rasterio: pip install 'floodplain[raster]'")
    told: list[str] = []
    unread: list[str] = []
    in_file, own = _in_file(flags, unread), _own(flags, told)
    warp_memory = _size("--warp-memory", tasks.warp_memory, told)
    asked = None
    try:
        asked = read_asked({"resampling": tasks.resampling, "way": tasks.way})
    except ProblemsError as error:
        told += [str(replace(problem, path=f"--{problem.path}")) for problem in error.problems]
    if on_failure not in tuple(OnFailure):
        remedy = did_you_mean(on_failure, OnFailure) or f"write {' or '.join(OnFailure)}"
        told.append(f"--on-failure: {on_failure!r} is not known; {remedy}")
    if tasks.native_vrt and asked is not None and asked.way != "vrt":
        told.append(f"--native-vrt: does not go with --way {asked.way}, which warps no VRT; leave it out")
    told += _calibrated_wrongly(tasks, layer_of_line)
    if told:
        bad(*unread, *told)
    if unread:
        failed(*unread)
    try:
        pools = two_pools(in_file, own)
    except ProblemsError as error:
        end = failed if all(_of_file(problem, in_file, own) for problem in error.problems) else bad
        end(*(_named(problem, flags, in_file, own) for problem in error.problems))
    assert asked is not None and asked.way is not None and asked.resampling is not None and warp_memory is not None
    settings = GdalSettings(
        cache_bytes=pools.cache_bytes,
        warp_memory_bytes=warp_memory,
        resampling=asked.resampling,
        threads=tasks.threads,
        way=asked.way,
        masked=tasks.masked,
        native_vrt=tasks.native_vrt,
    )
    calibration = _calibration(tasks) if tasks.history else None
    return Ground(settings, pools, tasks.factor, OnFailure(on_failure), calibration, tasks.layer)


def _calibrated_wrongly(tasks: TaskFlags, layer_of_line: bool) -> list[str]:
    if not tasks.history:
        return ["--layer: goes with --history; name the file with its measured tasks"] if tasks.layer else []
    told = []
    if tasks.factor != 1:
        told.append("--factor: does not go with --history, which gives a factor; leave one of them out")
    if tasks.layer is None and not layer_of_line:
        told.append("--history: needs --layer, the kind of task; factors are by layer")
    return told


def _calibration(tasks: TaskFlags) -> Calibration:
    from floodplain.cli_plan_files import FileError
    from floodplain.cli_raster_history import read_calibration
    from floodplain.problem import Problem, RuleError

    try:
        return read_calibration(tasks.history or (), tasks.layer)
    except FileError as error:
        failed(str(error))
    except RuleError as error:
        bad(str(Problem("--layer", error.rule, error.remedy, error.value)))


def asked_of(target: TargetFlags) -> Asked:
    """What of a raster options ask for. Ends the command with status 2 after telling everything that is wrong."""
    from floodplain.problem import ProblemsError
    from floodplain.raster.routed import crs_problem
    from floodplain.raster.tile_line import read_asked

    try:
        asked = read_asked(asdict(target))
    except ProblemsError as error:
        names = (" and ".join(f"--{key}" for key in one.path.split(" and ")) for one in error.problems)
        bad(*(str(replace(one, path=name)) for one, name in zip(error.problems, names, strict=True)))
    if asked.crs is not None and (problem := crs_problem(asked.crs)) is not None:
        bad(f"--crs: {problem}")
    return asked


def _in_file(flags: PoolFlags, unread: list[str]) -> dict[str, int]:
    from floodplain.cli_plan_files import FileError
    from floodplain.cli_raster_files import read_file
    from floodplain.raster.pools_file import read_pools_file

    if flags.pools_file is None:
        return {}
    try:
        return read_file("--pools-file", flags.pools_file, read_pools_file).given
    except FileError as error:
        unread.append(str(error))
        return {}


def _own(flags: PoolFlags, told: list[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for field, option in POOL_OPTIONS.items():
        value = given(flags, option)
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
    from floodplain.raster.pools_file import option_bytes

    try:
        return option_bytes(text)
    except RuleError as error:
        told.append(f"{option}: {error}")
        return None


def _of_file(problem: Problem, in_file: Mapping[str, int], own: Mapping[str, int]) -> bool:
    return problem.path in in_file and problem.path not in own


def _named(problem: Problem, flags: PoolFlags, in_file: Mapping[str, int], own: Mapping[str, int]) -> str:
    """By the option, or by the file and its key where the figure is from there."""
    option = POOL_OPTIONS.get(problem.path, problem.path)
    if _of_file(problem, in_file, own):
        option = f"--pools-file: {flags.pools_file}: {problem.path}"
    return str(in_quantities(replace(problem, path=option), problem.path))


def in_quantities(problem: Problem, field: str) -> Problem:
    """A problem of bytes as people write them: 8Gi. `field` says what it counts."""
    from floodplain.quantity import from_bytes

    counts_bytes = field.endswith("_bytes") and isinstance(problem.value, int) and problem.value > 0
    return replace(problem, value=from_bytes(problem.value)) if counts_bytes else problem
