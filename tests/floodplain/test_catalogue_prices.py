"""Prices: AWS's answers become a table, the table becomes prices, and failures become messages.

data/price-list.json has the documented shape of GetProducts with made-up figures; AWS sends each entry as a text.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import boto3  # type: ignore[import-untyped]
import botocore.session  # type: ignore[import-untyped]
import pytest
from botocore.stub import Stubber  # type: ignore[import-untyped]
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from floodplain.catalogue import load
from floodplain.catalogue.price_list import PriceListError, on_demand_prices, spot_prices
from floodplain.catalogue.prices import Prices, PricesError, read, render
from floodplain.catalogue.refresh import RefreshError
from floodplain.catalogue.refresh_prices import PriceReading, default_prices, read_prices, refresh_prices
from floodplain.cli import app

REGION = "eu-central-1"
NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)
PRICE_LIST = json.loads(Path(__file__).with_name("data").joinpath("price-list.json").read_text())["PriceList"]
ENTRIES = [json.dumps(entry) for entry in PRICE_LIST]
HEADER = "region\tday\tinstance_type\ton_demand_usd\tspot_usd\n"
LINE = "eu-central-1\t2026-01-31\tr6id.2xlarge\t0.5\t0.2\n"


def entry(*prices: tuple[str, dict[str, str]], name: str = "r6id.2xlarge") -> str:
    """An entry with one on-demand term for each unit and price."""
    terms = {
        str(number): {"priceDimensions": {"a": {"unit": unit, "pricePerUnit": price}}}
        for number, (unit, price) in enumerate(prices)
    }
    return json.dumps({"product": {"attributes": {"instanceType": name}}, "terms": {"OnDemand": terms}})


def spot(name: str, zone: str, price: str, hour: int) -> dict[str, Any]:
    return {
        "InstanceType": name,
        "AvailabilityZone": f"{REGION}{zone}",
        "ProductDescription": "Linux/UNIX",
        "SpotPrice": price,
        "Timestamp": NOW + timedelta(hours=hour - 24),
    }


def test_on_demand_prices_are_those_of_on_demand_terms() -> None:
    assert on_demand_prices(ENTRIES) == {
        "r6id.2xlarge": Decimal("0.5"),
        "m6id.large": Decimal("0.1425"),
        "m5.large": Decimal("0.115"),
    }


@pytest.mark.parametrize(
    "text",
    [
        entry(("Hrs", {"USD": "0.0000000000"})),
        entry(("Hrs", {"CNY": "3.5"})),
        entry(("Quantity", {"USD": "3.5"})),
        entry(("Hrs", {"USD": "a lot"})),
        entry(("Hrs", {"USD": "NaN"})),
        entry(("Hrs", {"USD": "-1"})),
        entry(("Hrs", {"USD": "0.5"}), name=""),
        entry(),
        "{}",
        "[]",
        "null",
        '{"product": {"attributes": {"instanceType": "m6id.large"}}, "terms": {"OnDemand": []}}',
        '{"product": {"attributes": {"instanceType": "m6id.large"}}, "terms": {"OnDemand": {"a": 1}}}',
    ],
)
def test_what_is_no_price_in_dollars_an_hour_is_left_out(text: str) -> None:
    assert on_demand_prices([text]) == {}


def test_of_several_prices_of_a_type_the_highest_counts() -> None:
    several = entry(("Hrs", {"USD": "0.5"}), ("Hrs", {"USD": "0.7"}), ("Hrs", {"USD": "0.6"}))
    assert on_demand_prices([several, entry(("Hrs", {"USD": "0.65"}))]) == {"r6id.2xlarge": Decimal("0.7")}


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000])
def test_an_entry_that_is_no_json_is_told(text: str) -> None:
    with pytest.raises(PriceListError, match="an entry of the price list is not JSON"):
        on_demand_prices([text])


def test_the_spot_price_is_the_median_over_the_zones_latest() -> None:
    history = [
        spot("m6id.large", "a", "0.09", 1),
        spot("m6id.large", "a", "0.05", 20),
        spot("m6id.large", "b", "0.07", 20),
        spot("m6id.large", "c", "0.02", 20),
        spot("r6id.large", "a", "0.03", 20),
        spot("r6id.large", "b", "0.04", 20),
        spot("r6id.large", "b", "0.08", 2),
    ]
    wanted = {"m6id.large": Decimal("0.05"), "r6id.large": Decimal("0.04")}
    assert spot_prices(history) == wanted
    assert spot_prices(history[::-1]) == wanted


def test_a_spot_entry_without_price_or_time_is_left_out() -> None:
    good = spot("m6id.large", "a", "0.05", 1)
    assert spot_prices([{**good, "SpotPrice": ""}, {**good, "Timestamp": None}, {}]) == {}


def test_the_table_of_prices_is_what_it_says() -> None:
    text = render(REGION, date(2026, 1, 31), {"r6id.2xlarge": Decimal("0.5000000000")}, {"m6id.large": Decimal("2")})
    assert text.splitlines()[2:] == [
        HEADER.rstrip("\n"),
        "eu-central-1\t2026-01-31\tm6id.large\t\t2",
        "eu-central-1\t2026-01-31\tr6id.2xlarge\t0.5\t",
    ]
    assert read(text.encode()) == Prices(
        REGION, "2026-01-31", {("m6id.large", "spot"): 2.0, ("r6id.2xlarge", "on-demand"): 0.5}
    )


names = st.sampled_from([kind.name for kind in load()])
dollars = st.decimals("0.000001", "999", allow_nan=False, places=6)


@given(st.dictionaries(names, dollars, min_size=1), st.dictionaries(names, dollars), st.dates())
def test_what_is_written_is_read_back(on_demand: dict[str, Decimal], spot: dict[str, Decimal], day: date) -> None:
    prices = read(render(REGION, day, on_demand, spot).encode())
    wanted = {(name, "on-demand"): float(price) for name, price in on_demand.items()}
    wanted |= {(name, "spot"): float(price) for name, price in spot.items()}
    assert prices == Prices(REGION, day.isoformat(), wanted)
    assert prices.label == f"{REGION}, {day.isoformat()}"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "the prices, line 1: is not a table of prices; its first line must name the columns region, day,"),
        ("# only a comment\n\nname\tprice\n", "the prices, line 3: is not a table of prices"),
        (HEADER, "the prices: has no prices; write the table anew with `floodplain catalogue refresh --prices`"),
        (HEADER + "eu-central-1\t2026-01-31\n", "the prices, line 2: has 2 cells; write 5"),
        (HEADER + LINE.replace("0.5", "-1"), "the prices, line 2, on_demand_usd: '-1' is no price; write US dollars"),
        (HEADER + LINE.replace("0.5", "0"), "the prices, line 2, on_demand_usd: '0' is no price"),
        (HEADER + LINE.replace("0.2", "1e3"), "the prices, line 2, spot_usd: '1e3' is no price"),
        (HEADER + LINE.replace("0.5\t0.2", "\t"), "the prices, line 2, instance_type: 'r6id.2xlarge' has no price;"),
        (HEADER + LINE.replace("r6id.2xlarge", "big"), "the prices, line 2, instance_type: 'big' is not the name of"),
        (HEADER + LINE.replace("2026-01-31", "31.1.2026"), "the prices, line 2, day: '31.1.2026' is no day; write"),
        (HEADER + LINE.replace("eu-central-1", "Frankfurt"), "the prices, line 2, region: 'Frankfurt' is no region;"),
        (HEADER + LINE + LINE, "the prices, line 3: 'r6id.2xlarge' is listed twice; keep one line a type"),
        (
            HEADER + LINE + "eu-west-1\t2026-01-31\tm6id.large\t1\t\n",
            "the prices, line 3: is of another region or day than the lines before; keep one region and one day",
        ),
    ],
)
def test_what_is_wrong_with_a_table_is_told(text: str, told: str) -> None:
    with pytest.raises(PricesError) as caught:
        read(text.encode())
    assert len(caught.value.problems) == 1
    assert str(caught.value).startswith(told)


def test_every_wrong_line_is_told_at_once() -> None:
    with pytest.raises(PricesError) as caught:
        read(f"{HEADER}x\n{LINE}{LINE.replace('0.5', 'x')}".encode(), "prices.tsv")
    assert [problem.path for problem in caught.value.problems] == [
        "prices.tsv, line 2",
        "prices.tsv, line 4, on_demand_usd",
        "prices.tsv, line 4",
    ]


def test_bytes_that_are_no_text_are_told() -> None:
    with pytest.raises(PricesError, match=r"the prices: is not UTF-8 \(byte 1\)"):
        read(b"a\xff")


@given(st.binary(max_size=200) | st.text(max_size=200).map(lambda text: f"{HEADER}{text}".encode()))
def test_no_content_ends_in_another_error(content: bytes) -> None:
    try:
        prices = read(content)
    except PricesError as error:
        assert error.problems
    else:
        assert prices.hourly


@pytest.fixture(autouse=True)
def _no_real_account(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")


class Account:
    """The two clients, answering what they are told; where each was asked for is kept."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        session = botocore.session.get_session()
        self.clients = {name: session.create_client(name, region_name="us-east-1") for name in ("pricing", "ec2")}
        self.pricing, self.ec2 = (Stubber(client) for client in self.clients.values())
        self.asked: list[tuple[str, str]] = []
        account = self

        def client(self: Any, name: str, region_name: str | None = None, **others: Any) -> Any:
            account.asked.append((name, region_name or self.region_name))
            return account.clients[name]

        monkeypatch.setattr(boto3.Session, "client", client)

    def products(self, *pages: list[str]) -> None:
        for number, page in enumerate(pages):
            more = {} if number + 1 == len(pages) else {"NextToken": f"page {number + 1}"}
            asked = {"NextToken": f"page {number}"} if number else {}
            self.pricing.add_response(
                "get_products", {"FormatVersion": "aws_v1", "PriceList": page, **more}, {**QUESTION, **asked}
            )

    def spot_history(self, *pages: list[dict[str, Any]]) -> None:
        for number, page in enumerate(pages):
            more = {"NextToken": "" if number + 1 == len(pages) else f"page {number + 1}"}
            asked = {"NextToken": f"page {number}"} if number else {}
            question = {"StartTime": NOW, "ProductDescriptions": ["Linux/UNIX", "Linux/UNIX (Amazon VPC)"], **asked}
            self.ec2.add_response("describe_spot_price_history", {"SpotPriceHistory": page, **more}, question)


QUESTION = {
    "ServiceCode": "AmazonEC2",
    "Filters": [
        {"Type": "TERM_MATCH", "Field": field, "Value": value}
        for field, value in (
            ("productFamily", "Compute Instance"),
            ("operatingSystem", "Linux"),
            ("tenancy", "Shared"),
            ("preInstalledSw", "NA"),
            ("capacitystatus", "Used"),
            ("marketoption", "OnDemand"),
            ("regionCode", REGION),
        )
    ],
}


@pytest.fixture
def account(monkeypatch: pytest.MonkeyPatch) -> Iterator[Account]:
    made = Account(monkeypatch)
    with made.pricing, made.ec2:
        yield made


def test_both_sources_are_read_page_by_page_for_the_types_of_the_catalogue(account: Account) -> None:
    account.products(ENTRIES[:1], ENTRIES[1:])
    account.spot_history([spot("r6id.2xlarge", "a", "0.2", 23)], [spot("t3.micro", "a", "0.001", 23)])
    reading = read_prices(NOW, REGION)
    unpriced = {kind.name for kind in load() if not kind.metal} - {"r6id.2xlarge", "m6id.large"}
    assert reading == PriceReading(
        region=REGION,
        on_demand={"m6id.large": Decimal("0.1425"), "r6id.2xlarge": Decimal("0.5")},
        spot={"r6id.2xlarge": Decimal("0.2")},
        unpriced=tuple(sorted(unpriced)),
    )
    account.pricing.assert_no_pending_responses()
    account.ec2.assert_no_pending_responses()


def test_the_price_list_is_asked_where_it_has_an_endpoint_and_spot_prices_in_their_region(account: Account) -> None:
    account.products(ENTRIES)
    account.spot_history([])
    read_prices(NOW, REGION)
    assert account.asked == [("pricing", "us-east-1"), ("ec2", REGION)]


def test_a_refresh_writes_a_table_that_reads_back(account: Account, tmp_path: Path) -> None:
    account.products(ENTRIES)
    account.spot_history([spot("r6id.2xlarge", "a", "0.2", 23)])
    refresh_prices(tmp_path / "prices.tsv", NOW, REGION)
    assert read((tmp_path / "prices.tsv").read_bytes()) == Prices(
        REGION,
        "2026-01-31",
        {
            ("m6id.large", "on-demand"): 0.1425,
            ("r6id.2xlarge", "on-demand"): 0.5,
            ("r6id.2xlarge", "spot"): 0.2,
        },
    )
    assert [path.name for path in tmp_path.iterdir()] == ["prices.tsv"]


def test_the_command_says_how_many_prices_it_wrote(
    account: Account, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reading = PriceReading(REGION, {"m6id.large": Decimal("0.1")}, {"m6id.large": Decimal("0.05")}, ("r6id.large",))
    asked: list[tuple[Path, str | None]] = []

    def refreshed(output: Path, now: datetime, region: str | None) -> PriceReading:
        asked.append((output, region))
        assert abs(now - datetime.now(UTC)) < timedelta(minutes=5)
        return reading

    monkeypatch.setattr("floodplain.catalogue.refresh_prices.refresh_prices", refreshed)
    for output in (tmp_path / "mine.tsv", None):
        options = () if output is None else ("--output", str(output))
        result = CliRunner().invoke(app, ("catalogue", "refresh", "--prices", "--region", REGION, *options))
        target = output or default_prices()
        assert (result.exit_code, result.output) == (
            0,
            f"{target}: 1 on-demand and 1 spot prices of eu-central-1;"
            " types of the catalogue without a price there: 1\n",
        )
    assert asked == [(tmp_path / "mine.tsv", REGION), (default_prices(), REGION)]


def test_the_command_tells_what_aws_refuses(account: Account, tmp_path: Path) -> None:
    refuse_products(account, "AccessDeniedException")
    arguments = ("catalogue", "refresh", "--prices", "--region", REGION, "--output", str(tmp_path / "prices.tsv"))
    result = CliRunner().invoke(app, arguments)
    assert (result.exit_code, "These credentials lack pricing:GetProducts." in result.output) == (1, True)
    assert not list(tmp_path.iterdir())


def test_an_empty_price_list_writes_nothing(account: Account, tmp_path: Path) -> None:
    account.products([])
    account.spot_history([])
    with pytest.raises(RefreshError, match=r"names no type of the catalogue in eu-central-1; nothing was written"):
        refresh_prices(tmp_path / "prices.tsv", NOW, REGION)
    assert not list(tmp_path.iterdir())


def test_a_price_list_in_another_shape_is_told(account: Account) -> None:
    account.products(["<xml/>"])
    with pytest.raises(RefreshError, match="answered as this release does not know: an entry of the price list is not"):
        read_prices(NOW, REGION)


def test_a_folder_that_does_not_exist_is_told(account: Account, tmp_path: Path) -> None:
    account.products(ENTRIES)
    account.spot_history([])
    with pytest.raises(RefreshError, match=r"cannot be written \(No such file or directory\). Name another file"):
        refresh_prices(tmp_path / "nowhere" / "prices.tsv", NOW, REGION)


def refuse_products(account: Account, code: str) -> None:
    account.pricing.add_client_error("get_products", code, "said AWS")


def refuse_spot(account: Account, code: str) -> None:
    account.products(ENTRIES)
    account.ec2.add_client_error("describe_spot_price_history", code, "said AWS")


@pytest.mark.parametrize(
    ("refuse", "code", "start", "advice"),
    [
        (refuse_products, "AccessDeniedException", "The price list", "These credentials lack pricing:GetProducts."),
        (refuse_products, "ThrottlingException", "The price list", "Wait a minute and ask again."),
        (refuse_products, "ExpiredTokenException", "The price list", "The credentials have expired. Sign in anew."),
        (refuse_products, "UnrecognizedClientException", "The price list", "AWS does not accept these credentials."),
        (refuse_products, "InternalErrorException", "The price list", "said AWS."),
        (refuse_spot, "UnauthorizedOperation", "EC2's spot prices", "lack ec2:DescribeSpotPriceHistory."),
        (refuse_spot, "RequestLimitExceeded", "EC2's spot prices", "Wait a minute and ask again."),
    ],
)
def test_what_aws_refuses_is_told_with_advice(
    account: Account, refuse: Callable[[Account, str], None], code: str, start: str, advice: str
) -> None:
    refuse(account, code)
    with pytest.raises(RefreshError) as caught:
        read_prices(NOW, REGION)
    assert str(caught.value).startswith(f"{start} cannot be read: ")
    assert advice in str(caught.value)


def test_no_region_is_told() -> None:
    with pytest.raises(RefreshError, match=r"No AWS region is set. Give --region"):
        read_prices(NOW)


def test_regions_in_china_have_no_prices_in_dollars() -> None:
    with pytest.raises(RefreshError, match="cn-north-1: AWS lists prices in China in CNY, and plans count US dollars"):
        read_prices(NOW, "cn-north-1")


def test_no_credentials_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    with pytest.raises(RefreshError, match="No AWS credentials were found"):
        read_prices(NOW, REGION)


def test_the_default_place_is_beside_the_table_of_types_and_no_table_is_shipped() -> None:
    assert default_prices().name == "prices.tsv"
    assert default_prices().with_name("instance-types.tsv").exists()
    ignored = Path(__file__).parents[2].joinpath(".gitignore").read_text().splitlines()
    assert "floodplain/catalogue/prices.tsv" in ignored
