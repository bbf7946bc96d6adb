"""Edge: read what a region's instance types cost from AWS's price list and EC2's spot prices, and write a table.

Whoever runs it needs pricing:GetProducts and ec2:DescribeSpotPriceHistory. Imports boto3 when called, not before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from floodplain.catalogue.price_list import FILTERS, SPOT_PRODUCTS, PriceListError, on_demand_prices, spot_prices
from floodplain.catalogue.prices import PACKAGED, render
from floodplain.catalogue.refresh import RefreshError, refusal, replace_file
from floodplain.catalogue.table import load

_PRICE_LIST_REGION = "us-east-1"
"""One of the few with the price list's endpoint; it knows the prices of all regions."""


@dataclass(frozen=True)
class PriceReading:
    """What was read: prices by type, in US dollars an hour, and the types of the catalogue that have none."""

    region: str
    on_demand: Mapping[str, Decimal]
    spot: Mapping[str, Decimal]
    unpriced: tuple[str, ...]
    """Most often types that the region does not have."""


def default_prices() -> Path:
    """The table of prices beside the table of types that this installation reads."""
    return Path(__file__).with_name(PACKAGED)


def refresh_prices(output: Path, now: datetime, region: str | None = None) -> PriceReading:
    """Replace the table at `output` by today's prices of a region. The whole file or nothing. Raises RefreshError."""
    reading = read_prices(now, region)
    replace_file(output, render(reading.region, now.date(), reading.on_demand, reading.spot))
    return reading


def read_prices(now: datetime, region: str | None = None) -> PriceReading:
    """Prices of the catalogue's virtual types in a region, page by page. Raises RefreshError."""
    try:
        import boto3  # type: ignore[import-untyped]
        from botocore.config import Config  # type: ignore[import-untyped]
        from botocore.exceptions import BotoCoreError, ClientError, NoRegionError  # type: ignore[import-untyped]
    except ModuleNotFoundError as error:
        raise RefreshError("Reading prices needs boto3: pip install 'floodplain[cli]'.") from error
    asked, permission = "The price list", "pricing:GetProducts"
    try:
        config = Config(connect_timeout=10, read_timeout=60, retries={"mode": "standard", "max_attempts": 4})
        session: Any = boto3.Session(region_name=region)
        if not session.region_name:
            raise NoRegionError
        if session.region_name.startswith("cn-"):
            raise RefreshError(
                f"{session.region_name}: AWS lists prices in China in CNY, and plans count US dollars."
                " Name a region outside China."
            )
        products = session.client("pricing", region_name=_PRICE_LIST_REGION, config=config)
        on_demand = on_demand_prices(_entries(products, session.region_name))
        asked, permission = "EC2's spot prices", "ec2:DescribeSpotPriceHistory"
        ec2 = session.client("ec2", config=config)
        pages = ec2.get_paginator("describe_spot_price_history").paginate(
            # From now on: of each zone the price that holds.
            StartTime=now,
            ProductDescriptions=[*SPOT_PRODUCTS],
        )
        spot = spot_prices([entry for page in pages for entry in page["SpotPriceHistory"]])
    except (BotoCoreError, ClientError) as error:
        raise RefreshError(refusal(error, asked, permission)) from error
    except PriceListError as error:
        raise RefreshError(f"The price list answered as this release does not know: {error}.") from error
    known = sorted(kind.name for kind in load() if not kind.metal)
    reading = PriceReading(
        region=session.region_name,
        on_demand={name: on_demand[name] for name in known if name in on_demand},
        spot={name: spot[name] for name in known if name in spot},
        unpriced=tuple(name for name in known if name not in on_demand and name not in spot),
    )
    if not reading.on_demand:
        raise RefreshError(
            f"The price list names no type of the catalogue in {reading.region}; nothing was written. "
            "Check the region's name, or try another."
        )
    return reading


def _entries(products: Any, region: str) -> list[str]:
    filters = [
        {"Type": "TERM_MATCH", "Field": field, "Value": value}
        for field, value in {**FILTERS, "regionCode": region}.items()
    ]
    pages = products.get_paginator("get_products").paginate(ServiceCode="AmazonEC2", Filters=filters)
    return [entry for page in pages for entry in page["PriceList"]]
