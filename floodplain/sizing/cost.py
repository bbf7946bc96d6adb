"""What a plan's place costs for a month, and what the peak in memory would cost. Prices come from a table.

The table is `floodplain.catalogue.prices`; nothing here knows where it comes from.
"""

from __future__ import annotations

import math

from floodplain.catalogue import InstanceType, KubeletReserves, allocatable, load
from floodplain.catalogue.prices import Prices
from floodplain.sizing.fit import Fit
from floodplain.sizing.plan import MonthlyCost
from floodplain.swap import needed_bytes

__all__ = ["HOURS_A_MONTH", "Prices", "monthly_cost", "peak_as_ram_cost"]

HOURS_A_MONTH = 730


def monthly_cost(fit: Fit, prices: Prices) -> MonthlyCost | None:
    """The cheapest of the types that fit, by the share of it that the pod's memory takes; None if none is priced."""
    offers = [
        (price * fit.pod_request_bytes / kind.allocatable_memory_bytes, kind.name)
        for kind in fit.types
        if (price := prices.hourly.get((kind.name, fit.capacity_type.value))) is not None
    ]
    return _cheapest(offers, fit.capacity_type.value, prices)


def peak_as_ram_cost(peak_bytes: int, fit: Fit, prices: Prices) -> MonthlyCost | None:
    """The cheapest type of the catalogue that holds the peak with its margin in memory, by the same share."""
    needed = needed_bytes(peak_bytes, fit.pool.margin)
    offers = []
    for kind in load():
        price = prices.hourly.get((kind.name, fit.capacity_type.value))
        offered = _offered_bytes(kind, fit)
        if price is not None and offered >= needed:
            offers.append((price * needed / offered, kind.name))
    return _cheapest(offers, fit.capacity_type.value, prices)


def _offered_bytes(kind: InstanceType, fit: Fit) -> int:
    if kind.metal or kind.arch != fit.pool.architecture:
        return 0
    return max(0, allocatable(kind, KubeletReserves()).memory_bytes - fit.pool.headroom_bytes)


def _cheapest(offers: list[tuple[float, str]], capacity_type: str, prices: Prices) -> MonthlyCost | None:
    if not offers:
        return None
    hourly, name = min(offers)
    usd = math.ceil(hourly * HOURS_A_MONTH * 100) / 100
    return MonthlyCost(instance_type=name, capacity_type=capacity_type, usd=usd, priced=prices.label)
