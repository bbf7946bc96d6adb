"""Files of pools, settings and prices: what serves while they are bad, and what is said of it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from floodplain.pools import dump
from floodplain.service.pools_source import Change, PoolsSource
from floodplain.service.readiness import Draining, Readiness, readiness
from floodplain.service.settings import ServiceSettings
from floodplain.sizing.default_pool import default_pool
from floodplain.sizing.settings import SizingSettings

OTHER = default_pool().model_copy(update={"name": "other"})
GOOD, OTHERS = dump([default_pool()]), dump([OTHER])


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def source_of(tmp_path: Path, clock: Clock) -> Callable[..., PoolsSource]:
    def build(**settings: Any) -> PoolsSource:
        return PoolsSource(
            ServiceSettings(**settings),
            clock=clock,
            default_pools=str(tmp_path / "default-pools.json"),
            default_sizing=str(tmp_path / "default-sizing.json"),
        )

    return build


def test_without_any_file_plans_are_for_the_example_pool(source_of: Callable[..., PoolsSource]) -> None:
    source = source_of()
    assert source.look() == Change(content=True, problem=False)
    assert source.snapshot is not None
    assert (source.snapshot.pools, source.snapshot.settings) == ((default_pool(),), SizingSettings())
    assert (source.snapshot.example, source.problem) == (True, None)
    assert source.look() == Change(content=False, problem=False)


def test_a_default_file_that_appears_takes_the_examples_place(
    source_of: Callable[..., PoolsSource], tmp_path: Path
) -> None:
    source = source_of()
    source.look()
    (tmp_path / "default-pools.json").write_bytes(OTHERS)
    assert source.look() == Change(content=True, problem=False)
    assert source.snapshot is not None
    assert (source.snapshot.pools, source.snapshot.example) == ((OTHER,), False)


def test_a_named_file_that_is_bad_at_the_start_serves_nothing_until_it_is_mended(
    source_of: Callable[..., PoolsSource], tmp_path: Path
) -> None:
    file = tmp_path / "pools.json"
    source = source_of(pools=str(file))
    source.look()
    assert source.snapshot is None
    assert source.problem == f"{file}: does not exist; make it, or name another file"
    file.write_bytes(GOOD)
    assert source.look() == Change(content=True, problem=True)
    assert source.snapshot is not None
    assert (source.snapshot.pools, source.problem) == ((default_pool(),), None)


BAD = {
    "empty": (b"", "the pool documents: is not JSON"),
    "half written": (GOOD[: len(GOOD) // 2], "the pool documents: is not JSON"),
    "no pool": (b'{"pools": []}', "names no pool; write at least one"),
    "other shape": (b"[]", "has no list `pools` at the top"),
    "later version": (b'{"pools": [{"schemaVersion": 2}]}', "pools[0].schemaVersion: 2 is another version"),
    "wrong value": (GOOD.replace(b'"swapRatio": 2.0', b'"swapRatio": -1.0'), "pools[0].swapRatio: -1.0 should be"),
    "nested": (b"[" * 100_000, "the pool documents: is not JSON"),
    "not text": (b"\xff\xfe\x00", "the pool documents: is not JSON"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_keeps_the_last_good_pools_and_says_problem_and_age(
    source_of: Callable[..., PoolsSource], tmp_path: Path, clock: Clock, name: str
) -> None:
    content, told = BAD[name]
    file = tmp_path / "pools.json"
    file.write_bytes(GOOD)
    source = source_of(pools=str(file))
    source.look()
    file.write_bytes(content)
    clock.now += 90
    assert source.look() == Change(content=False, problem=True)
    assert source.snapshot is not None
    assert (source.snapshot.pools, source.age_seconds()) == ((default_pool(),), 90)
    assert source.problem is not None
    assert source.problem == source.snapshot.problem
    assert source.problem.startswith(f"{file}: ")
    assert told in source.problem
    assert "\n" not in source.problem
    # Said once, not at each look.
    assert source.look() == Change(content=False, problem=False)
    file.write_bytes(GOOD)
    assert source.look() == Change(content=False, problem=True)
    assert source.age_seconds() == 0


def test_a_file_that_is_taken_away_is_a_problem_and_not_the_example(
    source_of: Callable[..., PoolsSource], tmp_path: Path
) -> None:
    file = tmp_path / "default-pools.json"
    file.write_bytes(OTHERS)
    source = source_of()
    source.look()
    file.unlink()
    source.look()
    assert source.snapshot is not None
    assert (source.snapshot.pools, source.snapshot.example) == ((OTHER,), False)
    assert source.problem == f"{file}: does not exist; make it, or name another file"


def test_good_files_are_young_however_long_they_do_not_change(
    source_of: Callable[..., PoolsSource], clock: Clock
) -> None:
    source = source_of()
    source.look()
    clock.now += 3600
    source.look()
    assert source.age_seconds() == 0


def test_a_change_is_seen_though_size_and_time_stay(source_of: Callable[..., PoolsSource], tmp_path: Path) -> None:
    file = tmp_path / "pools.json"
    file.write_bytes(GOOD)
    source = source_of(pools=str(file))
    source.look()
    before = file.stat()
    file.write_bytes(GOOD.replace(b'"swappiness": 10', b'"swappiness": 20'))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert file.stat().st_size == before.st_size
    assert source.look() == Change(content=True, problem=False)
    assert source.snapshot is not None
    assert source.snapshot.pools[0].swappiness == 20


def test_a_config_map_that_swaps_its_link_is_read_anew(source_of: Callable[..., PoolsSource], tmp_path: Path) -> None:
    """Kubelet writes a new folder and renames a link over `..data`; files are links through it."""
    for name, content in (("..1", GOOD), ("..2", OTHERS)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "pools.json").write_bytes(content)
    (tmp_path / "..data").symlink_to("..1")
    (tmp_path / "pools.json").symlink_to("..data/pools.json")
    source = source_of(pools=str(tmp_path / "pools.json"))
    source.look()
    (tmp_path / "..data_tmp").symlink_to("..2")
    (tmp_path / "..data_tmp").rename(tmp_path / "..data")
    assert source.look() == Change(content=True, problem=False)
    assert source.snapshot is not None
    assert source.snapshot.pools == (OTHER,)


def test_a_pipe_a_folder_and_a_huge_file_are_problems_and_block_nothing(
    source_of: Callable[..., PoolsSource], tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "pipe")
    with (tmp_path / "huge").open("wb") as huge:
        huge.truncate(5 << 20)
    told = {}
    for name in ("pipe", ".", "huge"):
        source = source_of(pools=str(tmp_path / name))
        source.look()
        assert source.problem is not None
        told[name] = source.problem.partition(": ")[2]
    assert told == {
        "pipe": "cannot be read (is no regular file)",
        ".": "cannot be read (is no regular file)",
        "huge": "cannot be read (is larger than 4 MiB)",
    }


def test_each_file_keeps_its_own_last_good_content(source_of: Callable[..., PoolsSource], tmp_path: Path) -> None:
    pools, sizing = tmp_path / "pools.json", tmp_path / "sizing.json"
    pools.write_bytes(GOOD)
    sizing.write_text('{"onDemandFromImages": 100}')
    source = source_of(pools=str(pools), settings=str(sizing))
    source.look()
    pools.write_bytes(OTHERS)
    sizing.write_text('{"onDemandFromImages": -1}')
    assert source.look() == Change(content=True, problem=True)
    assert source.snapshot is not None
    assert source.snapshot.pools == (OTHER,)
    assert source.snapshot.settings == SizingSettings(on_demand_from_images=100)
    assert source.problem is not None
    assert source.problem.startswith(f"{sizing}: onDemandFromImages: -1 ")


def test_prices_never_keep_from_planning(source_of: Callable[..., PoolsSource], tmp_path: Path) -> None:
    file = tmp_path / "prices.tsv"
    source = source_of(prices=str(file))
    source.look()
    assert source.snapshot is not None
    assert (source.snapshot.prices, source.problem) == (
        None,
        f"{file}: does not exist; make it, or name another file",
    )
    file.write_text(
        "region\tday\tinstance_type\ton_demand_usd\tspot_usd\neu-central-1\t2026-01-31\tm6id.large\t0.1\t0.05\n"
    )
    source.look()
    assert source.problem is None
    priced: Any = source.snapshot
    assert priced.prices.label == "eu-central-1, 2026-01-31"


def test_readiness_says_what_serves(source_of: Callable[..., PoolsSource], tmp_path: Path, clock: Clock) -> None:
    file = tmp_path / "pools.json"
    source, draining = source_of(pools=str(file)), Draining()

    def now() -> Readiness:
        source.look()
        return readiness(source.snapshot, draining, problem=source.problem, now=clock.now)

    missing = f"{file}: does not exist; make it, or name another file"
    assert now() == Readiness(False, f"no pools yet: {missing}", problem=missing)
    file.write_bytes(GOOD)
    assert now() == Readiness(True, "plans", ("example",), 0)
    file.unlink()
    clock.now += 7
    assert now() == Readiness(True, "plans with what was good 7 s ago", ("example",), 7, missing)
    draining.begun = True
    assert now() == Readiness(False, "ends: no new requests, please", ("example",), 7, missing)


def test_plans_follow_the_files(in_process: Callable[..., Any], tmp_path: Path) -> None:
    file = tmp_path / "pools.json"
    file.write_bytes(GOOD)
    app = in_process(pools=str(file))
    assert app.plan({"images": 500})["pool"] == "example"
    file.write_bytes(OTHERS)
    app.source.look()
    assert app.plan({"images": 500})["pool"] == "other"
    file.write_bytes(b"no")
    app.source.look()
    assert app.plan({"images": 500})["pool"] == "other"
    assert app.counted("floodplain_pools_problem") == 1
    assert app.client.get("/readyz").status_code == 200


def test_without_pools_plans_are_refused_for_the_moment(in_process: Callable[..., Any], tmp_path: Path) -> None:
    file = tmp_path / "pools.json"
    app = in_process(pools=str(file))
    for answer in (app.client.post("/v1/plans", json={"images": 5}), app.client.get("/v1/pools")):
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
        assert str(file) in answer.json()["problems"][0]["rule"]
    ready = app.client.get("/readyz")
    assert (ready.status_code, json.loads(ready.text)["ready"]) == (503, False)
    assert app.client.get("/healthz").status_code == 200
    assert app.client.get("/").status_code == 200
