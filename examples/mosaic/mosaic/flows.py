"""The flow in Prefect: route every tile by its estimate, hand them to two work pools, wait for all, assemble.

`mosaic` runs where it is started and touches headers only. `build_tiles` runs in a worker of the pool it was sent to.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

from prefect import flow, get_run_logger, task
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import FlowRun
from prefect.deployments import run_deployment
from prefect.futures import wait
from prefect.task_runners import ThreadPoolTaskRunner

from mosaic.assemble import assemble
from mosaic.ends import End, How
from mosaic.outcome import Outcome, outcome_of
from mosaic.routes import Place, Route, batches, route_tile
from mosaic.run_tile import ENDS, run_tile
from mosaic.settings import BIG, SLOTS, SMALL, TIMEOUT_SECONDS, TRIES
from mosaic.tiles import Tile

POLL_SECONDS = 0.5
WAIT_SECONDS = 3600.0
"""For all tiles of a pool: a pool without a worker must not be waited for without end."""

# A flow run is one slot. The pool's limit says how many flow runs there are at once.
# Any: Prefect's types of runners and of flows do not fit each other.
ONE_SLOT: Any = ThreadPoolTaskRunner(max_workers=1)
HEADERS_AT_ONCE: Any = ThreadPoolTaskRunner(max_workers=4)


class TileFailedError(RuntimeError):
    """One try of a tile ended without a tile."""

    def __init__(self, end: End) -> None:
        super().__init__(f"{end.tile} {end.words}")
        self.end = end


class MosaicFailedError(RuntimeError):
    """Some tiles are not there; the message names each with its reason."""


def _may_be_tried_again(task: Any, task_run: Any, state: Any) -> bool:
    """A tile that is too big for its slot would be killed there again."""
    error = state.result(raise_on_failure=False)
    return not (isinstance(error, TileFailedError) and error.end.how is How.OUT_OF_MEMORY)


@task(name="build-tile", retries=TRIES - 1, retry_delay_seconds=0.2, retry_condition_fn=_may_be_tried_again)
def try_tile(route: dict[str, Any], folder: str, run: str, timeout_seconds: float) -> None:
    """No timeout_seconds of Prefect's: it cannot interrupt GDAL in a thread. The process is killed instead."""
    given = Route.model_validate(route)
    end = run_tile(
        given.tile,
        Path(folder),
        run=run,
        pool=os.environ["MOSAIC_POOL"],
        limit_bytes=int(os.environ["MOSAIC_SLOT_LIMIT_BYTES"]),
        timeout_seconds=timeout_seconds,
        estimate_bytes=given.estimate_bytes,
    )
    get_run_logger().info("%s %s: peak %d MiB", end.tile, end.words, end.peak_bytes >> 20)
    if end.how is not How.DONE:
        raise TileFailedError(end)


@flow(name="build-tiles", task_runner=ONE_SLOT)
def build_tiles(routes: list[dict[str, Any]], folder: str, run: str, timeout_seconds: float = TIMEOUT_SECONDS) -> None:
    """Every tile of the list, one after the other; fails after the last if any failed."""
    futures = [
        try_tile.with_options(task_run_name=route["tile"]["name"]).submit(route, folder, run, timeout_seconds)
        for route in routes
    ]
    wait(futures)
    failed = [
        route["tile"]["name"] for route, future in zip(routes, futures, strict=True) if not future.state.is_completed()
    ]
    if failed:
        raise MosaicFailedError(f"{', '.join(failed)}: see the task runs")


@task(name="route-tile", retries=2, retry_delay_seconds=1)
def route_one(tile: Tile) -> Route:
    """Reads headers, so it may be tried again when a server does not answer."""
    return route_tile(tile)


@flow(name="mosaic", task_runner=HEADERS_AT_ONCE)
def mosaic(
    tiles: list[Tile], folder: str, timeout_seconds: float = TIMEOUT_SECONDS, everything_to: str | None = None
) -> Outcome:
    """Raises MosaicFailedError, after every tile has ended, when one of them is missing.

    `everything_to` names a pool for all tiles whatever their estimates, to see what routing is for.
    """
    run = str(uuid4())
    futures = route_one.map(tiles)
    wait(futures)
    unroutable = {
        tile.name: str(future.state.message)
        for tile, future in zip(tiles, futures, strict=True)
        if not future.state.is_completed()
    }
    routes = [future.result() for future in futures if future.state.is_completed()]
    for route in routes:
        get_run_logger().info("%s: %s, %s", route.tile.name, route.place, route.why)
    sent = [route.sent_to(everything_to) for route in routes]
    _build(sent, folder, run, timeout_seconds)
    outcome = outcome_of(sent, unroutable, Path(folder) / ENDS, run)
    if outcome.out_of_memory:
        # Their estimates were too low, or nobody asked for them: the big pool is where they belong.
        get_run_logger().warning(
            "%s held more than a slot: once more in the big pool", ", ".join(outcome.out_of_memory)
        )
        again = [route for route in sent if route.tile.name in outcome.out_of_memory and route.place is Place.SMALL]
        _build([route.sent_to(BIG) for route in again], folder, run, timeout_seconds)
        outcome = outcome_of(sent, unroutable, Path(folder) / ENDS, run)
    if outcome.built:
        assemble([tile for tile in tiles if tile.name in outcome.built], Path(folder))
    if outcome.missing:
        raise MosaicFailedError(outcome.words)
    get_run_logger().info(outcome.words)
    return outcome


def _build(routes: Sequence[Route], folder: str, run: str, timeout_seconds: float) -> None:
    """Both pools at once, until every flow run has ended. What became of a tile is in ends.jsonl."""
    small = [route for route in routes if route.place is Place.SMALL]
    big = [route for route in routes if route.place is Place.BIG]
    # Starting a flow run takes seconds: small tiles share some. A big tile has one to itself.
    lots = [(SMALL, lot) for lot in batches(small, SLOTS[SMALL])] + [(BIG, [route]) for route in big]
    started = []
    for pool, lot in lots:
        parameters = {
            "routes": [route.model_dump(mode="json") for route in lot],
            "folder": folder,
            "run": run,
            "timeout_seconds": timeout_seconds,
        }
        flow_run = run_deployment(f"build-tiles/{pool}", parameters=parameters, timeout=0)
        assert isinstance(flow_run, FlowRun)  # a coroutine only where an event loop runs
        started.append(flow_run.id)
    _wait_for(started)


def _wait_for(flow_runs: Sequence[UUID]) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    waiting = set(flow_runs)
    with get_client(sync_client=True) as client:
        while waiting:
            for one in sorted(waiting):
                state = client.read_flow_run(one).state
                if state is not None and state.is_final():
                    waiting.discard(one)
            if waiting and time.monotonic() > deadline:
                raise MosaicFailedError(f"{len(waiting)} flow runs have not ended after {WAIT_SECONDS:g} s")
            time.sleep(POLL_SECONDS if waiting else 0)
