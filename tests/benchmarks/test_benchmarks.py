"""The benchmarks' own parts: figures, children, generated stacks. Times are measured, never asserted."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks import __main__ as command
from benchmarks import apiserver, checks, child, many_pools, preview, rows
from benchmarks.cases import load
from benchmarks.rows import Row
from preview.report import report
from testbed.engine_error import EngineError

ROOT = Path(__file__).resolve().parents[2]


def test_rows_are_written_with_exactly_these_keys(tmp_path: Path) -> None:
    given = [rows.at_most("wall", "s", 1.25, 2.0), Row("slope", "ms", 3.5, peer="other", peer_value=7)]
    path = rows.write("name", given, tmp_path / "deep" / "folder")
    assert path == tmp_path / "deep" / "folder" / "name.json"
    assert json.loads(path.read_text()) == [
        {"figure": "wall", "unit": "s", "value": 1.25, "goal": 2.0, "peer": None, "peer_value": None, "holds": True},
        {"figure": "slope", "unit": "ms", "value": 3.5, "goal": None, "peer": "other", "peer_value": 7, "holds": True},
    ]


def test_a_goal_that_is_missed_does_not_hold() -> None:
    assert rows.at_most("wall", "s", 2.0004, 2.0).holds is False
    assert rows.at_most("wall", "s", 2.0, 2.0).holds is True


def test_the_table_shows_figures_goals_and_peers() -> None:
    console = Console(width=100, record=True, file=open(os.devnull, "w"))  # noqa: SIM115, PTH123 rich writes there
    rows.show("preview", [Row("wall", "s", 1.5, 2.0), Row("all", "of 3", 3, peer="other", peer_value=1)], console)
    text = console.export_text()
    assert [word for word in ("benchmark preview", "wall", "1.5 s", "2", "other", "1") if word not in text] == []


def test_an_unknown_benchmark_is_told_with_the_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["previw"]) == 2
    known = ", ".join(command.NAMES)
    assert known.startswith("preview, checks, sizing, odm, service, testbed, ")
    assert capsys.readouterr().err == f"no benchmark is called 'previw'; there are: {known}\n"


def test_a_childs_time_and_memory_are_its_own_and_not_those_of_this_large_process(tmp_path: Path) -> None:
    ours = bytearray(60_000_000)
    ours[::4096] = b"x" * len(ours[::4096])
    environment = child.warm_environment(tmp_path)
    small = child.run([sys.executable, "-c", "pass"], tmp_path, environment)
    filled = "b = bytearray(80_000_000); b[::4096] = b'x' * len(b[::4096])"
    large = child.run([sys.executable, "-c", filled], tmp_path, environment)
    assert small.rss_bytes < 40_000_000
    assert small.rss_bytes + 70_000_000 < large.rss_bytes < small.rss_bytes + 90_000_000
    assert small.seconds > 0


def test_a_child_that_fails_is_told_with_what_it_printed(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="ended with 3:\nwhy\n"):
        child.run([sys.executable, "-c", "print('why'); raise SystemExit(3)"], tmp_path, dict(os.environ))


def test_a_generated_stack_has_as_many_pools_and_passes(tmp_path: Path) -> None:
    root = many_pools.make(ROOT, tmp_path, 3)
    told = report(many_pools.STACK, root)
    assert [pool.name for pool in told.pools] == ["pool-000", "pool-001", "pool-002"]
    assert [finding.message for finding in told.findings if finding.severity == "error"] == []


def test_user_data_of_every_pool_of_every_stack_is_far_below_the_limit() -> None:
    row = preview.user_data()
    assert row.goal == 12_288
    assert row.holds, row


def test_without_binaries_the_api_servers_verdicts_are_read_and_said_to_be() -> None:
    assert checks.peer_name(None, load()) == (
        "kubectl apply --dry-run=server, Kubernetes 1.36.3, Karpenter CRDs 1.14.1 (read: recorded earlier)"
    )


def test_a_benchmark_whose_engines_are_not_built_is_one_message(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FLOODPLAIN_ENGINES", str(tmp_path))
    assert command.main(["testbed"]) == 1
    said = capsys.readouterr().err
    assert said.startswith("benchmark testbed: FLOODPLAIN_ENGINES names ")
    assert said.count("\n") == 1


def test_engines_that_are_not_built_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FLOODPLAIN_ENGINES", str(tmp_path))
    assert not apiserver.available()
    with pytest.raises(EngineError, match="has no program etcd"), apiserver.running():
        raise AssertionError("it cannot run")
