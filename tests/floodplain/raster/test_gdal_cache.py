"""GDAL_CACHEMAX: what real GDAL makes of texts and of rasterio's option, and what the linter says of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from floodplain.problem import RuleError
from floodplain.quantity import GIB, MIB
from floodplain.raster.gdal_cache import cache_bytes, lint, pinned

GIVEN = [
    *("64", "0", "99999", "100000", "268435456", "+64", "  64", "64.9", "1e9", "0x40", "-5", "abc", ""),
    *("256MB", "256 MB", "512MiB", "64M", "64 m", "1GB", "1g", "2GiB", ".5GB", "1.5 gb", "64KB", "64b", "100000MB"),
    *("268435456B", "-1MB", "99999999999999999999", "-99999999999999999999", "1_000", "64;128"),
    *("5%", "50%", "0.5%", "5 %", " 5%", "200%", "10%MB", "-5%", "x5%", "%", "1,5%", "64%x", "1e1%", ".5%", "5.%"),
    *("1e99%", "inf%", "nan%", "-%", "+3%", "1e%", "1e+0%"),
]
ASK = """
import json, os, sys
from rasterio._env import get_gdal_config
def ask(text):  # GDAL reads the variable once in a process
    reader, writer = os.pipe()
    if os.fork() == 0:
        os.environ.pop("GDAL_CACHEMAX", None)
        if text is not None:
            os.environ["GDAL_CACHEMAX"] = text
        os.write(writer, str(get_gdal_config("GDAL_CACHEMAX")).encode())
        os._exit(0)
    os.wait()
    return int(os.read(reader, 100))
print(json.dumps([ask(text) for text in json.load(sys.stdin)]))
"""


def gdal_says(texts: list[str | None]) -> list[int]:
    environment = {name: value for name, value in os.environ.items() if name != "GDAL_CACHEMAX"}
    done = subprocess.run(
        [sys.executable, "-c", ASK],
        input=json.dumps(texts),
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return [int(count) for count in json.loads(done.stdout)]


def test_texts_mean_what_real_gdal_makes_of_them() -> None:
    all_of_it, *said = gdal_says(["100%", None, *GIVEN])
    ours = [cache_bytes(text, all_of_it) for text in (None, *GIVEN)]
    assert dict(zip((None, *GIVEN), ours, strict=True)) == dict(zip((None, *GIVEN), said, strict=True))


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("256", 256 * MIB),
        ("99999", 99_999 * MIB),
        ("100000", 100_000),
        ("256MB", 256 * MIB),
        ("1GB", MIB),
        ("5%", GIB // 20),
        (None, GIB // 20),
        ("0", 0),
        ("-1%", 40 * MIB),
    ],
)
def test_a_text_in_a_container_of_a_gibibyte(text: str | None, count: int) -> None:
    assert cache_bytes(text, GIB) == count


@given(st.integers(min_value=1, max_value=200_000).map(lambda count: count * MIB) | st.integers(100_000, 1 << 62))
def test_what_is_pinned_is_read_as_the_same_bytes_and_has_no_fault_of_unit(count: int) -> None:
    text = pinned(count)
    assert cache_bytes(text, GIB) == count
    assert [problem.rule for problem in lint(text, GIB) if "cache of" not in problem.rule] == []


@pytest.mark.parametrize("count", [0, -1, 64, 99_999, 1 << 63])
def test_bytes_that_gdal_would_take_for_megabytes_are_not_written(count: int) -> None:
    with pytest.raises(RuleError, match="counts numbers below 100,000 as MB"):
        pinned(count)


def test_pinned_texts() -> None:
    assert [pinned(count) for count in (64 * MIB, 256 * MIB, 100_000 * MIB, 1_000_001)] == [
        "64MB",
        "256MB",
        "104857600000",
        "1000001",
    ]


@pytest.mark.parametrize("text", ["64", "256MB", "512MiB", "268435456", "268435456B", "1000m"])
def test_nothing_is_wrong_with_a_cache_whose_unit_is_read(text: str) -> None:
    assert lint(text, 64 * GIB, limit_bytes=8 * GIB) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            None,
            "GDAL_CACHEMAX: is not set: the cache is 5 % of the memory GDAL sees, here 1,638.4 MiB a process; "
            "write 64MB, or what the worker was sized with",
        ),
        (
            "75%",
            "GDAL_CACHEMAX: '75%' is a share of the memory GDAL sees, here 24,576 MiB a process: other machines, other "
            "caches; write 64MB, or what the worker was sized with",
        ),
        ("0", "GDAL_CACHEMAX: '0' is 0 to GDAL: no cache; write 64MB, or what the worker was sized with"),
        (
            ".5GB",
            "GDAL_CACHEMAX: '.5GB' has no number at its beginning: GDAL takes it for 0, no cache; write 64MB, or what "
            "the worker was sized with",
        ),
        (
            "0.5GB",
            "GDAL_CACHEMAX: '0.5GB' is 0 to GDAL, which reads whole numbers: no cache; write 64MB, or what the "
            "worker was sized with",
        ),
        (
            "-1",
            "GDAL_CACHEMAX: '-1' is negative: GDAL takes 5 % of the memory it sees, 1,638.4 MiB; write 64MB, or what "
            "the worker was sized with",
        ),
        ("1GB", "GDAL_CACHEMAX: '1GB' is 1 MiB to GDAL 3.10, which reads no units; write 1024MB"),
        ("65536KB", "GDAL_CACHEMAX: '65536KB' is 65,536 MiB to GDAL 3.10, which reads no units; write 64MB"),
        ("200000MB", "GDAL_CACHEMAX: '200000MB' is 0.2 MiB to GDAL 3.10, which reads no units; write 209715200000"),
        ("64b", "GDAL_CACHEMAX: '64b' is 64 MiB to GDAL 3.10, which reads no units; write whole MB, such as 64MB"),
        ("1.5GB", "GDAL_CACHEMAX: '1.5GB' is 1 MiB to GDAL 3.10, which reads no units; write whole MB, such as 64MB"),
        (
            "100000",
            "GDAL_CACHEMAX: '100000' makes a cache of 100,000 bytes: blocks are decoded again and again; "
            "write 64MB or more",
        ),
    ],
)
def test_a_wrong_text_is_told_with_what_gdal_makes_of_it(text: str | None, said: str) -> None:
    assert [str(problem) for problem in lint(text, 32 * GIB)] == [said]


def test_caches_are_counted_once_a_process() -> None:
    """24 processes with 5 % each took 120 % of a machine: opendatacube/eo-datasets issue 81."""
    assert lint("400MB", 64 * GIB, limit_bytes=8 * GIB) == []
    assert [str(problem) for problem in lint("400MB", 64 * GIB, limit_bytes=8 * GIB, processes=24)] == [
        "GDAL_CACHEMAX: '400MB' makes 24 caches of 400 MiB, one a process, in a worker of 8,192 MiB: above half of it; "
        "write 85MB or less, or have fewer processes"
    ]


def test_rasterio_takes_a_number_for_bytes_and_refuses_a_text() -> None:
    ask = """
import rasterio
from rasterio._env import get_gdal_config
for value in (512, 67108864, "64MB"):
    try:
        with rasterio.Env(GDAL_CACHEMAX=value):
            print(get_gdal_config("GDAL_CACHEMAX"))
    except TypeError:
        print("TypeError")
"""
    done = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["512", "67108864", "TypeError"]
