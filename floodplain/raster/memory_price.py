"""What a GiB of memory costs for an hour, from a table of instance prices. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from floodplain.catalogue import allocatable, load
from floodplain.catalogue.prices import ON_DEMAND, Prices
from floodplain.quantity import GIB


@dataclass(frozen=True)
class MemoryPrice:
    """US dollars for a GiB of memory for an hour."""

    usd: float
    source: str
    """Where it is from, for people."""


def memory_price(prices: Prices) -> MemoryPrice | None:
    """The least on-demand price of a type of the catalogue by what pods may use of its memory; None if none is priced.

    The same share that a plan's cost is (floodplain.sizing.cost). The types of the catalogue have local disks; others
    cost less.
    """
    offers = [
        (price * GIB / allocatable(kind).memory_bytes, kind.name)
        for kind in load()
        if not kind.metal and (price := prices.hourly.get((kind.name, ON_DEMAND))) is not None
    ]
    if not offers:
        return None
    usd, name = min(offers)
    return MemoryPrice(usd, f"{name} on demand, {prices.label}")
