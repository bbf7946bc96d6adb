"""`floodplain plan`: what it prints, its exit status, and never a traceback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

from floodplain.cli import app
from floodplain.pools import dump
from floodplain.quantity import GIB
from floodplain.sizing.default_pool import default_pool
from floodplain.sizing.plan import Plan
from floodplain.sizing.planner import make_plan
from floodplain.sizing.settings import Compatibility, SizingSettings
from floodplain.sizing.workload import Workload
from tests.conftest import Golden
from tests.floodplain.sizing.example_pools import LARGE, MIDDLE, SMALL, pool

EXAMPLE = "Planned for the example pool of this release: neither --pools nor FLOODPLAIN_POOLS names a file."
KEYS_OF_THE_ISSUE = """
peak_bytes peak_source confidence hot_bytes hot_source request_bytes limit_bytes swap_grant_bytes cpu ephemeral_bytes
capacity_type pool instance_types smallest_allocatable_bytes containment_margin_bytes completion_margin_bytes feasible
advice
"""
OF_THE_ENVIRONMENT = {"FLOODPLAIN_POOLS": None, "FLOODPLAIN_SETTINGS": None, "FLOODPLAIN_PRICES": None}


def run(*arguments: str, stdin: bytes | None = None, env: Mapping[str, str] | None = None) -> Result:
    screen = {"COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"}
    result = CliRunner().invoke(
        app, ("plan", "odm", *arguments), input=stdin, env={**screen, **OF_THE_ENVIRONMENT, **(env or {})}
    )
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result


def refused(*arguments: str, **others: Any) -> tuple[int, list[str]]:
    """Exit status and lines of standard error; nothing may be on standard output."""
    result = run(*arguments, **others)
    assert result.stdout == ""
    return result.exit_code, result.stderr.splitlines()


@pytest.fixture(autouse=True)
def _no_table_of_prices(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A developer may have one beside the catalogue."""
    monkeypatch.setattr("floodplain.cli_plan_files.default_prices", lambda: tmp_path / "prices.tsv")


@pytest.fixture
def pools_file(tmp_path: Path) -> str:
    path = tmp_path / "pools.json"
    path.write_bytes(dump([pool("small", SMALL), pool("large", MIDDLE, LARGE)]))
    return str(path)


def test_a_plan_is_printed_for_people(golden: Golden) -> None:
    result = run("--images", "5000", "--option", "dsm", "--compatibility", "scaleodm")
    assert (result.exit_code, result.stderr) == (0, "")
    lines = "".join(f"{line.rstrip()}\n" for line in result.stdout.splitlines())
    golden.check("floodplain/golden/plan-5000-dsm-scaleodm.txt", lines)


def test_every_figure_of_a_plan_is_printed() -> None:
    plan = make_plan(Workload(images=700, options="dtm"), [default_pool()])
    result = run("--images", "700", "--option", "dtm")
    names = [line[:18].strip() for line in result.stdout.splitlines() if line[:1].isalpha() and "  " in line]
    assert names == [
        "Peak",
        "Hot set",
        "Memory limit",
        "Memory request",
        "Swap grant",
        "CPU request",
        "Ephemeral storage",
        "Pool",
        "Instance types",
        "Containment margin",
        "Completion margin",
        "A month",
    ]
    words = " ".join(result.stdout.split())
    for said in (plan.peak_source, plan.hot_source, *plan.instance_types, *plan.notes, EXAMPLE):
        assert said in words
    assert "no prices: run `floodplain catalogue refresh --prices`" in words


def test_json_is_the_plan_and_has_every_key_of_the_interface() -> None:
    result = run("--images", "5000", "--option", "dsm", "--json")
    plan = make_plan(Workload(images=5000, options="dsm"), [default_pool()])
    assert Plan.model_validate_json(result.stdout) == plan
    assert set(KEYS_OF_THE_ISSUE.split()) <= set(json.loads(result.stdout))
    assert (result.exit_code, result.stderr) == (0, f"{EXAMPLE}\n")


def test_every_argument_reaches_the_plan(pools_file: str, tmp_path: Path) -> None:
    sizing = tmp_path / "sizing.json"
    sizing.write_text('{"onDemandFromImages": 0, "daemonsetMemory": "0"}')
    result = run(
        *("--images", "300", "--option", "dsm,pc-quality=low", "--option", "--name=a,b", "--megapixels", "12.5"),
        *("--capacity-type", "spot", "--deadline", "3h", "--pools", pools_file, "--settings", str(sizing), "--json"),
    )
    wanted = make_plan(
        Workload(
            images=300,
            options=["dsm", "pc-quality=low", "name=a,b"],
            megapixels=12.5,
            capacity_type="spot",
            deadline_seconds=3 * 3600,
        ),
        [pool("small", SMALL), pool("large", MIDDLE, LARGE)],
        settings=SizingSettings(on_demand_from_images=0, daemonset_memory="0"),
    )
    assert Plan.model_validate_json(result.stdout) == wanted
    assert wanted.options == ("dsm", "name=a,b", "pc-quality=low")


def test_files_may_be_named_by_variables_and_options_win(pools_file: str, tmp_path: Path) -> None:
    sizing = tmp_path / "sizing.json"
    sizing.write_text('{"compatibility": "scaleodm"}')
    env = {"FLOODPLAIN_POOLS": pools_file, "FLOODPLAIN_SETTINGS": str(sizing)}
    result = run("--images", "300", "--json", env=env)
    pools = [pool("small", SMALL), pool("large", MIDDLE, LARGE)]
    follow = SizingSettings(compatibility=Compatibility.SCALEODM)
    assert Plan.model_validate_json(result.stdout) == make_plan(Workload(images=300), pools, settings=follow)
    assert result.stderr == ""
    only = tmp_path / "only.json"
    only.write_bytes(dump([pool("only", LARGE)]))
    assert json.loads(run("--images", "300", "--json", "--pools", str(only), env=env).stdout)["pool"] == "only"


def test_a_plan_that_is_not_feasible_ends_with_3_and_says_what_to_change(pools_file: str) -> None:
    result = run("--images", "90000", "--pools", pools_file)
    plan = make_plan(Workload(images=90_000), [pool("small", SMALL), pool("large", MIDDLE, LARGE)])
    assert (result.exit_code, plan.feasible) == (3, False)
    told = " ".join(result.stdout.split())
    assert f"odm of 90,000 images: fits no pool as it is {'Peak'}" in told
    assert " ".join(["Why not", *(f"- {reason}" for reason in plan.reasons)]) in told
    assert " ".join(["What to change", *(f"- {one}" for one in plan.advice)]) in told
    assert run("--images", "90000", "--pools", pools_file, "--json").exit_code == 3


def test_with_prices_a_month_has_a_cost_beside_that_of_the_peak_as_memory(tmp_path: Path) -> None:
    table = tmp_path / "mine.tsv"
    table.write_text(
        "region\tday\tinstance_type\ton_demand_usd\tspot_usd\n"
        "eu-central-1\t2026-01-31\tr6id.8xlarge\t2.5\t1\n"
        "eu-central-1\t2026-01-31\tr6id.32xlarge\t10.8\t\n"
    )
    follow = ("--compatibility", "scaleodm", "--images", "5000")
    for arguments, env in ((("--prices", str(table)), {}), ((), {"FLOODPLAIN_PRICES": str(table)})):
        result = run(*follow, *arguments, "--json", env=env)
        plan = json.loads(result.stdout)
        priced = "eu-central-1, 2026-01-31"
        assert plan["monthly_cost"]["priced"] == plan["peak_as_ram_cost"]["priced"] == priced
        assert plan["monthly_cost"]["instance_type"] == "r6id.8xlarge"
        assert plan["peak_as_ram_cost"]["instance_type"] == "r6id.32xlarge"
        shown = run(*follow, *arguments, env=env).stdout
        assert f"${plan['monthly_cost']['usd']:,.2f}" in shown
        assert f"${plan['peak_as_ram_cost']['usd']:,.2f}" in shown
    (tmp_path / "prices.tsv").write_bytes(table.read_bytes())
    assert json.loads(run(*follow, "--json").stdout)["monthly_cost"] == plan["monthly_cost"]


def test_many_jobs_are_planned_in_one_call(tmp_path: Path) -> None:
    lines = '# jobs of today\n500\n\n{"images": 700, "options": "fast-orthophoto", "megapixels": 12}\n'
    counts = tmp_path / "counts.txt"
    counts.write_text(lines)
    pools = [default_pool()]
    wanted = [
        make_plan(Workload(images=500, options="dsm"), pools),
        make_plan(Workload(images=700, options="fast-orthophoto", megapixels=12), pools),
    ]
    for name, stdin in ((str(counts), None), ("-", lines.encode())):
        result = run("--images-file", name, "--option", "dsm", stdin=stdin)
        assert [Plan.model_validate_json(line) for line in result.stdout.splitlines()] == wanted
        assert (result.exit_code, result.stderr) == (0, f"{EXAMPLE}\n")


def test_a_bad_line_is_told_and_the_others_are_planned(pools_file: str, tmp_path: Path) -> None:
    counts = tmp_path / "counts.txt"
    counts.write_bytes(b'100\n-5\n{"images": 7, "options": "dsmm"}\n90000\n\xff\n200')
    result = run("--images-file", str(counts), "--pools", pools_file)
    assert [json.loads(line)["images"] for line in result.stdout.splitlines()] == [100, 90_000, 200]
    assert result.stderr.splitlines() == [
        f"--images-file: {counts}: line 2: '-5' is not a count of images; write a whole number from 1 to 1000000",
        f"--images-file: {counts}: line 3, options[0]: 'dsmm' is no option of ODM; did you mean `dsm`?",
        f"--images-file: {counts}: line 5: is not UTF-8 (byte 0); write the file as UTF-8",
    ]
    assert result.exit_code == 1


def test_one_job_of_a_file_that_is_not_feasible_makes_the_status_3(pools_file: str) -> None:
    result = run("--images-file", "-", "--pools", pools_file, stdin=b"100\n90000\n100\n")
    assert [json.loads(line)["feasible"] for line in result.stdout.splitlines()] == [True, False, True]
    assert (result.exit_code, result.stderr) == (3, "")


@pytest.mark.parametrize("content", [b"", b"\n\n# nothing\n"])
def test_a_file_without_a_job_is_told(content: bytes, pools_file: str) -> None:
    told = "--images-file: - has no job; write a count of images a line"
    assert refused("--images-file", "-", "--pools", pools_file, stdin=content) == (1, [told])


def test_of_a_line_without_an_end_only_the_beginning_is_read(pools_file: str) -> None:
    result = run("--images-file", "-", "--pools", pools_file, stdin=b"5" * 1_000_000 + b"\n100\n")
    assert [json.loads(line)["images"] for line in result.stdout.splitlines()] == [100]
    (line,) = result.stderr.splitlines()
    assert line.startswith("--images-file: -: line 1: is longer than 65,536 bytes; write a count of images")
    assert result.exit_code == 1


def test_a_chart_is_drawn(pools_file: str, tmp_path: Path) -> None:
    target = tmp_path / "plan.svg"
    result = run("--images", "300", "--pools", pools_file, "--chart", str(target))
    assert result.exit_code == 0
    assert result.stdout.splitlines()[-1] == f"Chart: {target}"
    root = ElementTree.fromstring(target.read_bytes())
    described = next(one.text or "" for one in root if one.tag.endswith("desc"))
    assert "Marked: 300 images: peak " in described
    drawn = target.read_bytes()
    as_json = run("--images", "300", "--pools", pools_file, "--chart", str(target), "--json")
    assert json.loads(as_json.stdout)["images"] == 300
    assert target.read_bytes() == drawn


def test_a_chart_that_cannot_be_written_is_told(pools_file: str, tmp_path: Path) -> None:
    target = tmp_path / "nowhere" / "plan.svg"
    told = f"--chart: {target} cannot be written (No such file or directory); name another file"
    assert refused("--images", "300", "--pools", pools_file, "--chart", str(target)) == (1, [told])


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            (),
            ["--images: is required; write how many images the job reads, or name a file of counts with --images-file"],
        ),
        (("--images", "-5"), ["--images: '-5' is not a count of images; write a whole number from 1 to 1000000"]),
        (("--images", "0"), ["--images: 0 is not from 1 to 1000000; write how many images the job reads"]),
        (("--images", "1000001"), ["--images: 1000001 is not from 1 to 1000000; write how many images the job reads"]),
        (
            ("--images", "9" * 5000),
            [f"--images: '{'9' * 76}... is not a count of images; write a whole number from 1 to 1000000"],
        ),
        (("--images", "12.5"), ["--images: '12.5' is not a count of images; write a whole number from 1 to 1000000"]),
        (("--images", ""), ["--images: '' is not a count of images; write a whole number from 1 to 1000000"]),
        (("--images", "5", "--option", "dsmm"), ["--option: 'dsmm' is no option of ODM; did you mean `dsm`?"]),
        (
            ("--images", "5", "--option", "split=3", "--option", "split=4"),
            ["--option: 'split=4' is given twice with different values; keep one of them"],
        ),
        (
            ("--images", "5", "--megapixels", "nan"),
            ["--megapixels: 'nan' should be a finite number; write the megapixels of one image, such as 20"],
        ),
        (
            ("--images", "5", "--megapixels", "-3"),
            ["--megapixels: '-3' should be greater than 0; write the megapixels of one image, such as 20"],
        ),
        (
            ("--images", "5", "--capacity-type", "sport"),
            [
                "--capacity-type: 'sport' should be 'spot', 'on-demand' or 'reserved';"
                " write spot, on-demand or reserved, or leave it out"
            ],
        ),
        (("--images", "5", "--deadline", "3d"), ["--deadline: '3d' is not a duration; write 72h"]),
        (
            ("--images", "5", "--deadline", "0s"),
            ["--deadline: 0 should be greater than 0; write a duration such as 24h, or leave it out"],
        ),
        (
            ("--images", "5", "--compatibility", "odm"),
            ["--compatibility: 'odm' is no planner that can be followed; known: scaleodm"],
        ),
        (
            ("--images", "5", "--images-file", "-"),
            ["--images: '5' does not go with --images-file; leave one of them out"],
        ),
        (
            ("--chart", "plan.svg", "--images-file", "-"),
            ["--chart: 'plan.svg' does not go with --images-file; leave one of them out"],
        ),
        (
            ("--images", "x", "--option", "dsmm", "--deadline", "soon", "--compatibility", "odm"),
            [
                "--images: 'x' is not a count of images; write a whole number from 1 to 1000000",
                "--option: 'dsmm' is no option of ODM; did you mean `dsm`?",
                "--deadline: 'soon' is not a duration; write hours, minutes and seconds, such as 48h, 1h30m or 90s",
                "--compatibility: 'odm' is no planner that can be followed; known: scaleodm",
            ],
        ),
        (
            ("--images-file", "-", "--option", "dsmm"),
            ["--option: 'dsmm' is no option of ODM; did you mean `dsm`?"],
        ),
        (
            ("--images", "5", "--option", "name=a\nb"),
            ["--option: 'name=a\\nb' has the control character U+000A; remove it"],
        ),
    ],
)
def test_bad_input_names_option_value_rule_and_remedy(arguments: tuple[str, ...], told: list[str]) -> None:
    assert refused(*arguments) == (2, told)


def test_an_unknown_flag_is_a_usage_error() -> None:
    result = run("--imges", "5")
    assert (result.exit_code, "No such option: --imges" in result.stderr) == (2, True)


OLD_VERSION = dump([pool()]).replace(b'"schemaVersion": 1', b'"schemaVersion": 0')


@pytest.mark.parametrize(
    ("option", "content", "told"),
    [
        ("--pools", b"", "the pool documents: is not JSON (Expecting value: line 1 column 1 (char 0)); write"),
        ("--pools", b"\xff\xfe", "the pool documents: is not JSON ("),
        ("--pools", b"[]", "the pool documents: has no list `pools` at the top; write the file anew"),
        ("--pools", OLD_VERSION, "pools[0].schemaVersion: 0 is another version; this release reads 1; write the file"),
        ("--pools", b'{"pools": [{}]}', "pools[0].name: is required; set it"),
        ("--settings", b"\xff\xfe", "the settings: are not JSON ("),
        ("--settings", b"[]", 'the settings: are no map; write one, such as {"onDemandFromImages": 5000}'),
        ("--settings", b'{"daemonsetCpu": -1}', "daemonsetCpu: -1 is negative; write zero or more"),
        ("--settings", b'{"daemonsetCpus": 1}', "daemonsetCpus: is not a known key; did you mean `daemonsetCpu`?"),
        ("--prices", b"\xff\xfe", "the prices: is not UTF-8 (byte 0); write the table anew with `floodplain"),
        ("--prices", b"type\tprice\n", "the prices, line 1: is not a table of prices; its first line must name"),
    ],
)
def test_a_file_that_is_not_what_it_should_be_is_told(option: str, content: bytes, told: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    variable = f"FLOODPLAIN_{option[2:].upper()}"
    for arguments, env, name in (((option, str(path)), {}, option), ((), {variable: str(path)}, variable)):
        status, lines = refused("--images", "5", *arguments, env=env)
        assert status == 1
        assert lines[0].startswith(f"{name}: {path}: {told}")


def test_a_file_without_a_pool_is_told(tmp_path: Path) -> None:
    path = tmp_path / "pools.json"
    path.write_text('{"pools": []}')
    told = f"--pools: {path}: the pool documents: name no pool; write them with `python -m preview show pools --json`"
    assert refused("--images", "5", "--pools", str(path)) == (1, [told])


@pytest.mark.parametrize("option", ["--pools", "--settings", "--prices", "--images-file"])
def test_a_file_that_cannot_be_read_is_told(option: str, tmp_path: Path, pools_file: str) -> None:
    count = () if option == "--images-file" else ("--images", "5")
    env = {"FLOODPLAIN_POOLS": pools_file}
    for path, reason in ((tmp_path / "nowhere", "No such file or directory"), (tmp_path, "Is a directory")):
        told = f"{option}: {path} cannot be read ({reason}); name a file that you may read"
        assert refused(*count, option, str(path), env=env) == (1, [told])


@pytest.mark.parametrize("option", ["--pools", "--settings", "--prices"])
def test_a_file_without_an_end_is_not_read_to_it(option: str) -> None:
    told = f"{option}: /dev/zero is larger than 64 MiB; name another file"
    assert refused("--images", "500", option, "/dev/zero") == (1, [told])


def test_the_help_says_what_each_status_means() -> None:
    words = " ".join(run("--help").stdout.split())
    assert "Exit status: 0 feasible, 3 not feasible, 2 bad input, 1 a file that cannot be read" in words


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(st.text(max_size=12), st.lists(st.text(max_size=12), max_size=2), st.text(max_size=6), st.text(max_size=6))
def test_no_text_ends_in_a_traceback(images: str, option: list[str], megapixels: str, deadline: str) -> None:
    options = [part for text in option for part in ("--option", text)]
    result = run("--images", images, *options, "--megapixels", megapixels, "--deadline", deadline)
    assert result.exit_code in (0, 2, 3)


def test_a_name_that_is_no_text_is_told_in_one_line() -> None:
    """Arguments of a shell are bytes."""
    name = os.fsdecode(b"no\xff\npools")
    command = [sys.executable, "-m", "floodplain", "plan", "odm", "--images", "5", "--pools", name]
    done = subprocess.run(command, capture_output=True, check=False, env={**os.environ, "PYTHONUTF8": "1"})
    told = "--pools: 'no\\udcff\\npools' cannot be read (No such file or directory); name a file that you may read\n"
    assert (done.returncode, done.stdout, done.stderr.decode()) == (1, b"", told)


def test_a_closed_standard_input_is_told(pools_file: str) -> None:
    command = '"$0" -m floodplain plan odm --images-file - --pools "$1" <&-'
    done = subprocess.run(
        ["sh", "-c", command, sys.executable, pools_file], capture_output=True, text=True, check=False
    )
    told = "--images-file: standard input is closed; name a file\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", told)


def test_whoever_reads_only_the_first_line_gets_it_and_no_traceback(tmp_path: Path, pools_file: str) -> None:
    counts = tmp_path / "counts.txt"
    counts.write_text("".join(f"{images}\n" for images in range(40, 1040)))
    command = [sys.executable, "-m", "floodplain", "plan", "odm", "--images-file", str(counts), "--pools", pools_file]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        assert json.loads(process.stdout.readline())["images"] == 40
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 1


def test_the_example_pool_holds_what_it_says() -> None:
    plan = Plan.model_validate_json(run("--images", "40", "--json").stdout)
    assert (plan.pool, plan.runtime_class, plan.limit_bytes < GIB * 64) == ("example", "floodplain-example", True)


def run_raster(*arguments: str) -> tuple[int, str, list[str]]:
    env = {"COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb", **OF_THE_ENVIRONMENT}
    result = CliRunner().invoke(app, ("plan", "raster", *arguments), env=env)
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result.exit_code, result.stdout, result.stderr.splitlines()


def test_a_raster_task_is_planned_for_its_peak() -> None:
    task = Workload(engine="raster", peak="3Gi", estimate="warp chunk 2Gi", deadline_seconds=3600)
    plan = make_plan(task, [default_pool()])
    arguments = ("--peak", "3Gi", "--estimate", "warp chunk 2Gi", "--deadline", "1h")
    assert run_raster(*arguments, "--json") == (0, plan.model_dump_json(indent=2) + "\n", [EXAMPLE])
    assert run_raster(*arguments)[1].startswith("raster with a peak of 3.0 GiB: fits pool example\n")


def test_what_is_wrong_with_a_raster_task_is_told_by_the_names_of_the_options() -> None:
    peak = "--peak: '1500' is less than 1Mi, which every process holds; write the unit too, such as 1536Mi"
    deadline = "--deadline: '2 days' is not a duration; write 48h"
    assert run_raster("--peak", "1500", "--deadline", "2 days") == (2, "", [peak, deadline])
    assert run_raster("--peak", "9Ti")[0] == 3
