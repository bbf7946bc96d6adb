"""`--history` and `--layer`: estimates of a layer multiplied by what its measured tasks held, and the reason told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from floodplain.cli import app
from floodplain.quantity import MIB
from floodplain.raster.record import Record
from tests.floodplain.raster.cogs import TILE, cog

WHY = "calibrated by 1.5: layer ortho: 3 records, fewer than 299: the largest measured / estimated is 1.5"


def run(*arguments: str) -> Result:
    result = CliRunner().invoke(app, ("raster", *arguments), env={"COLUMNS": "200", "NO_COLOR": "1", "TERM": "dumb"})
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result


@pytest.fixture(scope="module")
def raster(tmp_path_factory: pytest.TempPathFactory) -> str:
    return cog(tmp_path_factory.mktemp("rasters") / "a.tif")


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("history") / "peaks.jsonl"
    shares = [("ortho", 1.0), ("ortho", 1.5), ("ortho", 1.2), ("dsm", 0.9)]
    records = [
        Record(
            layer=layer, peak_bytes=round(150 * MIB), marginal_bytes=round(share * 100 * MIB), estimate_bytes=100 * MIB
        )
        for layer, share in shares
    ]
    path.write_text("".join(f"{record.model_dump_json()}\n" for record in records))
    return str(path)


def answer(*arguments: str) -> Any:
    result = run("estimate", *arguments, "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    return json.loads(result.stdout)


def test_an_estimate_is_multiplied_by_the_factor_of_its_layer_with_the_reason(raster: str, history: str) -> None:
    plain = answer(raster, "--tile", TILE)
    found = answer(raster, "--tile", TILE, "--history", history, "--layer", "ortho")
    assert found["factor"] == 1.5
    assert found["terms"] == plain["terms"]
    assert found["peak_bytes"] == round(1.5 * plain["peak_bytes"])
    assert found["notes"] == [*plain.get("notes", []), WHY]
    printed = run("estimate", raster, "--tile", TILE, "--history", history, "--layer", "ortho").stdout
    assert "factor" in printed
    assert WHY in printed


def test_each_line_of_a_list_has_the_factor_of_its_layer(raster: str, history: str, tmp_path: Path) -> None:
    tasks = [
        {"source": raster, "tile": TILE, **more}
        for more in ({}, {"layer": "ortho"}, {"layer": "new"}, {"layer": "dsm"})
    ]
    (tmp_path / "tiles.jsonl").write_text("".join(f"{json.dumps(task)}\n" for task in tasks))
    listed = str(tmp_path / "tiles.jsonl")

    def routed(*more: str) -> tuple[list[tuple[float, str]], list[str]]:
        result = run("route", listed, "--out", str(tmp_path / "out"), "--overwrite", "--history", history, *more)
        assert result.exit_code == 0
        found = [json.loads(line)["estimate"] for line in (tmp_path / "out" / "small.jsonl").read_text().splitlines()]
        return [(one.get("factor", 1), one["notes"][-1].partition(":")[0]) for one in found], result.stderr.splitlines()

    unknown = "1 task not calibrated: layer new has no records with an estimate; measure with an estimate"
    assert routed() == (
        [(1, "not calibrated"), (1.5, "calibrated by 1.5"), (1, "not calibrated"), (1, "calibrated by 1")],
        ["1 task not calibrated: no layer in the line; add it, or --layer", unknown],
    )
    assert routed("--layer", "ortho") == (
        [(1.5, "calibrated by 1.5"), (1.5, "calibrated by 1.5"), (1, "not calibrated"), (1, "calibrated by 1")],
        [unknown],
    )


def test_annotations_hold_the_calibrated_peak(raster: str, history: str) -> None:
    peak = answer(raster, "--tile", TILE, "--history", history, "--layer", "ortho")["container_bytes"]
    printed = run("annotate", raster, "--tile", TILE, "--history", history, "--layer", "ortho").stdout
    assert f"floodplain.dev/peak: {-(-peak // MIB)}Mi\n" in printed


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--layer", "ortho"), "--layer: goes with --history; name the file with its measured tasks"),
        (("--history", "H"), "--history: needs --layer, the kind of task; factors are by layer"),
        (("--history", "H", "--layer", "orto"), "--layer: 'orto' is not a layer of the history; did you mean `ortho`?"),
        (
            ("--history", "H", "--layer", "ortho", "--factor", "2"),
            "--factor: does not go with --history, which gives a factor; leave one of them out",
        ),
    ],
)
def test_what_does_not_go_together_is_told(arguments: tuple[str, ...], told: str, raster: str, history: str) -> None:
    result = run("estimate", raster, *(history if one == "H" else one for one in arguments))
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", f"{told}\n")


def test_estimates_that_are_routed_are_not_calibrated_again(history: str) -> None:
    result = run("annotate", "--routed", "x.jsonl", "--history", history, "--layer", "ortho")
    told = "--history: does not go with --routed, whose estimates are made; give it to `raster route`\n"
    assert (result.exit_code, result.stderr) == (2, told)
