"""`floodplain backtest --csv`: what it prints, its exit status, and never a traceback."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from floodplain.backtest.past_job import Outcome, PastJob
from floodplain.backtest.replay import Verdict, replay
from floodplain.backtest.report import first, row, sentences
from floodplain.backtest.totals import totals
from floodplain.cli import app
from floodplain.quantity import GIB
from floodplain.sizing.default_pool import default_pool
from floodplain.sizing.planner import make_plan
from floodplain.sizing.workload import Workload
from tests.floodplain.backtest.plans import WORKLOAD, plan

FILE = """\
id,images,request,limit,peak,swap,outcome,seconds
ran,500,60Gi,72Gi,25Gi,0,succeeded,1h
killed,500,8Gi,8Gi,,0,oom,1800
=1+1,500,1Gi,1Gi,900Gi,,succeeded,
bad,0,,,,,ok,
"""


def run(*arguments: str, columns: int = 120) -> tuple[int, str, str]:
    environment = {"COLUMNS": str(columns), "NO_COLOR": "1", "TERM": "dumb", "FLOODPLAIN_POOLS": ""}
    result = CliRunner().invoke(app, ("backtest", *arguments), env=environment)
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "jobs.csv"
    path.write_text(FILE)
    return str(path)


def test_the_json_has_every_job_with_its_plan_and_the_sums(file: str) -> None:
    status, output, errors = run("--csv", file, "--json")
    made = json.loads(output)
    ours = make_plan(Workload(images=500), [default_pool()])
    assert status == 3
    assert {key: value for key, value in made.items() if key not in ("replayed", "memory_gib", "memory_gib_hours")} == {
        "schema_version": 1,
        "source": file,
        "pools": ["example"],
        "jobs": 3,
        "bad": 1,
        "verdicts": {
            "kept": 1,
            "killed": 1,
            "saved": 0,
            "clears-bound": 1,
            "still-dies": 0,
            "undecidable": 0,
            "infeasible": 0,
        },
        "problems": ["line 5, images: 0 is not from 1 to 1000000; write how many images the job reads"],
        "remarks": [],
    }
    assert (made["memory_gib"]["jobs"], made["memory_gib_hours"]["jobs"]) == (3, 2)
    assert made["memory_gib_hours"]["theirs"] == 64
    assert made["replayed"][1] == {
        "id": "killed",
        "images": 500,
        "options": [],
        "outcome": "oom",
        "peak_bytes": None,
        "had": {"request_bytes": 8 * GIB, "limit_bytes": 8 * GIB, "swap_bytes": 0},
        "ours": {
            "pool": "example",
            "peak_bytes": ours.peak_bytes,
            "request_bytes": ours.request_bytes,
            "limit_bytes": ours.limit_bytes,
            "swap_bytes": ours.swap_grant_bytes,
        },
        "verdict": "clears-bound",
        "reason": "our plan at least clears the bound: more than it had when it died",
    }
    assert errors.splitlines() == [
        "Planned for the example pool: neither --pools nor FLOODPLAIN_POOLS names a file.",
        f"{file}: line 5, images: 0 is not from 1 to 1000000; write how many images the job reads",
        f"{file}: 1 left out for these problems",
    ]


def test_jobs_that_are_publicly_known_are_judged_by_what_is_known_of_them() -> None:
    """ScaleODM docs/system-requirements.md and docs/swap.md, and the eviction that commit 01b8464 of HOTOSM's
    k8s-infra answers: two peaks are known, the other ends are bounds and no more."""
    status, output, _ = run("--csv", str(Path(__file__).parent / "data" / "hotosm.csv"), "--json")
    assert status == 0
    assert {one["id"]: one["verdict"] for one in json.loads(output)["replayed"]} == {
        "3000 on 64 GB": "kept",
        "4778 on 64 GB": "clears-bound",
        "1233 in production": "clears-bound",
        "11972 medium": "clears-bound",
        "11972 low": "kept",
    }


def test_a_person_sees_what_would_have_been_killed_first(file: str) -> None:
    status, output, _ = run("--csv", file)
    rows = [[cell.strip() for cell in line.strip("│").split("│")] for line in output.splitlines() if "│" in line]
    assert status == 3
    assert [(row[0], row[-1]) for row in rows] == [("=1+1", "killed"), ("killed", "clears-bound"), ("ran", "kept")]
    assert "Our plans would have killed 1 job that ran." in output
    assert "Of 1 job that died, our plans would have saved 0 whose peak is known; 1 would at least" in output


def test_without_a_killed_job_the_status_is_0(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text("images,outcome,limit\n500,ok,1Gi\n")
    status, output, _ = run("--csv", str(path), "--json")
    assert (status, json.loads(output)["verdicts"]["undecidable"]) == (0, 1)
    status, output, _ = run("--csv", str(path), "--json", "--swap-before", "2")
    assert (status, json.loads(output)["verdicts"]["kept"]) == (0, 1)


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        ((), 2, "give one of --from-cluster and --csv FILE\n"),
        (("--from-cluster", "--csv", "x"), 2, "give one of --from-cluster and --csv FILE\n"),
        (("--csv", "/no/such"), 1, "--csv: /no/such cannot be read (No such file or directory); name a file that"),
        (("--csv", "/"), 1, "--csv: / cannot be read (Is a directory)"),
        (("--csv", "a\0b"), 1, "--csv: 'a\\x00b' cannot be read (embedded null byte)"),
        (("--csv", "x", "--swap-before", "nan"), 2, "--swap-before: nan is not from 0 to 64"),
        (("--csv", "x", "--pools", "/no/such"), 1, "--pools: /no/such cannot be read"),
        (("--from-cluster", "--kubeconfig", "/no/such"), 1, "'/no/such': cannot be used"),
    ],
)
def test_bad_input_is_told(arguments: tuple[str, ...], status: int, message: str) -> None:
    found, output, errors = run(*arguments)
    assert (found, output) == (status, "")
    assert errors.startswith(message)


@pytest.mark.parametrize("content", ["", "a,b\n1,2\n", "images,outcome\n", "images,outcome\n0,ok\n"])
def test_a_file_without_a_job_is_status_1(content: str, tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text(content)
    status, output, errors = run("--csv", str(path))
    assert (status, output) == (1, "")
    assert errors.strip()


def test_many_problems_are_not_all_shown(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text("images,outcome\n" + "0,ok\n" * 30 + "500,ok\n")
    status, _, errors = run("--csv", str(path))
    assert (status, len(errors.splitlines())) == (0, 23)
    assert f"{path}: and 10 more problems; see --json" in errors


def test_what_is_not_known_is_said() -> None:
    past = [PastJob("j", WORKLOAD, Outcome.EVICTED, request_bytes=GIB)]
    assert sentences(totals(replay(past, lambda workload: plan(2, 4)))) == [
        "Memory reserved by 1 job: 1.0 GiB then, 2.0 GiB by our plans (+100 %; less by 0.0 and more by 1.0 over single"
        " jobs).",
        "How long the jobs ran is not known, so that memory-hours are not counted.",
        "Of no job that ran is it known that our plan would have killed it.",
        "1 job cannot be decided: measured peaks (peak_bytes) would tell.",
    ]


def test_the_first_to_be_shown_are_those_that_would_have_been_lost() -> None:
    past = [PastJob(str(n), WORKLOAD, Outcome.SUCCEEDED, peak_bytes=n * GIB) for n in (1, 20, 2)]
    shown = first(replay(past, lambda workload: plan(2, 4)), 2)
    assert [(one.job.name, one.verdict) for one in shown] == [("20", Verdict.KILLED), ("1", Verdict.KEPT)]


def test_a_raster_task_of_the_cluster_is_judged_by_the_peak_that_it_carried() -> None:
    task = Workload(engine="raster", peak="2Gi")
    past = PastJob("tile", task, Outcome.SUCCEEDED, limit_bytes=4 * GIB, swap_bytes=0, peak_bytes=3 * GIB)
    (one,) = replay([past], lambda workload: make_plan(workload, [default_pool()]))
    assert one.plan.peak_bytes == 2 * GIB
    assert row(one)[:4] == ("tile", "-", "succeeded", "3072 MiB")


def test_a_raster_task_has_no_line_in_a_csv(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text("engine,images,outcome\nraster,5,ok\nodm,500,ok\n")
    told = (
        f"{path}: line 2, engine: 'raster' has no count of images; leave the line out: raster tasks are read from the"
        " cluster, with the peak that they carried"
    )
    assert told in run("--csv", str(path))[2]
