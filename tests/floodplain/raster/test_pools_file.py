"""raster.json: what the component writes is what routing reads, and everything wrong is told."""

from __future__ import annotations

import json

import pytest

from components.worker_figures import document
from floodplain.problem import RuleError
from floodplain.quantity import GIB, MIB
from floodplain.raster.pools_file import PoolsFileError, read_pools_file, size_bytes, two_pools
from floodplain.raster.two_pools import TwoPools


def test_what_the_component_writes_gives_the_same_pools() -> None:
    pools = TwoPools(slots=4, small_limit_bytes=3 * GIB, processes=4, agent_bytes=9 * MIB, given_threshold_bytes=MIB)
    assert two_pools(read_pools_file(document(pools).encode()).given) == pools


def test_people_may_write_quantities_and_either_spelling() -> None:
    content = b'{"smallLimitBytes": "8Gi", "big_limit_bytes": "20GiB", "cacheBytes": 67108864, "slots": 6}'
    wanted = {"small_limit_bytes": 8 * GIB, "big_limit_bytes": 20 * GIB, "cache_bytes": 64 * MIB, "slots": 6}
    assert read_pools_file(content).given == wanted


def test_what_comes_later_goes_before() -> None:
    assert two_pools({"slots": 4, "cache_bytes": 64 * MIB}, {"slots": 2}) == TwoPools(slots=2)


@pytest.mark.parametrize(
    ("content", "wanted"),
    [
        ("nonsense", "the pools: are not JSON (Expecting value: line 1 column 1 (char 0)); write one, such as"),
        ("[]", "the pools: are no map; write one, such as"),
        ('{"slotz": 3}', "slotz: is not a known key; did you mean `slots`?"),
        ('{"slots": "3"}', "slots: '3' should be a whole number; write digits without quotes"),
        ('{"slots": true}', "slots: True should be a whole number; write digits without quotes"),
        ('{"cacheBytes": "512MB"}', "cacheBytes: '512MB' is not a quantity; write 512M (decimal) or 512Mi (binary)"),
        ('{"cacheBytes": 1.5}', "cacheBytes: 1.5 should be a whole number; write digits without quotes"),
    ],
)
def test_what_is_wrong_is_told_with_key_value_rule_and_remedy(content: str, wanted: str) -> None:
    with pytest.raises(PoolsFileError) as caught:
        read_pools_file(content.encode())
    assert str(caught.value).startswith(wanted)


def test_everything_wrong_is_told_at_once() -> None:
    with pytest.raises(PoolsFileError) as caught:
        read_pools_file(json.dumps({"slots": 0.5, "smallLimitBytes": "x", "y": 1}).encode())
    assert [problem.path for problem in caught.value.problems] == ["slots", "smallLimitBytes", "y"]


@pytest.mark.parametrize(("text", "count"), [("256MiB", 256 * MIB), (" 1GiB ", GIB), ("64Mi", 64 * MIB), ("512", 512)])
def test_a_size_is_a_quantity_with_or_without_a_b(text: str, count: int) -> None:
    assert size_bytes(text) == count


@pytest.mark.parametrize("text", ["512MB", "5%", "", "-1Mi", "1.5"])
def test_other_sizes_are_refused(text: str) -> None:
    with pytest.raises(RuleError):
        size_bytes(text)
