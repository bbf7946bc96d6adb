"""What does an instance cost? Karpenter's own price table, in the forms in which AWS tells prices.

The table is generated Go source in Karpenter's module and holds us-east-1 only; Karpenter falls back to it for every
other region too, so that fleets are ordered here as Karpenter orders them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any
from xml.etree import ElementTree

SPOT_SHARE = 0.35
"""Of the on-demand price. Any constant share keeps the order of types."""
PAGE = 100
_ENTRY = re.compile(r'"([a-z0-9-]+\.[a-z0-9-]+)":\s*([0-9.]+)')


def read_table(go_source: str) -> dict[str, float]:
    """On-demand price an hour by instance type, from pricing/zz_generated.pricing_aws.go."""
    begin = go_source.index('"us-east-1": {')
    end = go_source.index("\n\t},", begin)
    return {name: float(price) for name, price in _ENTRY.findall(go_source[begin:end])}


def products(prices: Mapping[str, float], request: Mapping[str, Any]) -> dict[str, Any]:
    """The answer to pricing GetProducts, a page of 100; metal types have a product family of their own."""
    filters = {one["Field"]: one["Value"] for one in request.get("Filters", [])}
    metal = "metal" in filters.get("productFamily", "")
    names = sorted(name for name in prices if (".metal" in name) == metal)
    start = int(request.get("NextToken") or 0)
    page = names[start : start + PAGE]
    answer: dict[str, Any] = {
        "FormatVersion": "aws_v1",
        "PriceList": [json.dumps(_product(name, prices[name])) for name in page],
    }
    if start + PAGE < len(names):
        answer["NextToken"] = str(start + PAGE)
    return answer


def _product(name: str, price: float) -> dict[str, Any]:
    dimension = {"pricePerUnit": {"USD": f"{price:.10f}"}, "unit": "Hrs"}
    return {
        "product": {"attributes": {"instanceType": name}},
        "serviceCode": "AmazonEC2",
        "terms": {"OnDemand": {"term": {"priceDimensions": {"dimension": dimension}}}},
    }


def with_spot_prices(answer: ElementTree.Element, prices: Mapping[str, float]) -> None:
    """Replace the prices in an answer of DescribeSpotPriceHistory; types without a price keep moto's."""
    for entry in answer.iter("item"):
        name, price = entry.findtext("instanceType"), entry.find("spotPrice")
        if price is not None and name is not None and name in prices:
            price.text = f"{SPOT_SHARE * prices[name]:.6f}"
