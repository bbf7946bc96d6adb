"""One rule of exit statuses for all raster commands: 2 for the command line, 1 for all else that keeps the answer."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from floodplain.cli import app
from floodplain.quantity import MIB
from floodplain.raster.record import Record
from tests.floodplain.raster.cogs import TILE, cog

USAGE = {
    "estimate": ("estimate", "A"),
    "route": ("route", "TILES", "--out", "OUT"),
    "annotate": ("annotate", "A"),
    "workers": ("workers", "--history", "PEAKS"),
    "bill": ("bill", "--history", "PEAKS"),
}
Table = dict[str, list[tuple[str, ...]]]
CALIBRATED = ("--history", "GONE", "--layer", "ortho")
OF_ALL: list[tuple[str, ...]] = [
    ("--slots", "many"),
    ("--slots", "0"),
    ("--cache", "64"),
    ("--no-such-option",),
    ("--layer", "orto"),
]
BAD: Table = {
    "estimate": [("--tile", "1"), ("--factor", "x"), ("--crs", "x"), ("--history", "PEAKS", "--layer", "x")],
    "route": [("--on-failure", "x"), ("--parallel", "0")],
    "annotate": [("--routed", "TILES"), ("--line", "0"), ("--cache", "64", "--pools-file", "GONE")],
    "workers": [
        ("--memory", "100Mi"),
        ("--memory", "1"),
        ("--quantile", "9"),
        ("--headroom", "9e9"),
        ("--processes", "x"),
    ],
    "bill": [("--workers", "0"), ("--price", "-1"), ("--threshold", "2"), ("--price", "x")],
}
UNREAD: Table = {
    "estimate": [("--pools-file", "GONE"), ("--pools-file", "TILES"), ("--pools-file", "PETTY"), CALIBRATED],
    "route": [("--pools-file", "GONE"), CALIBRATED],
    "annotate": [("--pools-file", "GONE"), ("--manifest", "GONE"), CALIBRATED],
    "workers": [("--history", "GONE"), ("--history", "TILES")],
    "bill": [("--history", "GONE"), ("--prices", "GONE"), ("--plot", "GONE/x.svg")],
}
ANSWERS = [
    (("estimate", "A", "--tile", TILE), 0),
    (("estimate", "GONE"), 1),
    (("estimate", "A", "--size", "20000x20000", "--big-memory", "1Gi"), 1),
    (("estimate",), 2),
    (("route", "TILES", "--out", "OUT"), 0),
    (("route", "PEAKS", "--out", "OUT"), 1),
    (("route", "GONE", "--out", "OUT"), 1),
    (("route", "TILES", "--out", "GONE"), 1),
    (("route", "TILES"), 2),
    (("annotate", "A", "--tile", TILE), 0),
    (("annotate", "GONE"), 1),
    (("annotate", "--routed", "GONE"), 1),
    (("annotate",), 2),
    (("workers", "--history", "PEAKS"), 0),
    (("workers",), 2),
    (("bill", "--history", "PEAKS"), 0),
    (("bill",), 2),
]


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("status")
    there = {name: str(folder / name) for name in ("TILES", "PEAKS", "PETTY", "FILE")} | {"A": cog(folder / "a.tif")}
    Path(there["TILES"]).write_text(f'{{"source": "{there["A"]}", "size": 64}}\n')
    record = Record(layer="ortho", peak_bytes=150 * MIB, marginal_bytes=50 * MIB, baseline_bytes=100 * MIB, seconds=1)
    Path(there["PEAKS"]).write_text(record.model_dump_json() + "\n")
    Path(there["PETTY"]).write_text('{"smallLimitBytes": "100Mi"}')
    Path(there["FILE"]).touch()
    # Below a file there is nothing, and nothing can be made.
    return {**there, "GONE": f"{there['FILE']}/gone"}


def status(arguments: tuple[str, ...], names: dict[str, str], tmp_path: Path) -> int:
    words = {**names, "OUT": str(tmp_path / "out"), "GONE/x.svg": f"{names['GONE']}/x.svg"}
    result = CliRunner().invoke(app, ("raster", *(words.get(word, word) for word in arguments)))
    assert result.exception is None or isinstance(result.exception, SystemExit)
    assert result.stderr or result.stdout
    assert result.exit_code != 2 or not result.stdout
    return result.exit_code


def cases(table: Table) -> list[tuple[str, ...]]:
    return [(*USAGE[command], *others) for command, several in table.items() for others in several]


@pytest.mark.parametrize("arguments", [*cases(BAD), *cases(dict.fromkeys(USAGE, OF_ALL))], ids=" ".join)
def test_options_that_cannot_be_used_end_with_2(
    arguments: tuple[str, ...], names: dict[str, str], tmp_path: Path
) -> None:
    assert status(arguments, names, tmp_path) == 2


@pytest.mark.parametrize("arguments", cases(UNREAD), ids=" ".join)
def test_files_that_cannot_be_read_understood_or_written_end_with_1(
    arguments: tuple[str, ...], names: dict[str, str], tmp_path: Path
) -> None:
    assert status(arguments, names, tmp_path) == 1


@pytest.mark.parametrize(("arguments", "wanted"), ANSWERS, ids=[" ".join(arguments) for arguments, _ in ANSWERS])
def test_an_answer_ends_with_0_and_one_that_is_no_with_1(
    arguments: tuple[str, ...], wanted: int, names: dict[str, str], tmp_path: Path
) -> None:
    assert status(arguments, names, tmp_path) == wanted
