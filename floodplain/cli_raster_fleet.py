"""`floodplain raster workers` and `raster bill`: from measured peaks to a worker and a bill. Edge: reads, prints.

Whatever computes is imported inside the functions, so that `--help` stays fast.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, TypeVar

import typer

from floodplain.cli_raster import raster
from floodplain.cli_raster_status import bad, failed
from floodplain.grouped_options import grouped

if TYPE_CHECKING:
    from floodplain.problem import Problem
    from floodplain.raster.memory_price import MemoryPrice
    from floodplain.raster.record import Record
    from floodplain.raster.sized_worker import Wishes
    from floodplain.sizing.explain import Explanation

_Answer = TypeVar("_Answer")
_MOST_COUNT = 10_000
_OPTIONS = {
    "slots": "--slots",
    "processes": "--processes",
    "limit_bytes": "--memory",
    "small_limit_bytes": "--memory",
    "baseline_bytes": "--baseline",
    "cache_bytes": "--cache",
    "cache_in_marginal_bytes": "--cache-in-peak",
    "agent_bytes": "--agent",
    "headroom": "--headroom",
    "threshold_share": "--threshold",
    "quantile": "--quantile",
    "workers": "--workers",
    "layer": "--layer",
}

History = Annotated[
    list[str],
    typer.Option(help="Records of measured tasks, one a line (peaks.jsonl); may be repeated.", metavar="FILE"),
]
Layer = Annotated[str | None, typer.Option(help="Only this kind of task; default: the one with the largest peaks.")]
Slots = Annotated[str | None, typer.Option(help="Tasks at once in a worker; default: 8.", metavar="COUNT")]
AsJson = Annotated[bool, typer.Option("--json", help="Print everything as JSON, in bytes.")]

_STATUS = (
    "Exit status: 0 answered, 1 a file cannot be read, understood or written, or its tasks say nothing, 2 bad options."
)


@dataclass(frozen=True)
class WorkerFlags:
    """The worker, and what of the history it is sized for."""

    processes: Annotated[
        str, typer.Option(help="Processes of a worker: 1 with threads, `each` for one a slot.", metavar="COUNT")
    ] = "1"
    baseline: Annotated[
        str | None,
        typer.Option(help="Of one process before any task; default: the largest of the history.", metavar="SIZE"),
    ] = None
    cache: Annotated[str, typer.Option(help="GDAL's block cache of each process.", metavar="SIZE")] = "64Mi"
    cache_in_peak: Annotated[
        str, typer.Option(help="What of a measured peak is block cache, where that is known.", metavar="SIZE")
    ] = "0"
    agent: Annotated[str, typer.Option(help="What else runs in the worker's pod.", metavar="SIZE")] = "0"
    headroom: Annotated[float, typer.Option(help="On the peaks, not on the cache.", metavar="FACTOR")] = 1.3
    threshold: Annotated[
        float, typer.Option(help="Share of a slot above which an estimate goes to the big worker.", metavar="SHARE")
    ] = 0.5
    quantile: Annotated[
        float, typer.Option(help="Of the peaks, that slots are sized for: 0.99 is the p99.", metavar="SHARE")
    ] = 0.99


@raster.command("workers", epilog=_STATUS)
@grouped
def workers(
    history: History,
    *,
    layer: Layer = None,
    slots: Slots = None,
    memory: Annotated[
        str | None, typer.Option(help="Instead of slots: as many as this memory holds.", metavar="SIZE")
    ] = None,
    flags: WorkerFlags,
    as_json: AsJson = False,
) -> None:
    """Size a worker from measured peaks: slots, memory with its arithmetic, threshold, GDAL cache, warnings."""
    from floodplain.raster.sized_worker import size_worker
    from floodplain.raster.worker_told import document, next_steps, told

    if slots is not None and memory is not None:
        bad("--memory: does not go with --slots: each follows from the other; leave one of them out")
    wishes = _wishes(slots, memory, flags)
    records = _records(history)
    sized = _answered(lambda: size_worker(records, wishes, layer=layer))
    if as_json:
        _print_json(document(sized))
        return
    _print(told(sized), good=not sized.warnings)
    for line in ("", *next_steps(sized)):
        typer.echo(line)


@raster.command("bill", epilog=_STATUS)
@grouped
def bill(
    history: History,
    *,
    layer: Layer = None,
    slots: Slots = None,
    workers: Annotated[str, typer.Option(help="Workers of many slots, in both ways.", metavar="COUNT")] = "1",
    flags: WorkerFlags,
    price: Annotated[
        float | None, typer.Option(help="US dollars for a GiB of memory for an hour.", metavar="USD")
    ] = None,
    prices: Annotated[
        str | None,
        typer.Option(
            help="Table of instance prices to take it from; default: FLOODPLAIN_PRICES, else what "
            "`floodplain catalogue refresh --prices` wrote.",
            metavar="FILE",
        ),
    ] = None,
    plot: Annotated[str | None, typer.Option(help="Draw the distribution of peaks, as SVG.", metavar="FILE")] = None,
    as_json: AsJson = False,
) -> None:
    """The fleet's bill for a history: sized for the largest input at full concurrency, against two pools."""
    from floodplain.cli_plan_files import FileError, shown, write_text
    from floodplain.raster.bill import at_higher_threshold, make_bill
    from floodplain.raster.bill_chart import bill_lines, bill_svg
    from floodplain.raster.bill_told import document, told

    wishes = _wishes(slots, None, flags)
    count = _count("--workers", workers)
    records = _records(history)
    try:
        rate = _price(price, prices)
        made = _answered(lambda: make_bill(records, wishes, workers=count, layer=layer))
        higher = _answered(lambda: at_higher_threshold(records, wishes, workers=count, layer=layer))
        if plot is not None:
            write_text("--plot", plot, bill_svg(made))
    except FileError as error:
        failed(str(error))
    if as_json:
        _print_json(document(made, rate, higher))
        return
    _print(told(made, rate, higher), good=not made.over_slot and not made.sized.warnings)
    typer.echo("\nTasks by peak beyond the baseline (? only a lower bound is known)")
    for line in bill_lines(made):
        typer.echo(line)
    if plot is not None:
        typer.echo(f"\nPlot: {shown(plot)}")


def _wishes(slots: str | None, memory: str | None, flags: WorkerFlags) -> Wishes:
    """What the options say. Ends with every option that is wrong in itself."""
    from floodplain.raster.sized_worker import Wishes

    problems: list[str] = []

    def read(option: str, text: str | None, reader: Callable[[str, str], int]) -> Any:
        try:
            return None if text is None else reader(option, text)
        except ValueError as error:
            problems.append(str(error))
            return None

    wishes = Wishes(
        slots=read("--slots", slots, _checked_count),
        limit_bytes=read("--memory", memory, _size),
        processes=None if flags.processes == "each" else read("--processes", flags.processes, _checked_count),
        baseline_bytes=read("--baseline", flags.baseline, _size),
        cache_bytes=read("--cache", flags.cache, _size),
        cache_in_marginal_bytes=read("--cache-in-peak", flags.cache_in_peak, _size),
        headroom=flags.headroom,
        threshold_share=flags.threshold,
        quantile=flags.quantile,
        agent_bytes=read("--agent", flags.agent, _size),
    )
    if problems:
        bad(*problems)
    return wishes


def _count(option: str, text: str) -> int:
    try:
        return _checked_count(option, text)
    except ValueError as error:
        bad(str(error))


def _checked_count(option: str, text: str) -> int:
    if re.fullmatch(r"[0-9]{1,6}", text) and 1 <= int(text) <= _MOST_COUNT:
        return int(text)
    other = ", or `each` for one a slot" if option == "--processes" else ""
    raise ValueError(f"{option}: {text!r} is no count from 1 to {_MOST_COUNT:,}; write digits{other}")


def _size(option: str, text: str) -> int:
    from floodplain.problem import RuleError
    from floodplain.raster.pools_file import option_bytes

    try:
        count = option_bytes(text)
    except RuleError as error:
        raise ValueError(f"{option}: {error}") from error
    if option == "--cache" and count == 0:
        raise ValueError(f"{option}: {text!r} is no cache: blocks are decoded again and again; write 64Mi or more")
    if option in ("--memory", "--baseline") and count == 0:
        raise ValueError(f"{option}: {text!r} is nothing; write a size such as 256Mi")
    return count


def _records(paths: list[str]) -> list[Record]:
    from floodplain.cli_plan_files import FileError
    from floodplain.cli_raster_history import read_records

    try:
        return read_records(paths)
    except FileError as error:
        failed(str(error))


def _price(price: float | None, prices: str | None) -> MemoryPrice | None:
    """Raises FileError."""
    from floodplain.cli_plan_files import read_price_table
    from floodplain.raster.memory_price import MemoryPrice, memory_price

    if price is not None:
        if not 0 <= price <= 1_000_000:
            bad(f"--price: {price} is no price; write US dollars for a GiB of memory for an hour, such as 0.005")
        return MemoryPrice(price, "--price")
    table = read_price_table(prices)
    return None if table is None else memory_price(table)


def _answered(compute: Callable[[], _Answer]) -> _Answer:
    """Its answer, or the end with what is wrong, by the names of options."""
    from floodplain.problem import Problem, ProblemsError, RuleError

    try:
        return compute()
    except ProblemsError as error:
        _told(error.problems)
    except RuleError as error:
        path = str(error.path[0]) if error.path else "layer" if isinstance(error.value, str) else "--history"
        _told([Problem(path, error.rule, error.remedy, error.value)])


def _told(problems: Sequence[Problem]) -> NoReturn:
    """End with problems of options, or else of what the history says."""
    end = bad if any(problem.path in _OPTIONS for problem in problems) else failed
    end(*dict.fromkeys(str(_as_option(problem)) for problem in problems))


def _as_option(problem: Problem) -> Problem:
    from floodplain.cli_raster_ground import in_quantities

    return in_quantities(replace(problem, path=_OPTIONS.get(problem.path, problem.path)), problem.path)


def _print(said: Explanation, *, good: bool) -> None:
    from floodplain.cli_plan_screen import print_plan
    from floodplain.console import console

    print_plan(console(), said, feasible=good)


def _print_json(document: dict[str, Any]) -> None:
    import json

    typer.echo(json.dumps(document, indent=2))
