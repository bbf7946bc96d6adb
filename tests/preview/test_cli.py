"""The command as people run it: a process, its output, its exit status."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from preview.cli import app

CHECKOUT = Path(__file__).parent.parent.parent
TOKEN = {"token": {"secure": "v1:a"}}
Sample = Callable[..., Path]


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "preview", *arguments],
        cwd=CHECKOUT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
    )


def test_a_sound_stack_ends_with_status_0_and_no_colours(sample: Sample) -> None:
    done = run("report", "--stack", "dev", "--root", str(sample("good", TOKEN)))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("no errors, 0 warnings\n")
    assert "\x1b[" not in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_errors_end_with_status_1_after_the_whole_report(sample: Sample) -> None:
    done = run("report", "--stack", "dev", "--root", str(sample("unknowns")))
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.endswith("1 error, 0 warnings: not ready\n")


def test_settings_that_are_refused_are_told_on_stderr_without_traceback(sample: Sample) -> None:
    done = run("report", "--stack", "dev", "--root", str(sample("run_error")))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == ("stacks/Pulumi.dev.yaml has 2 problem(s):\n  test:a: is wrong\n  test:b: is wrong, too\n")


def test_a_fault_shows_its_calls_when_asked(sample: Sample) -> None:
    done = run("report", "--stack", "dev", "--root", str(sample("fault")), "--traceback")
    assert done.returncode == 1
    assert "ZeroDivisionError" in done.stderr and "Traceback" in done.stderr


@pytest.fixture
def invoke() -> Callable[..., tuple[int, str]]:
    def call(*arguments: str) -> tuple[int, str]:
        result = CliRunner().invoke(app, list(arguments))
        return result.exit_code, result.output

    return call


def test_the_machine_s_form_is_json_alone(sample: Sample, invoke: Callable[..., tuple[int, str]]) -> None:
    status, output = invoke("report", "--stack", "dev", "--format", "json", "--root", str(sample("good", TOKEN)))
    assert status == 0
    assert json.loads(output)["stack"] == "dev"


def test_stacks_are_listed(invoke: Callable[..., tuple[int, str]]) -> None:
    assert invoke("list") == (0, "dev\nhotosm\nprod\nstaging\ntestbed\n")


def test_a_missing_stack_names_those_that_exist(invoke: Callable[..., tuple[int, str]]) -> None:
    status, output = invoke("report", "--stack", "pord")
    assert status == 1
    assert output == "stacks/Pulumi.pord.yaml: does not exist; stacks that do: dev, hotosm, prod, staging, testbed\n"


def test_things_are_shown_alone(invoke: Callable[..., tuple[int, str]]) -> None:
    assert invoke("show", "pools", "--stack", "prod") == (0, "swap\nswap-large\n")
    status, output = invoke("show", "userdata", "swap", "--stack", "prod")
    assert (status, output.splitlines()[0]) == (0, "MIME-Version: 1.0")
    status, output = invoke("show", "nodeclass", "swop", "--stack", "prod")
    assert (status, output) == (1, "POOL: 'swop' is no pool of this stack; its pools: swap, swap-large\n")


def test_the_schema_is_printed(invoke: Callable[..., tuple[int, str]]) -> None:
    status, output = invoke("schema")
    assert (status, json.loads(output)["title"]) == (0, "Report")


def test_a_stack_must_be_named(invoke: Callable[..., tuple[int, str]]) -> None:
    status, output = invoke("report")
    assert status == 2
    assert "--stack" in output
