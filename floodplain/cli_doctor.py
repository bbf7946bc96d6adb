"""`floodplain doctor`: looks at a live cluster and says what keeps a peak from being held. Edge: arguments, printing.

Whatever looks is imported inside the function, so that `--help` stays fast.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

if TYPE_CHECKING:
    from floodplain.doctor.finding import Finding
    from floodplain.doctor.seen import Cluster
    from floodplain.pools import PoolDocument

COULD_NOT_LOOK = 3
"""Exit status; the others are `finding.exit_status`."""
STATUS = (
    "Exit status: 0 nothing above info, 1 warnings, 2 errors or wrong usage, 3 the cluster does not answer or a file"
    " cannot be read or written. With --exit-zero 0 in place of 1 and of 2 for errors."
)
_STYLES = {"error": "bold red", "warning": "yellow", "info": "cyan", "ok": "green"}


def doctor(
    kubeconfig: Annotated[
        str | None,
        typer.Option(help="Default: the pod this runs in, KUBECONFIG, or ~/.kube/config.", metavar="FILE"),
    ] = None,
    context: Annotated[str | None, typer.Option(help="Context of the kubeconfig; default: its current one.")] = None,
    pools: Annotated[
        str | None,
        typer.Option(
            help="Pool documents; default: FLOODPLAIN_POOLS, else the NodePools of the cluster.", metavar="FILE"
        ),
    ] = None,
    namespace: Annotated[str, typer.Option(help="Of the sizing service.")] = "floodplain",
    aws: Annotated[bool, typer.Option("--aws", help="Ask AWS for the interruption queue and its rules too.")] = False,
    region: Annotated[str | None, typer.Option(help="AWS region; default: from the environment.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    as_lines: Annotated[bool, typer.Option("--lines", help="Print a JSON object a finding, for logs.")] = False,
    metrics_file: Annotated[
        str | None, typer.Option(help="Write Prometheus metrics to this file as well.", metavar="FILE")
    ] = None,
    push: Annotated[str | None, typer.Option(help="Send metrics to a pushgateway as well.", metavar="URL")] = None,
    no_kubelets: Annotated[
        bool, typer.Option("--no-kubelets", help="Leave kubelets alone; asking them takes get on nodes/proxy.")
    ] = False,
    exit_zero: Annotated[
        bool, typer.Option("--exit-zero", help="Findings do not make the exit status; a Job has not failed then.")
    ] = False,
) -> None:
    """Look at a live cluster: swap, grants, kills, containment, queue, LimitRanges, webhook, versions.

    Writes nothing to it. Each finding names its lever: a bigger request first, then more node swap.
    """
    import json

    if as_json and as_lines:
        _fail("--json and --lines do not go together; give one of them")
    try:
        from floodplain.doctor.examine import examine
        from floodplain.doctor.report import document, lines
    except ModuleNotFoundError as missing:
        _fail(f"{missing.name} is missing: pip install 'floodplain[service]'")
    cluster = _look(kubeconfig, context, _documents(pools), namespace, not no_kubelets)
    if aws:
        cluster = _with_aws(cluster, region)
    findings = examine(cluster)
    if as_json:
        typer.echo(json.dumps(document(cluster, findings), indent=2))
    elif as_lines:
        for line in lines(cluster, findings):
            typer.echo(line)
    else:
        _show(cluster, findings)
    _tell_metrics(cluster, findings, metrics_file, push)
    from floodplain.doctor.finding import exit_status

    raise typer.Exit(0 if exit_zero else exit_status(findings))


def _documents(given: str | None) -> tuple[PoolDocument, ...]:
    """The pool documents of --pools or FLOODPLAIN_POOLS; none without either."""
    from floodplain.cli_plan_files import FileError, read_ground

    if given is None and not os.environ.get("FLOODPLAIN_POOLS"):
        return ()
    try:
        return tuple(read_ground(given, None, None).pools)
    except FileError as error:
        _fail(str(error))


def _look(
    kubeconfig: str | None, context: str | None, pools: tuple[PoolDocument, ...], namespace: str, kubelets: bool
) -> Cluster:
    from floodplain.doctor.api import UnreachableError, connect
    from floodplain.doctor.observe import observe

    try:
        with connect(kubeconfig, context) as api:
            return observe(api, pools=pools, namespace=namespace, kubelets=kubelets)
    except UnreachableError as error:
        _fail(str(error))


def _with_aws(cluster: Cluster, region: str | None) -> Cluster:
    from dataclasses import replace

    from floodplain.doctor.aws import queues

    names = [one.interruption_queue for one in cluster.karpenters or () if one.interruption_queue]
    found, unseen = queues(names, region)
    return replace(cluster, queues=found, unseen=(*cluster.unseen, *unseen))


def _show(cluster: Cluster, findings: tuple[Finding, ...]) -> None:
    from rich.table import Table
    from rich.text import Text

    from floodplain.console import console
    from floodplain.doctor.report import printable, summary

    table = Table(show_lines=True)
    table.add_column("", no_wrap=True)
    table.add_column("Where", overflow="fold", ratio=2)
    table.add_column("What was seen, and what to do", overflow="fold", ratio=5)
    for one in findings:
        told = Text(printable(one.seen))
        if one.expected:
            told.append(f"\nexpected: {printable(one.expected)}", "dim")
        for position, lever in enumerate(one.levers, start=1):
            told.append(f"\n{position}. {printable(lever)}")
        mark = Text(f"{one.severity.value}\n{one.check}", _STYLES[one.severity.value])
        table.add_row(mark, Text(printable(one.object)), told)
    screen = console()
    screen.print(table)
    screen.print(Text(summary(cluster, findings)))


def _tell_metrics(cluster: Cluster, findings: tuple[Finding, ...], path: str | None, url: str | None) -> None:
    if path is None and url is None:
        return
    from floodplain.doctor.metrics import MetricsError, registry, write
    from floodplain.doctor.metrics import push as send

    made = registry(cluster, findings)
    try:
        if path is not None:
            write(path, made)
        if url is not None:
            send(url, made)
    except MetricsError as error:
        _fail(str(error))


def _fail(message: str) -> NoReturn:
    typer.echo(message, err=True)
    raise typer.Exit(COULD_NOT_LOOK)
