"""`floodplain raster annotate`: from a raster or from routed lines to what admission sizes a pod by."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner, Result

from floodplain.admission.decision import Outcome
from floodplain.cli import app
from floodplain.quantity import MIB
from floodplain.raster import estimate
from tests.floodplain.admission.api_server import enforce
from tests.floodplain.admission.objects import pod
from tests.floodplain.raster.cogs import NOWHERE, TILE, cog


@pytest.fixture(scope="module")
def raster(tmp_path_factory: pytest.TempPathFactory) -> str:
    return cog(tmp_path_factory.mktemp("raster") / "a.tif")


def run(*arguments: str, stdin: bytes | None = None) -> Result:
    result = CliRunner().invoke(app, ("raster", "annotate", *arguments), env={"COLUMNS": "100"}, input=stdin)
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result


def printed(*arguments: str, stdin: bytes | None = None) -> dict[str, str]:
    result = run(*arguments, stdin=stdin)
    assert (result.exit_code, result.stderr) == (0, "")
    found: dict[str, str] = yaml.safe_load(result.stdout)["annotations"]
    return found


def line(pool: str, peak_mib: int | None, source: str = "a.tif", reason: str = "so it is") -> str:
    found: dict[str, Any] = {"pool": pool, "reason": reason}
    if peak_mib is not None:
        found |= {"peak_bytes": peak_mib * MIB, "need_bytes": peak_mib * MIB, "terms": {"warp chunk": peak_mib * MIB}}
    return json.dumps({"source": source, "tile": TILE, "estimate": found}) + "\n"


def test_a_raster_gets_its_estimate_with_the_baseline_and_admission_sizes_by_it(raster: str) -> None:
    found = printed(raster, "--tile", TILE, "--baseline", "90Mi")
    peak = -(-(estimate(raster, tile=TILE).peak_bytes + 90 * MIB) // MIB)
    assert (found["floodplain.dev/engine"], found["floodplain.dev/peak"]) == ("raster", f"{peak}Mi")
    assert found["floodplain.dev/estimate"].startswith(f"{raster}, tile {TILE}: baseline 90 MiB, ")
    decision = enforce(pod(annotations=found))
    assert decision.outcome is Outcome.SIZED
    assert decision.plan is not None
    assert decision.plan.peak_bytes == peak * MIB


def test_of_several_tasks_the_largest_counts(tmp_path: Path) -> None:
    routed = tmp_path / "small.jsonl"
    routed.write_text(line("small", 10) + line("small", 30, "b.tif") + "\n" + line("skipped", None) + line("small", 20))
    largest = printed("--routed", str(routed))
    assert largest == {
        "floodplain.dev/engine": "raster",
        "floodplain.dev/peak": "134Mi",
        "floodplain.dev/estimate": "largest of 4 tasks, line 2, b.tif: baseline 104 MiB, warp chunk 30 MiB",
    }
    assert printed("--routed", str(routed), "--line", "1")["floodplain.dev/peak"] == "114Mi"
    assert printed("--routed", "-", stdin=routed.read_bytes()) == largest


def test_a_manifest_is_printed_with_them(tmp_path: Path) -> None:
    routed, manifest = tmp_path / "big.jsonl", tmp_path / "job.yaml"
    routed.write_text(line("big", 30))
    manifest.write_text("kind: Job\nspec: {template: {spec: {containers: [{name: tile}]}}}\n")
    result = run("--routed", str(routed), "--manifest", str(manifest))
    assert result.exit_code == 0
    found = yaml.safe_load(result.stdout)
    assert found == {
        "kind": "Job",
        "spec": {
            "template": {
                "spec": {"containers": [{"name": "tile"}]},
                "metadata": {"annotations": printed("--routed", str(routed))},
            }
        },
    }


WROTE = "name a file that `floodplain raster route` wrote"


@pytest.mark.parametrize(
    ("content", "arguments", "wanted"),
    [
        (line("failed", None, reason="gone"), (), "line 1, a.tif has no estimate (gone); leave it out"),
        (line("skipped", None), (), f"has no task with an estimate; {WROTE}"),
        ("", (), f"has no task with an estimate; {WROTE}"),
        (line("small", 5), ("--line", "2"), f"has no task with an estimate in line 2; {WROTE}"),
        ('{"source": "a.tif"}\n', (), f"line 1 is no routed task; {WROTE}"),
        ("x\n", (), f"line 1 is no routed task (Expecting value: line 1 column 1 (char 0)); {WROTE}"),
        (
            line("small", 5).replace('"pool"', '"pool": "big", "pool"'),
            (),
            f"line 1 is no routed task: 'pool' is given twice; keep one of them; {WROTE}",
        ),
        (line("small", 5).replace("5242880", "true"), (), f"line 1 is no routed task; {WROTE}"),
    ],
)
def test_lines_that_say_no_peak_are_told(tmp_path: Path, content: str, arguments: Any, wanted: str) -> None:
    routed = tmp_path / "lines.jsonl"
    routed.write_text(content)
    result = run("--routed", str(routed), *arguments)
    told = result.stderr.removeprefix(f"--routed: {routed}").removeprefix(": ").strip()
    assert (result.exit_code, result.stdout, told) == (1, "", wanted)


def test_a_task_that_no_pool_takes_gets_no_annotations(raster: str, tmp_path: Path) -> None:
    routed = tmp_path / "refused.jsonl"
    routed.write_text(line("refused", 900, reason="900 MiB is above the big pool"))
    told = "line 1, a.tif is refused: 900 MiB is above the big pool\n"
    assert (run("--routed", str(routed)).exit_code, run("--routed", str(routed)).stderr) == (1, told)
    skipped = run(raster, "--tile", NOWHERE)
    assert (skipped.exit_code, skipped.stderr.partition(": ")[0]) == (1, f"{raster}, tile {NOWHERE} is skipped")
    assert run("gone.tif", "--tile", TILE).exit_code == 1


def test_bad_input_is_told(raster: str, tmp_path: Path) -> None:
    one = "SOURCE: name a raster, or a file of routed lines with --routed; not both\n"
    for arguments in ((), (raster, "--routed", "x")):
        assert (run(*arguments).exit_code, run(*arguments).stderr) == (2, one)
    manifest = tmp_path / "none.yaml"
    told = f"--manifest: {manifest} cannot be read (No such file or directory); name a file that you may read\n"
    assert run(raster, "--tile", TILE, "--manifest", str(manifest)).stderr == told
    manifest.write_bytes(b"\xff")
    assert run(raster, "--tile", TILE, "--manifest", str(manifest)).exit_code == 1
    manifest.write_text("kind: Service\n")
    result = run(raster, "--tile", TILE, "--manifest", str(manifest))
    assert result.stderr == (
        f"--manifest: {manifest}: the manifest: has 0 of Pod, Job, CronJob and must have one (there: Service);"
        " name one with a single pod\n"
    )
