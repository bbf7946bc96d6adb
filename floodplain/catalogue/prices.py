"""What instance types cost: a table of prices of one region on one day. Tab-separated, one type a line, comments first.

Not where prices come from (`price_list` reads AWS's answers, `refresh_prices` asks for them) and not what a plan costs
(`floodplain.sizing.cost`). No table is shipped: prices differ by region and change.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal

from floodplain.catalogue.instance_type import name_parts
from floodplain.problem import Problem, ProblemsError
from floodplain.tab_separated import rows

ON_DEMAND, SPOT = "on-demand", "spot"
"""Karpenter's capacity types that have prices of their own."""
COLUMNS = ("region", "day", "instance_type", "on_demand_usd", "spot_usd")
PACKAGED = "prices.tsv"
REGION = re.compile(r"[a-z0-9]+(-[a-z0-9]+)+")
_ANEW = "write the table anew with `floodplain catalogue refresh --prices`"


@dataclass(frozen=True)
class Prices:
    """US dollars an hour by instance type and capacity type, of one region on one day."""

    region: str
    day: str
    """ISO date of the reading."""
    hourly: Mapping[tuple[str, str], float]

    @property
    def label(self) -> str:
        return f"{self.region}, {self.day}"


class PricesError(ProblemsError):
    """A table of prices that cannot be read. `problems` lists every line that is wrong."""


def read(content: bytes, origin: str = "the prices") -> Prices:
    """The prices in a table; `origin` names it in messages. Raises PricesError with every problem."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise PricesError([Problem(origin, f"is not UTF-8 (byte {error.start})", _ANEW)]) from error
    hourly: dict[tuple[str, str], float] = {}
    problems: list[Problem] = []
    places: set[tuple[str, str]] = set()
    for one in rows(text, COLUMNS, origin=origin, rule="is not a table of prices", remedy=_ANEW):
        if isinstance(one, Problem):
            problems.append(one)
            continue
        where, row = one.where, one.cells
        found = [Problem(f"{where}, {name}", rule, remedy, row[name]) for name, rule, remedy in _wrong_cells(row)]
        places.add((row["region"], row["day"]))
        if not found and len(places) > 1:
            remedy = f"keep one region and one day in a table; {_ANEW}"
            found.append(Problem(where, "is of another region or day than the lines before", remedy))
        name = row["instance_type"]
        if (name, ON_DEMAND) in hourly or (name, SPOT) in hourly:
            found.append(Problem(where, "is listed twice", "keep one line a type", name))
        problems += found
        for capacity_type, cell in ((ON_DEMAND, row["on_demand_usd"]), (SPOT, row["spot_usd"])):
            if cell and not found:
                hourly[name, capacity_type] = float(cell)
    if not problems and not places:
        problems.append(Problem(origin, "has no prices", _ANEW))
    if problems:
        raise PricesError(problems)
    ((region, day),) = places
    return Prices(region, day, hourly)


def render(region: str, day: datetime.date, on_demand: Mapping[str, Decimal], spot: Mapping[str, Decimal]) -> str:
    """The table of these prices (US dollars an hour by type), by name."""
    lines = [
        "# US dollars an hour of Linux instances, read by `floodplain catalogue refresh --prices`. Empty: no price.",
        "# on_demand_usd: AWS's price list. spot_usd: of each zone the latest price, of these the median.",
        "\t".join(COLUMNS),
    ]
    for name in sorted(on_demand.keys() | spot.keys()):
        cells = (region, day.isoformat(), name, _cell(on_demand.get(name)), _cell(spot.get(name)))
        lines.append("\t".join(cells))
    return "\n".join(lines) + "\n"


def _cell(price: Decimal | None) -> str:
    """Without zeros at the end and without an exponent."""
    if price is None:
        return ""
    text = f"{price:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _wrong_cells(row: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    if not REGION.fullmatch(row["region"]):
        yield "region", "is no region", "name one, such as eu-central-1"
    if not _is_day(row["day"]):
        yield "day", "is no day", "write year-month-day, such as 2026-01-31"
    if name_parts(row["instance_type"]) is None:
        yield "instance_type", "is not the name of an instance type", _ANEW
    for name in ("on_demand_usd", "spot_usd"):
        if row[name] and not _is_price(row[name]):
            yield name, "is no price", "write US dollars an hour with digits and a point, or nothing"
    if not row["on_demand_usd"] and not row["spot_usd"]:
        yield "instance_type", "has no price", "leave the line out"


def _is_day(text: str) -> bool:
    try:
        return datetime.date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _is_price(text: str) -> bool:
    return re.fullmatch(r"[0-9]{1,6}(\.[0-9]{1,12})?", text) is not None and float(text) > 0
