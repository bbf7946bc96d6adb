"""`floodplain raster workers` and `raster bill`: what they print, and never a traceback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from benchmarks.raster_bill import tiles
from floodplain.cli import app
from floodplain.cli_raster_options import POOL_OPTIONS
from floodplain.quantity import GIB, MIB
from floodplain.raster.bill import make_bill
from floodplain.raster.bill_told import document as bill_document
from floodplain.raster.history_file import append, read
from floodplain.raster.memory_price import MemoryPrice
from floodplain.raster.pools_file import read_pools_file, size_bytes, two_pools
from floodplain.raster.record import Record
from floodplain.raster.sized_worker import Wishes, size_worker
from floodplain.raster.worker_told import document as worker_document
from floodplain.raster.worker_told import route_options
from tests.conftest import Golden


def run(*arguments: str, **environment: str) -> Result:
    screen = {"COLUMNS": "120", "NO_COLOR": "1", "TERM": "dumb", "FLOODPLAIN_PRICES": None, **environment}
    result = CliRunner().invoke(app, ("raster", *arguments), env=screen)
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result


def refused(*arguments: str, status: int = 1) -> list[str]:
    """Lines of standard error; nothing may be on standard output."""
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (status, "")
    return result.stderr.splitlines()


def text(result: Result) -> str:
    assert (result.exit_code, result.stderr) == (0, "")
    return "".join(f"{line.rstrip()}\n" for line in result.stdout.splitlines())


def written(path: Path, records: Iterable[Record]) -> str:
    path.write_text("".join(record.model_dump_json(exclude_defaults=True) + "\n" for record in records))
    return str(path)


def record(mib: float, **others: Any) -> Record:
    marginal = round(mib * MIB)
    usual = {"layer": "ortho", "baseline_bytes": 67 * MIB, "peak_bytes": marginal + 67 * MIB, "seconds": 10}
    return Record.model_validate({**usual, "marginal_bytes": marginal, **others})


def killed(mib: float, **others: Any) -> Record:
    return record(mib, outcome="killed", censored=True, method="none", **others)


@pytest.fixture(autouse=True)
def _no_table_of_prices(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A developer may have one beside the catalogue."""
    monkeypatch.setattr("floodplain.cli_plan_files.default_prices", lambda: tmp_path / "prices.tsv")


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> str:
    return written(tmp_path_factory.mktemp("history") / "peaks.jsonl", tiles(0, 500))


@pytest.fixture
def troubled(tmp_path: Path) -> str:
    """Few tasks, kills, sets of tasks that gain nothing, a layer beside it."""
    records = [record(100 + number) for number in range(100)]
    records += [killed(2048, slot_limit_bytes=2 * GIB), record(30, layer="dem")]
    records += [record(250 * many, concurrent=many, seconds=10 * many) for many in (2, 4) for _ in range(5)]
    return written(tmp_path / "troubled.jsonl", records)


def test_a_worker_is_printed_for_people(history: str, golden: Golden) -> None:
    golden.check("floodplain/raster/golden/workers.txt", text(run("workers", "--history", history)))


def test_a_history_with_killed_tasks_gives_a_lower_bound_and_says_so(troubled: str, golden: Golden) -> None:
    golden.check("floodplain/raster/golden/workers-killed.txt", text(run("workers", "--history", troubled)))


def test_a_bill_is_printed_for_people(history: str, golden: Golden) -> None:
    golden.check(
        "floodplain/raster/golden/bill.txt", text(run("bill", "--history", history, "--slots", "8", "--price", "0.005"))
    )


def test_json_is_the_worker(history: str) -> None:
    result = run("workers", "--history", history, "--slots", "4", "--cache", "256MiB", "--json")
    wanted = size_worker(tiles(0, 500), Wishes(slots=4, cache_bytes=256 * MIB))
    assert json.loads(result.stdout) == json.loads(json.dumps(worker_document(wanted)))
    assert {"slots", "limit_bytes", "threshold_bytes", "gdal_cachemax", "terms", "warnings"} <= set(
        json.loads(result.stdout)
    )


def test_every_option_reaches_the_worker(tmp_path: Path) -> None:
    records = [*tiles(0, 400), *(tile.model_copy(update={"layer": "dem"}) for tile in tiles(1, 400))]
    result = run(
        *("workers", "--history", written(tmp_path / "x", records), "--layer", "dem", "--memory", "16Gi"),
        *("--processes", "each", "--baseline", "90Mi", "--cache", "128Mi", "--cache-in-peak", "16Mi"),
        *("--agent", "200Mi", "--headroom", "1.5", "--threshold", "0.8", "--quantile", "0.9", "--json"),
    )
    wishes = Wishes(
        limit_bytes=16 * GIB,
        processes=None,
        baseline_bytes=90 * MIB,
        cache_bytes=128 * MIB,
        cache_in_marginal_bytes=16 * MIB,
        headroom=1.5,
        agent_bytes=200 * MIB,
        threshold_share=0.8,
        quantile=0.9,
    )
    wanted = worker_document(size_worker(records, wishes, layer="dem"))
    assert json.loads(result.stdout) == json.loads(json.dumps(wanted))
    assert wanted["processes"] == wanted["slots"] > 1


def test_json_is_the_bill_with_its_money(history: str, tmp_path: Path) -> None:
    result = run("bill", "--history", history, "--workers", "3", "--price", "0.01", "--json")
    higher = make_bill(tiles(0, 500), Wishes(threshold_share=0.8), workers=3)
    wanted = bill_document(make_bill(tiles(0, 500), workers=3), MemoryPrice(0.01, "--price"), higher)
    assert json.loads(result.stdout) == json.loads(json.dumps(wanted))
    table = tmp_path / "table.tsv"
    table.write_text(
        "region\tday\tinstance_type\ton_demand_usd\tspot_usd\neu-central-1\t2026-01-31\tr6id.large\t0.16\t\n"
    )
    for given in (run("bill", "--history", history, "--prices", str(table), "--json"),
                  run("bill", "--history", history, "--json", FLOODPLAIN_PRICES=str(table))):  # fmt: skip
        assert json.loads(given.stdout)["price_source"] == "r6id.large on demand, eu-central-1, 2026-01-31"
    assert "no price of memory is known" in run("bill", "--history", history).stdout


def test_the_plot_is_written(history: str, tmp_path: Path) -> None:
    target = tmp_path / "peaks.svg"
    result = run("bill", "--history", history, "--plot", str(target))
    assert result.stdout.endswith(f"\nPlot: {target}\n")
    assert ElementTree.fromstring(target.read_text()).tag == "{http://www.w3.org/2000/svg}svg"
    assert refused("bill", "--history", history, "--plot", str(tmp_path / "no" / "x.svg")) == [
        f"--plot: {tmp_path / 'no' / 'x.svg'} cannot be written (No such file or directory); name another file"
    ]


def test_histories_of_several_machines_are_read_one_after_the_other(tmp_path: Path) -> None:
    for name, mib in (("one", 100), ("two", 200)):
        append(tmp_path / name, record(mib))
    found = json.loads(
        run("workers", "--history", str(tmp_path / "one"), "--history", str(tmp_path / "two"), "--json").stdout
    )
    assert (found["peak"]["values"], found["largest_bytes"]) == (2, 200 * MIB)


@pytest.mark.parametrize("command", ["workers", "bill"])
def test_one_record_is_answered_with_what_it_is_worth(command: str, tmp_path: Path) -> None:
    history = written(tmp_path / "one", [record(100)])
    words = " ".join(text(run(command, "--history", history)).split())
    assert "p99 by maximum 110 MiB" in words
    if command == "workers":
        assert (
            "1 task, fewer than 299: the maximum, 100 MiB, times 1.1; by itself it lies above the p99 with a "
            "probability of 1 %"
        ) in words


@pytest.mark.parametrize("command", ["workers", "bill"])
def test_a_history_of_kills_alone_has_lower_bounds_alone(command: str, tmp_path: Path) -> None:
    history = written(tmp_path / "killed", [killed(1024)] * 3)
    words = " ".join(text(run(command, "--history", history)).split())
    assert "at least 1,024 MiB" in words
    assert "no task ended within its memory: there are only lower bounds" in words
    assert "p99 1,024" not in words


@pytest.mark.parametrize("command", ["workers", "bill"])
def test_histories_that_say_nothing_are_refused_with_what_to_do(command: str, tmp_path: Path) -> None:
    empty, zeros = written(tmp_path / "empty", []), written(tmp_path / "zeros", [record(0)] * 9)
    measure = "measure tasks first: `floodplain measure -- COMMAND`, or `measured` in Python"
    assert refused(command, "--history", empty) == [f"--history: {empty} has no records; {measure}"]
    assert refused(command, "--history", zeros) == [
        "--history: has no task that held anything beyond its baseline; measure anew with `floodplain measure`: a "
        "difference of ru_maxrss is 0 for all but the largest tasks"
    ]
    absent = str(tmp_path / "absent")
    assert refused(command, "--history", absent) == [
        f"--history: {absent} cannot be read (No such file or directory); name a file that you may read"
    ]
    assert refused(command, "--history", str(tmp_path)) == [
        f"--history: {tmp_path} cannot be read (Is a directory); name a file that you may read"
    ]


def test_every_bad_line_of_a_history_is_told(tmp_path: Path) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text(
        f'{record(1).model_dump_json()}\nnothing\n{{"layer": "x", "peak_bytes": -1, "marginal_bytes": 1}}\n'
    )
    said = refused("workers", "--history", str(path))
    assert [line.removeprefix(f"--history: {path}: ")[:6] for line in said] == ["line 2", "line 3"]
    path.write_bytes(os.urandom(4000))
    assert all(line.startswith(f"--history: {path}: line") for line in refused("bill", "--history", str(path)))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--layer", "orto"), ["--layer: 'orto' is not a layer of the history; did you mean `ortho`?"]),
        (
            ("--slots", "4", "--memory", "8Gi"),
            ["--memory: does not go with --slots: each follows from the other; leave one of them out"],
        ),
        (
            ("--slots", "0", "--processes", "many", "--cache", "512", "--agent", "1gb"),
            [
                "--slots: '0' is no count from 1 to 10,000; write digits",
                "--processes: 'many' is no count from 1 to 10,000; write digits, or `each` for one a slot",
                "--cache: '512' is less than 1 MiB; write the unit too: 512Mi if MiB are meant",
                "--agent: '1gb' is not a quantity; write 1G (decimal) or 1Gi (binary)",
            ],
        ),
        (("--cache", "0"), ["--cache: '0' is no cache: blocks are decoded again and again; write 64Mi or more"]),
        (
            ("--slots", "2", "--processes", "3", "--headroom", "0.5"),
            [
                "--headroom: 0.5 is not from 1 to 10; write a factor such as 1.3",
                "--processes: 3 are more than the 2 slots; a process without a slot only costs",
            ],
        ),
        (
            ("--threshold", "1.5"),
            [
                "--threshold: 1.5 is not above 0 and at most 1: a threshold is a share of the slot budget; write "
                "0.5, or "
                "leave it out"
            ],
        ),
        (("--quantile", "99"), ["--quantile: 99.0 is no quantile; give one between 0 and 1, such as 0.99"]),
        (("--memory", "300"), ["--memory: '300' is less than 1 MiB; write the unit too: 300Mi if MiB are meant"]),
        (("--agent", "100k"), ["--agent: '100k' is less than 1 MiB; write a size such as 256Mi"]),
        (
            ("--memory", "0", "--baseline", "0Gi"),
            [
                "--memory: '0' is nothing; write a size such as 256Mi",
                "--baseline: '0Gi' is nothing; write a size such as 256Mi",
            ],
        ),
        (
            ("--cache-in-peak", "80Mi"),
            ["--cache-in-peak: '80Mi' is more than the peak or the cache has (64 MiB); write 0 if it is not known"],
        ),
    ],
)
def test_wrong_options_are_told_by_their_names(history: str, arguments: tuple[str, ...], said: list[str]) -> None:
    assert refused("workers", "--history", history, *arguments, status=2) == said


def test_a_memory_that_holds_no_slot_is_refused_with_what_one_needs(history: str) -> None:
    (line,) = refused("workers", "--history", history, "--memory", "512Mi", status=2)
    peak = size_worker(tiles(0, 500)).peak.bytes / MIB
    assert line.startswith(f"--memory: '512Mi' holds no slot: a process and a task of p99 {peak:,.1f} MiB need 1,")
    assert line.endswith(" MiB; give more memory or a smaller cache, or send more tasks to the big pool")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--workers", "0"), ["--workers: '0' is no count from 1 to 10,000; write digits"]),
        (
            ("--price", "-1"),
            ["--price: -1.0 is no price; write US dollars for a GiB of memory for an hour, such as 0.005"],
        ),
    ],
)
def test_wrong_options_of_a_bill(history: str, arguments: tuple[str, ...], said: list[str]) -> None:
    assert refused("bill", "--history", history, *arguments, status=2) == said


@pytest.mark.parametrize("command", ["workers", "bill"])
@pytest.mark.parametrize(
    ("others", "said"),
    [
        ({"marginal_bytes": 10**400}, "--history: has a task of layer 'ortho' with more than 1024 PiB"),
        ({"seconds": 1e300, "task": "z"}, "--history: has a task 'z' of layer 'ortho' with more than 1e+09 seconds"),
    ],
)
def test_records_that_cannot_be_are_told(command: str, others: dict[str, Any], said: str, tmp_path: Path) -> None:
    history = written(tmp_path / "x", [record(100), record(100, **others)])
    assert refused(command, "--history", history) == [f"{said}; correct the record, or remove it"]


def test_a_worker_of_pettiest_and_largest_tasks_is_answered(tmp_path: Path) -> None:
    for marginal in (64 * 1024, 1 << 60):
        history = written(tmp_path / "x", [record(0, marginal_bytes=marginal, seconds=0)] * 2)
        assert run("bill", "--history", history, "--slots", "10000", "--plot", str(tmp_path / "x.svg")).exit_code == 0


def test_what_was_really_measured_sizes_a_worker(tmp_path: Path) -> None:
    """Tasks of 20 to 60 MiB in one process, measured there, read by the command."""
    work = """
import sys
from floodplain.raster import measured
for mebibytes in (20, 60, 40):
    with measured(layer="ortho", history=sys.argv[1]):
        bytearray(b"1") * (mebibytes << 20)
"""
    history = str(tmp_path / "peaks.jsonl")
    subprocess.run([sys.executable, "-c", work, history], check=True, capture_output=True)
    found = json.loads(run("workers", "--history", history, "--slots", "2", "--json").stdout)
    assert (found["peak"]["rule"], found["peak"]["values"], found["peak"]["bounds"]) == ("maximum", 3, 0)
    assert found["peak"]["bytes"] / 1.1 / MIB == pytest.approx(60, abs=8)
    baseline = next(term["bytes"] for term in found["terms"] if term["name"] == "baseline")
    assert 5 * MIB < baseline < 200 * MIB
    assert found["limit_bytes"] >= baseline + 64 * MIB + 2 * 60 * MIB


def test_the_pools_of_an_answer_are_those_that_routing_takes_as_options_and_as_a_file(
    history: str, tmp_path: Path
) -> None:
    records = read(history)
    for wishes in (Wishes(), Wishes(processes=None), Wishes(threshold_share=0.8, agent_bytes=50 * MIB)):
        sized = size_worker(records, wishes)
        flags = dict(zip(*[iter(route_options(sized.pools).split())] * 2, strict=True))
        taken = two_pools({field: _option(flags[option]) for field, option in POOL_OPTIONS.items() if option in flags})
        assert (taken.slots, taken.small_limit_bytes) == (sized.pools.slots, sized.pools.small_limit_bytes)
        assert (taken.processes, taken.cache_bytes) == (sized.pools.processes, sized.pools.cache_bytes)
        assert 0 <= sized.pools.threshold_bytes - taken.threshold_bytes <= MIB
        document = json.dumps(worker_document(sized)["pools"]).encode()
        assert two_pools(read_pools_file(document).given) == sized.pools


def _option(value: str) -> int:
    return int(value) if value.isdigit() else size_bytes(value)


def test_a_small_pool_that_runs_nothing_has_no_balance(tmp_path: Path) -> None:
    """Hundreds of big workers would end as soon as it does."""
    alike = written(tmp_path / "alike.jsonl", [record(420, estimate_bytes=420 * MIB) for _ in range(300)])
    said = text(run("bill", "--history", alike))
    assert "Balanced" not in said
    assert "100 % of these tasks lie above the threshold of 273 MiB" in said
