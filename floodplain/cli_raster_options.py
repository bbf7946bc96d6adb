"""Options that raster commands share, each stated once, in the groups that commands take (see `grouped_options`).

What they mean together is `cli_raster_ground`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from floodplain.raster.two_pools import TwoPools

Sidecars = Annotated[
    bool, typer.Option("--sidecars", help="Look for .ovr, .msk and .aux.xml too, at the price of more requests.")
]


@dataclass(frozen=True)
class TargetFlags:
    """What of a raster is wanted; all None: the whole raster."""

    tile: Annotated[str | None, typer.Option(help="Of web mercator; y from the north.", metavar="z/x/y")] = None
    window: Annotated[str | None, typer.Option(help="Pixels of the raster.", metavar="COLUMN,ROW,WIDTH,HEIGHT")] = None
    bounds: Annotated[
        str | None, typer.Option(help="In --crs, or else in the raster's CRS.", metavar="LEFT,BOTTOM,RIGHT,TOP")
    ] = None
    crs: Annotated[str | None, typer.Option(help="Of the destination; default: the raster's.", metavar="EPSG:n")] = None
    size: Annotated[str | None, typer.Option(help="Destination in pixels.", metavar="WIDTHxHEIGHT")] = None
    bands: Annotated[str | None, typer.Option(help="Only the first that many bands.", metavar="COUNT")] = None
    dtype: Annotated[
        str | None, typer.Option(help="Of what is made; default: the widest of the bands.", metavar="NAME")
    ] = None


@dataclass(frozen=True)
class TaskFlags:
    """Settings of tasks."""

    resampling: Annotated[str, typer.Option(help="rasterio's name, such as bilinear or cubic.", metavar="NAME")] = (
        "nearest"
    )
    way: Annotated[str, typer.Option(help="vrt, band, array or read: how the task gets its pixels.", metavar="WAY")] = (
        "vrt"
    )
    masked: Annotated[bool, typer.Option("--masked", help="The task reads masks too.")] = False
    native_vrt: Annotated[
        bool,
        typer.Option(
            "--native-vrt",
            help="The WarpedVRT has the raster's resolution, and out_shape shrinks it: overviews are read.",
        ),
    ] = False
    warp_memory: Annotated[str, typer.Option(help="warp_mem_limit of the task.", metavar="SIZE")] = "64Mi"
    threads: Annotated[int, typer.Option(min=1, max=1024, help="Threads of one warp.", metavar="COUNT")] = 1
    factor: Annotated[
        float, typer.Option(min=0.1, max=100, help="Calibration: what the estimate is multiplied by.")
    ] = 1.0
    history: Annotated[
        list[str] | None,
        typer.Option(
            help="Records of measured tasks (peaks.jsonl), for the factor of --layer; may be repeated.", metavar="FILE"
        ),
    ] = None
    layer: Annotated[str | None, typer.Option(help="The kind of task in --history.", metavar="NAME")] = None


@dataclass(frozen=True)
class PoolFlags:
    """The two pools; None: left out."""

    pools_file: Annotated[
        str | None, typer.Option(help="raster.json of WorkerPools; the options below go before it.", metavar="FILE")
    ] = None
    slots: Annotated[int | None, typer.Option(help="Tasks at once in a small worker; default 8.", metavar="COUNT")] = (
        None
    )
    small_memory: Annotated[str | None, typer.Option(help="Limit of a small worker; default 8Gi.", metavar="SIZE")] = (
        None
    )
    big_memory: Annotated[str | None, typer.Option(help="Limit of the big worker; default 16Gi.", metavar="SIZE")] = (
        None
    )
    baseline: Annotated[
        str | None, typer.Option(help="Of a warmed-up process that waits; default 104Mi.", metavar="SIZE")
    ] = None
    cache: Annotated[str | None, typer.Option(help="GDAL_CACHEMAX of a process; default 64Mi.", metavar="SIZE")] = None
    processes: Annotated[int | None, typer.Option(help="Of a small worker; default 1.", metavar="COUNT")] = None
    agent: Annotated[str | None, typer.Option(help="What else runs in the pod; default 0.", metavar="SIZE")] = None
    threshold: Annotated[str | None, typer.Option(help="Default: half the slot budget.", metavar="SIZE")] = None


POOL_OPTIONS = {
    "slots": "--slots",
    "small_limit_bytes": "--small-memory",
    "big_limit_bytes": "--big-memory",
    "baseline_bytes": "--baseline",
    "cache_bytes": "--cache",
    "processes": "--processes",
    "agent_bytes": "--agent",
    "given_threshold_bytes": "--threshold",
}
"""Fields of TwoPools by the options that give them."""


def print_assumed(flags: PoolFlags, pools: TwoPools) -> None:
    """Nothing was said of the pools: which ones a routing went by, for people."""
    from floodplain.quantity import from_bytes

    if flags == PoolFlags():
        small, big = from_bytes(pools.small_limit_bytes), from_bytes(pools.big_limit_bytes)
        typer.echo(
            f"\nPools by default: {pools.slots} slots in {small}, a big worker of {big}. Say what yours are with\n"
            "--pools-file, or --slots, --small-memory and --big-memory."
        )


def given(flags: PoolFlags, option: str) -> str | int | None:
    """The value of `--small-memory`."""
    value: str | int | None = getattr(flags, option.removeprefix("--").replace("-", "_"))
    return value
