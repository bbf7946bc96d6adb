"""AWS's answers about prices, read: entries of the price list (GetProducts) and of the spot price history. No I/O.

Shape: https://docs.aws.amazon.com/awsaccountbilling/latest/aboutv2/using-price-list-query-api.html, where each entry of
the list is a text that holds JSON, and the EC2 API reference, DescribeSpotPriceHistory.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from decimal import Decimal, InvalidOperation
from statistics import median_high
from typing import Any

FILTERS: Mapping[str, str] = {
    "productFamily": "Compute Instance",
    "operatingSystem": "Linux",
    "tenancy": "Shared",
    "preInstalledSw": "NA",
    "capacitystatus": "Used",
    "marketoption": "OnDemand",
}
"""What to ask the price list for, beside the region: what a pool's virtual nodes are billed as. Karpenter asks the same
(aws/karpenter-provider-aws, pkg/providers/pricing/pricing.go)."""
SPOT_PRODUCTS = ("Linux/UNIX", "Linux/UNIX (Amazon VPC)")
CURRENCY = "USD"


class PriceListError(ValueError):
    """An answer in a shape that this release does not know."""


def on_demand_prices(entries: Iterable[str]) -> dict[str, Decimal]:
    """US dollars an hour by instance type.

    Terms without a price in dollars an hour, or with 0 (what is reserved already), are left out. Of several prices of a
    type the highest counts: a plan should not promise too little. Raises PriceListError for what is no JSON.
    """
    found: dict[str, Decimal] = {}
    for entry in entries:
        try:
            product: Any = json.loads(entry)
        except (ValueError, TypeError, RecursionError) as error:
            raise PriceListError(f"an entry of the price list is not JSON ({error})") from error
        name = _at(product, "product", "attributes", "instanceType")
        for price in _hourly(product) if isinstance(name, str) and name else ():
            found[name] = max(price, found.get(name, price))
    return found


def _hourly(product: Any) -> Iterator[Decimal]:
    for term in _values(_at(product, "terms", "OnDemand")):
        for dimension in _values(_at(term, "priceDimensions")):
            price = _price(_at(dimension, "pricePerUnit", CURRENCY))
            if price is not None and _at(dimension, "unit") == "Hrs":
                yield price


def spot_prices(entries: Iterable[Mapping[str, Any]]) -> dict[str, Decimal]:
    """US dollars an hour by instance type: of each zone the latest price, of these the median.

    The zone of a node is not known when a job is planned, so the cheapest zone would promise too much. Of an even
    number of zones the higher of the two in the middle counts: a price that some zone has.
    """
    latest: dict[tuple[str, str], tuple[datetime, Decimal]] = {}
    for entry in entries:
        price, when = _price(entry.get("SpotPrice")), entry.get("Timestamp")
        if price is None or not isinstance(when, datetime):
            continue
        place = (str(entry.get("InstanceType")), str(entry.get("AvailabilityZone")))
        if place not in latest or (when, price) > latest[place]:
            latest[place] = (when, price)
    by_type: dict[str, list[Decimal]] = {}
    for (name, _), (_, price) in latest.items():
        by_type.setdefault(name, []).append(price)
    return {name: median_high(prices) for name, prices in by_type.items()}


def _at(value: Any, *keys: str) -> Any:
    """The value below these keys, or None."""
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _values(value: Any) -> Iterable[Any]:
    return value.values() if isinstance(value, Mapping) else ()


def _price(text: Any) -> Decimal | None:
    """A price above zero, or None."""
    try:
        price = Decimal(text) if isinstance(text, str) else Decimal("NaN")
    except InvalidOperation:
        return None
    return price if price.is_finite() and price > 0 else None
