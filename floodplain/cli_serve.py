"""`floodplain serve`: the processes that run in a cluster, or on a desk for a look. Edge.

What a process needs is imported inside its command, so that `--help` stays fast.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, TypeVar

import typer

if TYPE_CHECKING:
    from floodplain.service.pools_source import Change, PoolsSource
    from floodplain.service.settings import ServiceSettings

Given = TypeVar("Given", bound="ServiceSettings")

serve = typer.Typer(help="Processes of the sizing service.", no_args_is_help=True)

Host = Annotated[
    str | None,
    typer.Option(help="Address to listen on; default: loopback, in a cluster every address.", show_default=False),
]
Port = Annotated[int | None, typer.Option(help="Port; 0 takes a free one.", show_default="8080")]
Pools = Annotated[
    str | None,
    typer.Option(
        help="Pool documents (FLOODPLAIN_POOLS), as `python -m preview show pools --json` prints them.",
        show_default="/etc/floodplain/pools.json, or the example pool",
    ),
]
Sizing = Annotated[
    str | None,
    typer.Option(help="How to size, as JSON (FLOODPLAIN_SETTINGS).", show_default="/etc/floodplain/sizing.json"),
]
Prices = Annotated[str | None, typer.Option(help="Price table (FLOODPLAIN_PRICES).", show_default="none")]


@serve.command("sizing")
def serve_sizing(
    host: Host = None, port: Port = None, pools: Pools = None, settings: Sizing = None, prices: Prices = None
) -> None:
    """Plans over HTTP and a page for people. Starts without configuration, with an example pool."""
    needs_service()
    from floodplain.service import logs
    from floodplain.service.app import sizing_app
    from floodplain.service.metrics import ServiceMetrics
    from floodplain.service.readiness import Draining
    from floodplain.service.serve import Door, ServeError, listen, url
    from floodplain.service.serve import serve as run
    from floodplain.service.settings import ServiceSettings

    chosen = settings_or_exit(ServiceSettings, host=host, port=port, pools=pools, settings=settings, prices=prices)
    try:
        socket = listen(chosen.host, chosen.port)
    except ServeError as error:
        fail(str(error))
    logs.configure()
    draining, metrics = Draining(), ServiceMetrics()
    source = started_source(chosen)
    metrics.watch(source)
    door = Door(sizing_app(source, chosen, metrics, draining), socket)
    logs.logger().info("listening", url=url(door))
    try:
        run([door], draining, drain_seconds=chosen.drain_seconds, grace_seconds=chosen.grace_seconds)
    finally:
        source.stop()


@serve.command("admission")
def serve_admission(
    host: Host = None,
    port: Annotated[int | None, typer.Option(help="Port for the API server, TLS.", show_default="8443")] = None,
    health_port: Annotated[
        int | None, typer.Option(help="Port for health and metrics, plain.", show_default="8081")
    ] = None,
    pools: Annotated[
        str | None, typer.Option(help="Pool documents (FLOODPLAIN_POOLS).", show_default="/etc/floodplain/pools.json")
    ] = None,
    settings: Sizing = None,
    certificate: Annotated[
        str | None, typer.Option(help="PEM file of a certificate that you renew; then no cluster is asked.")
    ] = None,
    key: Annotated[str | None, typer.Option(help="PEM file of its key.")] = None,
    kubeconfig: Annotated[
        str | None,
        typer.Option(help="File that leads to the cluster, from outside.", show_default="the service account"),
    ] = None,
    namespace: Annotated[
        str | None, typer.Option(help="Of Service and Secret.", show_default="that of the service account")
    ] = None,
    dns_name: Annotated[
        list[str] | None, typer.Option(help="One more name or address for the certificate; may be repeated.")
    ] = None,
) -> None:
    """Answers the API server about pods and Jobs that are created, by the rules of observe and enforce."""
    needs_service()
    from floodplain.service import logs
    from floodplain.service.admission_process import CertificateError, run
    from floodplain.service.admission_settings import AdmissionSettings
    from floodplain.service.cluster_access import ClusterAccessError
    from floodplain.service.serve import ServeError

    chosen = settings_or_exit(
        AdmissionSettings,
        host=host,
        port=port,
        health_port=health_port,
        pools=pools,
        settings=settings,
        certificate=certificate,
        key=key,
        kubeconfig=kubeconfig,
        namespace=namespace,
        dns_name=tuple(dns_name) if dns_name else None,
    )
    logs.configure()
    source = started_source(chosen)
    try:
        run(chosen, source)
    except (CertificateError, ClusterAccessError, ServeError) as error:
        fail(str(error))
    finally:
        source.stop()


def settings_or_exit(model: type[Given], **options: Any) -> Given:
    """The settings of a process from its environment and options, or lines of problems and status 1."""
    from floodplain.service.settings import ServiceSettingsError, service_settings

    try:
        return service_settings(model, os.environ, options)
    except ServiceSettingsError as error:
        fail(str(error))


def started_source(settings: ServiceSettings) -> PoolsSource:
    """The files, looked at once and from now on; what they hold and what is wrong with them is logged."""
    from floodplain.service.pools_source import PoolsSource

    source = PoolsSource(settings)

    def tell(change: Change) -> None:
        _tell(source, change)

    tell(source.look())
    source.start(tell)
    return source


def _tell(source: PoolsSource, change: Change) -> None:
    from floodplain.service.logs import logger

    log, snapshot = logger(), source.snapshot
    if change.content and snapshot is not None:
        log.info("pools", names=[pool.name for pool in snapshot.pools], example=snapshot.example)
        if snapshot.example:
            log.warning("plans are for the example pool: set FLOODPLAIN_POOLS or --pools to name yours")
    if change.problem and source.problem:
        log.warning(
            "files are not good", problem=source.problem, serving="the last good ones" if snapshot else "nothing"
        )
    elif change.problem:
        log.info("files are good again")


def needs_service() -> None:
    """End with a line where the service's packages are not installed."""
    try:
        import fastapi  # noqa: F401
        import uvicorn  # noqa: F401
    except ModuleNotFoundError as missing:
        fail(f"the service needs {missing.name}: pip install 'floodplain[service]'")


def fail(message: str) -> NoReturn:
    """A line on standard error and status 1."""
    typer.echo(message, err=True)
    raise typer.Exit(1)
