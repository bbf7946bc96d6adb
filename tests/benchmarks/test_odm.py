"""The benchmark of predictors: how tables are read, and that the page on sizing tells its figures."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from benchmarks import odm
from benchmarks.odm import CLUSTERODM_AWS, ODM_DOCS, PEERS, Table, lines_between, next_row
from benchmarks.rows import Row
from docs.tables import ROOT
from floodplain.sizing.odm.observations import counted


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    return odm.run()


@pytest.mark.parametrize(
    ("images", "row", "line"),
    [(1, 4, 4), (40, 4, 4), (41, 16, 4 + 12 / 210), (250, 16, 16), (1000, 64, 48), (5000, 256, 256), (6500, 256, 320)],
)
def test_a_table_is_read_by_rows_or_between_them(images: int, row: float, line: float) -> None:
    job = replace(counted()[0], images=images)
    assert next_row(ODM_DOCS)(job) == row
    assert lines_between(ODM_DOCS)(job) == pytest.approx(line)


@pytest.mark.parametrize("table", [ODM_DOCS, CLUSTERODM_AWS])
def test_tables_rise(table: Table) -> None:
    assert list(table) == sorted(table)
    assert [gib for _, gib in table] == sorted(gib for _, gib in table)


def test_ours_misses_fewer_jobs_than_each_peer_and_wastes_less_than_all_but_the_leanest(rows: list[Row]) -> None:
    goals = {(row.peer, row.figure): row.holds for row in rows if row.goal is not None}
    assert len(goals) == 2 * len(PEERS) + 1
    assert [key for key, holds in goals.items() if not holds] == [
        ("ODM docs, lines between", "over-provision, sum of shares, each source unseen")
    ]


def test_the_page_on_sizing_tells_the_same_figures(rows: list[Row]) -> None:
    page = (ROOT / "docs" / "how-we-size.md").read_text(encoding="utf-8")
    board = re.findall(r"^\| (?:ours|\[|ODM's|ScaleODM).*? \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|$", page, re.M)
    all_seen, unseen = ([float(str(row.value)) for row in rows[first : first + 3]] for first in (0, 3))
    theirs = [[float(str(row.peer_value)) for row in rows if row.peer == peer][:3] for peer in PEERS]
    assert [[float(cell) for cell in line] for line in board] == [unseen, all_seen, *theirs]
