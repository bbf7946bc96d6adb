"""`floodplain backtest`: what our plans would have done to jobs that ran. Edge: reads arguments and a file, prints.

Whatever replays is imported inside the functions, so that `--help` stays fast.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from floodplain.cli_plan import PoolsFile, SettingsFile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from floodplain.backtest.past_job import PastJob
    from floodplain.backtest.replay import Replayed
    from floodplain.backtest.report import Input
    from floodplain.backtest.totals import Totals
    from floodplain.pools import PoolDocument

REPLAYED, UNREADABLE, BAD_INPUT, WOULD_KILL = 0, 1, 2, 3
STATUS = (
    "Exit status: 0 replayed, 3 a job that ran would have been killed, 2 bad input, 1 a file or cluster that cannot be"
    " read, or no job in it."
)
_MOST_BYTES = 256 * 1024 * 1024
_MOST_PROBLEMS = 20
_MOST_ROWS = 100
_STYLES = {"killed": "bold red", "still-dies": "red", "infeasible": "yellow", "saved": "green", "kept": "green"}


def backtest(
    from_cluster: Annotated[
        bool, typer.Option("--from-cluster", help="Replay the finished pods and Jobs of a cluster.")
    ] = False,
    csv: Annotated[str | None, typer.Option(help="Replay the jobs of a CSV file.", metavar="FILE")] = None,
    pools: PoolsFile = None,
    settings: SettingsFile = None,
    swap_before: Annotated[
        float | None,
        typer.Option(
            help="Swap per byte of request that jobs had, where nothing else says it; 0 for a cluster without swap.",
        ),
    ] = None,
    kubeconfig: Annotated[
        str | None, typer.Option(help="Default: the pod this runs in, KUBECONFIG, or ~/.kube/config.", metavar="FILE")
    ] = None,
    context: Annotated[str | None, typer.Option(help="Context of the kubeconfig; default: its current one.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Replay past jobs: the memory our plans would have saved, and the jobs they would have saved or killed."""
    if from_cluster == (csv is not None):
        _end("give one of --from-cluster and --csv FILE", BAD_INPUT)
    if swap_before is not None and not 0 <= swap_before <= 64:
        _end(f"--swap-before: {swap_before} is not from 0 to 64; write swap / request, or 0 for none", BAD_INPUT)
    from floodplain.backtest.replay import Verdict, replay
    from floodplain.backtest.totals import totals
    from floodplain.cli_plan_files import FileError, read_ground
    from floodplain.sizing.planner import make_plan

    try:
        ground = read_ground(pools, settings, None)
    except FileError as error:
        _end(str(error), UNREADABLE)
    if csv is not None:
        jobs, given = _of_csv(csv, swap_before)
    else:
        jobs, given = _of_cluster(kubeconfig, context, tuple(ground.pools), swap_before)
    if ground.example:
        typer.echo("Planned for the example pool: neither --pools nor FLOODPLAIN_POOLS names a file.", err=True)
    _tell_problems(given)
    if not jobs:
        _end(f"{given.source}: no job in it can be replayed", UNREADABLE)
    replayed = replay(jobs, lambda workload: make_plan(workload, ground.pools, settings=ground.settings))
    sums = totals(replayed)
    if as_json:
        import json

        from floodplain.backtest.report import document

        typer.echo(json.dumps(document(given, replayed, sums, [pool.name for pool in ground.pools]), indent=2))
    else:
        _show(replayed, sums)
    raise typer.Exit(WOULD_KILL if sums.verdicts[Verdict.KILLED] else REPLAYED)


def _of_csv(path: str, swap_before: float | None) -> tuple[tuple[PastJob, ...], Input]:
    from floodplain.backtest.csv_file import CsvError, read
    from floodplain.backtest.past_job import with_swap_ratio
    from floodplain.backtest.report import Input
    from floodplain.cli_plan_files import shown

    try:
        with open(path, "rb") as stream:  # noqa: PTH123
            content = stream.read(_MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        _end(f"--csv: {shown(path)} cannot be read ({reason}); name a file that you may read", UNREADABLE)
    if len(content) > _MOST_BYTES:
        _end(f"--csv: {shown(path)} is above {_MOST_BYTES >> 20} MiB; split it", UNREADABLE)
    try:
        found = read(content)
    except CsvError as error:
        _end(f"--csv: {shown(path)}: {error}", UNREADABLE)
    remarks = tuple(f"column {name!r} is not read" for name in found.ignored)
    jobs = tuple(with_swap_ratio(job, swap_before) for job in found.jobs)
    return jobs, Input(shown(path), found.problems, found.bad_lines, remarks)


def _of_cluster(
    kubeconfig: str | None, context: str | None, pools: tuple[PoolDocument, ...], swap_before: float | None
) -> tuple[tuple[PastJob, ...], Input]:
    from floodplain.backtest.report import Input

    try:
        from floodplain.backtest.from_cluster import UnreadableError, read
        from floodplain.doctor.api import UnreachableError, connect
    except ModuleNotFoundError as missing:
        _end(f"{missing.name} is missing: pip install 'floodplain[service]'", UNREADABLE)
    try:
        with connect(kubeconfig, context) as api:
            found, unseen = read(api, pools, swap_before)
    except (UnreachableError, UnreadableError) as error:
        _end(str(error), UNREADABLE)
    running = (f"{found.running} still running or waiting",) if found.running else ()
    bad = len({problem.path.partition(",")[0] for problem in found.problems})
    return found.jobs, Input("the cluster", found.problems, bad, (*unseen, *running))


def _tell_problems(given: Input) -> None:
    for problem in given.problems[:_MOST_PROBLEMS]:
        typer.echo(f"{given.source}: {problem}", err=True)
    if len(given.problems) > _MOST_PROBLEMS:
        typer.echo(f"{given.source}: and {len(given.problems) - _MOST_PROBLEMS} more problems; see --json", err=True)
    if given.bad:
        typer.echo(f"{given.source}: {given.bad} left out for these problems", err=True)
    for remark in given.remarks:
        typer.echo(f"{given.source}: {remark}", err=True)


def _show(replayed: Sequence[Replayed], sums: Totals) -> None:
    from rich.table import Table
    from rich.text import Text

    from floodplain.backtest.report import MEANINGS, first, row, sentences
    from floodplain.console import console
    from floodplain.doctor.report import printable

    table = Table()
    table.add_column("Job", overflow="fold")
    table.add_column("Images", justify="right", no_wrap=True)
    table.add_column("Ended", no_wrap=True)
    for name in ("Peak", "Had limit + swap", "Our limit + swap"):
        table.add_column(name)
    table.add_column("Verdict", no_wrap=True)
    shown = first(replayed, _MOST_ROWS)
    for one in shown:
        verdict = Text(one.verdict.value, _STYLES.get(one.verdict.value, ""))
        table.add_row(*(Text(printable(cell)) for cell in row(one)), verdict)
    screen = console()
    screen.print(table)
    if len(shown) < len(replayed):
        screen.print(Text(f"{len(replayed) - len(shown):,} more are not shown; --json has all."))
    counts = Table.grid(padding=(0, 2))
    for verdict_, count in sums.verdicts.items():
        if count:
            counts.add_row(Text(f"{count:,}"), Text(verdict_.value, "bold"), Text(MEANINGS[verdict_]))
    screen.print(counts)
    for sentence in sentences(sums):
        screen.print(Text(sentence))


def _end(message: str, status: int) -> NoReturn:
    typer.echo(message, err=True)
    raise typer.Exit(status)
