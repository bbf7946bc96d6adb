"""The command `floodplain`: what it prints, its exit status, and never a traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from floodplain.catalogue import load
from floodplain.catalogue.table import parse, render
from floodplain.cli import app

TYPES = {kind.name: kind for kind in load()}


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, arguments, env={"COLUMNS": "80", "NO_COLOR": "1", "TERM": "dumb"})
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result.exit_code, result.output


def rows(output: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.strip("│").split("│")] for line in output.splitlines() if "│" in line]


def test_show_lists_a_family_with_the_largest_ratio_its_disks_hold() -> None:
    status, output = run("catalogue", "show", "--family", "r5d", "--family", "d3")
    assert status == 0
    assert rows(output)[:6] == [
        ["d3.xlarge", "4", "32", "5940", "29845", "HDD no"],
        ["d3.2xlarge", "8", "64", "11880", "60067", "HDD no"],
        ["d3.4xlarge", "16", "128", "23760", "120468", "HDD no"],
        ["d3.8xlarge", "32", "256", "47520", "241479", "HDD no"],
        ["r5d.large", "2", "16", "75", "14481", "1.46 no"],
        ["r5d.xlarge", "4", "32", "150", "29317", "2.08"],
    ]
    assert ["r5d.24xlarge", "96", "768", "3600", "718987", "2.68"] in rows(output)


def test_show_without_a_family_lists_every_type_that_a_pool_may_launch() -> None:
    status, output = run("catalogue", "show")
    assert status == 0
    assert [row[0] for row in rows(output)] == [name for name, kind in TYPES.items() if not kind.metal]


def test_what_else_the_disk_must_hold_changes_the_largest_ratio() -> None:
    _, output = run("catalogue", "show", "--family", "r5d", "--per-memory", "0", "--images", "0", "--swap-ratio", "3.8")
    assert ["r5d.large", "2", "16", "75", "14481", "3.71 no"] in rows(output)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--family", "r7id"), "--family: 'r7id' is no family with local NVMe; did you mean `r8id`, `r7gd`, `r6id`?"),
        (("--family", "?"), "--family: '?' is no family with local NVMe; known: c5ad, c5d,"),
        (("--images", "10GB"), "--images: '10GB' is not a quantity; write 10G (decimal) or 10Gi (binary)"),
        (("--per-memory", "inf"), "inf is no number for a cap on ephemeral storage; write zero or more"),
    ],
)
def test_bad_options_of_show_are_told(arguments: tuple[str, ...], message: str) -> None:
    status, output = run("catalogue", "show", *arguments)
    assert status == 1
    assert output.startswith(message)


@pytest.mark.parametrize("ratio", ["-1", "65", "nan", "x"])
def test_a_ratio_out_of_range_is_a_usage_error(ratio: str) -> None:
    status, output = run("catalogue", "show", "--swap-ratio", ratio)
    assert status in (1, 2)
    assert "Traceback" not in output


def test_refresh_prints_what_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    output = tmp_path / "types.tsv"
    before = [TYPES["r6id.large"], TYPES["m6id.large"]]
    text = render(before).replace("\t29\t", "\t30\t", 1).replace("\t3125\t", "\t\t")
    output.write_text(text)
    monkeypatch.setattr(
        "floodplain.catalogue.refresh.read_region", lambda region: (TYPES["r6id.large"], TYPES["c6id.large"])
    )
    status, printed = run("catalogue", "refresh", "--region", "eu-central-1", "--output", str(output))
    assert status == 0
    assert printed.splitlines()[:3] == ["+ c6id.large", "- m6id.large", "~ r6id.large: pods 30 -> 29"]
    assert printed.replace("\n", "").endswith("1 added, 1 removed, 1 changed")


def test_refresh_without_a_region_ends_with_a_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    status, output = run("catalogue", "refresh", "--output", str(tmp_path / "types.tsv"))
    assert status == 1
    assert "No AWS region is set. Give --region, or set AWS_REGION." in output
    assert not list(tmp_path.iterdir())


def test_help_needs_neither_boto3_nor_the_catalogue_nor_pydantic() -> None:
    code = (
        "import sys; sys.argv = ['floodplain', '--help']\n"
        "from floodplain.cli import main\n"
        "try: main()\n"
        "except SystemExit as end: assert end.code == 0, end.code\n"
        "loaded = {'boto3', 'botocore', 'floodplain.catalogue', 'pydantic'} & set(sys.modules)\n"
        "assert not loaded, loaded"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_without_its_packages_the_command_says_what_to_install() -> None:
    code = "import sys; sys.modules['typer'] = None; import floodplain.cli"
    result = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True, env=os.environ)
    assert result.returncode == 1
    assert result.stderr.strip() == "The command needs typer, rich and boto3: pip install 'floodplain[cli]'"


@pytest.mark.parametrize("region", ["", "eu central", "EU-CENTRAL-1"])
def test_a_region_that_is_none_is_told(region: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_DEFAULT_REGION", raising=False)
    told = f"{region!r} is no region; name one, such as eu-central-1\n"
    target = ("--output", str(tmp_path / "types.tsv"))
    assert run("catalogue", "refresh", *target, "--region", region) == (1, f"--region: {told}")
    monkeypatch.setenv("AWS_DEFAULT_REGION", region)
    assert run("catalogue", "refresh", *target) == (1, f"AWS_DEFAULT_REGION: {told}")


def test_a_broken_table_says_how_to_get_a_whole_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        parse("name\tvcpu\n")

    monkeypatch.setattr("floodplain.catalogue.load", broken)
    status, output = run("catalogue", "show")
    assert status == 1
    assert output.startswith("instance-types.tsv, line 1: is not a catalogue; its first line must name the columns")
    assert output.endswith("Write the table anew with `floodplain catalogue refresh`, or install floodplain again.\n")


@pytest.mark.parametrize("columns", ["0", "-5", "abc"])
def test_a_width_that_shows_nothing_is_no_width(columns: str) -> None:
    result = CliRunner().invoke(app, ("catalogue", "show", "--family", "r5d"), env={"COLUMNS": columns})
    assert (result.exit_code, "r5d.large" in result.output) == (0, True)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_told_in_a_line() -> None:
    with open("/dev/full", "w") as full:  # noqa: PTH123
        done = subprocess.run(
            [sys.executable, "-m", "floodplain", "catalogue", "show"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    told = "stdout: cannot be written (No space left on device); name another file\n"
    assert (done.returncode, done.stderr) == (1, told)
