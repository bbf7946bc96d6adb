"""Which pool a task goes to, and why, in figures. Pure.

The pools' budgets are `two_pools`, the estimate is `model`. A tag on a task routes nothing (facts/sizing.md 5.1):
whoever submits the task has to send it to the pool that is named here.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from floodplain.byte_amount import mib
from floodplain.raster.terms import Estimate
from floodplain.raster.two_pools import TwoPools

CACHE = "block cache"
"""Name of the term that the pools count too: GDAL has one cache a process, and the pools keep it free."""


class Place(StrEnum):
    """Where a task goes, or why it goes nowhere."""

    SMALL = "small"
    BIG = "big"
    REFUSED = "refused"
    """It fits neither."""
    SKIPPED = "skipped"
    """It shares no pixel with its raster: there is nothing to do, which is not a task of size 0."""
    FAILED = "failed"
    """Its raster or its estimate could not be had."""


class OnFailure(StrEnum):
    """What becomes of a task without an estimate. It never counts as small."""

    FAIL = "fail"
    BIG = "big"


@dataclass(frozen=True)
class Routing:
    """Where one task goes."""

    place: Place
    reason: str
    need_bytes: int | None = None
    """What is compared with the budgets: the estimate without the block cache, which a pool keeps free once a process.
    None without an estimate."""


def route(estimate: Estimate | int, pools: TwoPools) -> Routing:
    """The pool for an estimate, or for bytes that are held beside baseline and cache.

    Raises ValueError for bytes that are no amount: an estimate that is not known is no estimate of 0.
    """
    need, told = (estimate, "") if isinstance(estimate, int) else _need(estimate, pools)
    if need <= 0:
        raise ValueError(f"an estimate of {need} bytes is none; a task whose estimate failed is not small")
    threshold, slot, big = pools.threshold_bytes, pools.slot_budget_bytes, pools.big_budget_bytes
    has = f"{mib(need)}{told}"
    if need <= threshold:
        return Routing(Place.SMALL, f"{has} is within the threshold of {_threshold(pools)}", need)
    if need <= big:
        fits = "would fit a slot were the estimate exact" if need <= slot else f"a small slot has {mib(slot)}"
        return Routing(
            Place.BIG, f"{has} is above the threshold of {_threshold(pools)}; {fits}, the big worker {mib(big)}", need
        )
    return Routing(
        Place.REFUSED,
        f"{has} is above the {mib(big)} that the big worker has for its one task ({mib(pools.big_limit_bytes)} less"
        f" {mib(pools.big_limit_bytes - big)} of baseline, cache and agent); cut it into smaller windows, or give the"
        f" big pool {mib(need - big)} more",
        need,
    )


def skipped(why: str) -> Routing:
    """A task without a pixel."""
    return Routing(Place.SKIPPED, why)


def failed(why: str, on_failure: OnFailure = OnFailure.FAIL) -> Routing:
    """A task whose estimate could not be had."""
    if on_failure is OnFailure.BIG:
        return Routing(Place.BIG, f"no estimate, and so to the pool with the most memory: {why}")
    return Routing(Place.FAILED, why)


def _need(estimate: Estimate, pools: TwoPools) -> tuple[int, str]:
    cached = sum(term.bytes for term in estimate.terms if term.name == CACHE)
    kept = min(round(cached * estimate.factor), pools.cache_bytes)
    if not kept:
        return estimate.peak_bytes, ""
    return estimate.peak_bytes - kept, f" beside {mib(kept)} of block cache"


def _threshold(pools: TwoPools) -> str:
    if pools.given_threshold_bytes is not None:
        return mib(pools.threshold_bytes)
    return f"{mib(pools.threshold_bytes)} (half the slot budget of {mib(pools.slot_budget_bytes)})"
