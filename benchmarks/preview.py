"""How long the offline preview takes and how much memory, how that grows with pools, and how large boot texts are."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from preview.karpenter_objects import NODE_CLASS, object_name
from preview.outputs import Apply
from preview.render import run as render
from preview.stackfile import load, stacks_of
from preview.wire import reveal

from . import many_pools
from .child import median, warm_environment
from .rows import Row, at_most

ROOT = Path(__file__).resolve().parent.parent
SIZES = (1, 10, 25, 50)
USER_DATA_MOST_BYTES = 12 * 1024


def run(options: Sequence[str] = ()) -> list[Row]:
    """All rows. With `--tests` in `options` the test suite is run and timed; else its last junit report is read."""
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        environment = warm_environment(Path(folder) / "bytecode")
        cost = median(_command("prod", ROOT), ROOT, environment, times=5)
        rows.append(at_most("preview of prod, warm, median of 5", "s", cost.seconds, 2.0))
        rows.append(
            at_most("preview of prod, most memory of its processes together", "MB", cost.rss_bytes / 1_000_000, 200)
        )
        rows += _growth(Path(folder), environment)
    rows.append(user_data())
    rows += _tests(run_them="--tests" in options)
    return rows


def _command(stack: str, root: Path) -> list[str]:
    return [sys.executable, "-m", "preview", "report", "--stack", stack, "--root", str(root)]


def _growth(folder: Path, environment: Mapping[str, str]) -> Iterator[Row]:
    seconds = {}
    for size in SIZES:
        root = many_pools.make(ROOT, folder, size)
        seconds[size] = median(_command(many_pools.STACK, root), ROOT, environment, times=3).seconds
    yield at_most(f"preview of {SIZES[-1]} pools", "s", seconds[SIZES[-1]], 6.0)
    slope, start = statistics.linear_regression(list(seconds), list(seconds.values()))
    measured = ", ".join(f"{size}: {value:.2f} s" for size, value in seconds.items())
    yield Row(f"cost per pool, least squares over {measured}", "ms", round(slope * 1000, 1))
    yield Row("cost without a pool, from the same line", "s", round(start, 2))
    early = (seconds[SIZES[2]] - seconds[SIZES[0]]) / (SIZES[2] - SIZES[0])
    late = (seconds[SIZES[3]] - seconds[SIZES[2]]) / (SIZES[3] - SIZES[2])
    figure = f"a pool beyond {SIZES[2]} costs, against one before"
    yield at_most(figure, "times", late / early, 1.5)


def user_data() -> Row:
    """The largest boot text of all pools of all stacks."""
    sizes: dict[str, int] = {}
    for stack in stacks_of(ROOT):
        recording = render(load(ROOT, stack), ROOT, Apply())
        for node_class in recording.of(NODE_CLASS):
            spec = reveal(dict(node_class.inputs["spec"]))
            sizes[f"{stack}/{object_name(node_class)}"] = len(spec["userData"].encode())
    largest = max(sizes, key=lambda name: sizes[name])
    figure = f"user data, largest of {len(sizes)} pools in all stacks ({largest})"
    return at_most(figure, "bytes", sizes[largest], USER_DATA_MOST_BYTES)


def _tests(*, run_them: bool) -> Iterator[Row]:
    report = ROOT / "build" / "ci" / "junit.xml"
    if run_them:
        started = time.perf_counter()
        subprocess.run(["make", "test"], cwd=ROOT, check=True)
        yield at_most("make test after set-up, 2 cores", "s", time.perf_counter() - started, 180)
    elif report.exists():
        suites = list(ET.fromstring(report.read_text(encoding="utf-8")).iter("testsuite"))
        seconds = sum(float(suite.get("time", "0")) for suite in suites)
        tests = sum(int(suite.get("tests", "0")) for suite in suites)
        yield at_most(f"make test after set-up, {tests} tests, as CI last timed it", "s", seconds, 180)
