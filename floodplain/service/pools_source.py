"""Where a service has its pools, settings and prices from: files that are looked at every few seconds. Edge.

A bad or missing file never takes away what was good: the last good content serves, its age and the problem are told.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from floodplain.catalogue import prices as price_table
from floodplain.catalogue.prices import Prices
from floodplain.pools import PoolDocument
from floodplain.pools import read as read_pools
from floodplain.problem import RuleError
from floodplain.service.kept_file import KeptFile
from floodplain.service.logs import logger
from floodplain.service.settings import DEFAULT_POOLS, DEFAULT_SIZING, ServiceSettings
from floodplain.service.snapshot import Snapshot
from floodplain.sizing.default_pool import default_pool
from floodplain.sizing.settings import SizingSettings
from floodplain.sizing.settings_file import read as read_settings


@dataclass(frozen=True)
class Change:
    """What one look found to be different from the look before, for the log."""

    content: bool
    problem: bool


class PoolsSource:
    """Keeps a Snapshot of the files; `look` reads them once, `start` looks again and again in a thread."""

    def __init__(
        self,
        settings: ServiceSettings,
        *,
        clock: Callable[[], float] = time.time,
        default_pools: str = DEFAULT_POOLS,
        default_sizing: str = DEFAULT_SIZING,
    ) -> None:
        self._pools_named = settings.pools is not None
        self._pools: KeptFile[tuple[PoolDocument, ...]] = KeptFile(settings.pools or default_pools, _parse_pools)
        self._settings: KeptFile[SizingSettings] = KeptFile(
            settings.settings or default_sizing,
            read_settings,
            absent=None if settings.settings else SizingSettings(),
        )
        self._prices: KeptFile[Prices] | None = (
            KeptFile(settings.prices, price_table.read) if settings.prices is not None else None
        )
        self._example = (default_pool(),)
        self._clock = clock
        self._poll_seconds = settings.poll_seconds
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        self._snapshot: Snapshot | None = None
        self._problem: str | None = None

    @property
    def snapshot(self) -> Snapshot | None:
        """What to plan with; None until every file that is needed was good once."""
        return self._snapshot

    @property
    def problem(self) -> str | None:
        """What is wrong with the files now, with or without a snapshot."""
        return self._problem

    def age_seconds(self) -> float:
        """Since all files were last good; 0 before the first time, which `problem` and readiness tell."""
        snapshot = self._snapshot
        return 0.0 if snapshot is None else max(0.0, self._clock() - snapshot.read_at)

    def look(self) -> Change:
        """Look at the files once."""
        before, problem_before = self._snapshot, self._problem
        files = [file for file in (self._pools, self._settings, self._prices) if file is not None]
        for file in files:
            file.look()
        example = not self._pools_named and not self._pools.found
        if example:
            self._pools.problem = None
        found = [file.problem for file in files if file.problem]
        problem = "; ".join(found) if found else None
        pools = self._example if example else self._pools.value
        sizing = self._settings.value
        if pools is not None and sizing is not None:
            self._snapshot = Snapshot(
                pools=pools,
                settings=sizing,
                prices=self._prices.value if self._prices else None,
                read_at=before.read_at if problem and before else self._clock(),
                problem=problem,
                example=example,
            )
        self._problem = problem
        after = self._snapshot
        same = after is before or (after is not None and before is not None and after.same_content(before))
        return Change(content=not same, problem=problem != problem_before)

    def start(self, told: Callable[[Change], None]) -> None:
        """Look every few seconds from now on; `told` is called after each look that found a change."""

        def run() -> None:
            while not self._stopped.wait(self._poll_seconds):
                try:
                    change = self.look()
                    if change.content or change.problem:
                        told(change)
                except Exception:
                    # Whatever it is: the age of what serves grows and tells, and the next look may go well.
                    logger().exception("the files could not be looked at")

        self._thread = threading.Thread(target=run, name="pools", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Look no more. May be called twice, or before `start`."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join(timeout=5)


def _parse_pools(content: bytes) -> tuple[PoolDocument, ...]:
    pools = read_pools(content)
    if not pools:
        raise RuleError("names no pool", "write at least one, see `python -m preview show pools --json`")
    return pools
