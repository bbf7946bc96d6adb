"""Wall time and peak memory of a command, measured from outside, as its user feels them."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

# Started between this process and the command. The kernel carries the peak memory of whoever starts a program over
# into the program's own figure, so a large parent would be measured instead of a small child. Processes that the
# command starts are added up while they run (shared pages once), since the kernel's figure is of one process only.
_STARTER = """
import json, os, sys, threading, time

def resident(process):
    try:
        with open(f"/proc/{process}/smaps_rollup") as file:
            kib = sum(int(line.split()[1]) for line in file if line.startswith("Pss:"))
        children = []
        for thread in os.listdir(f"/proc/{process}/task"):
            with open(f"/proc/{process}/task/{thread}/children") as file:
                children += file.read().split()
    except OSError:
        return 0
    return kib * 1024 + sum(map(resident, children))

peak = 0
def watch():
    global peak
    while not ended.wait(0.05):
        peak = max(peak, resident(child))

ended = threading.Event()
started = time.perf_counter()
child = os.posix_spawnp(sys.argv[2], sys.argv[2:], os.environ)
watcher = threading.Thread(target=watch)
watcher.start()
_, status, usage = os.wait4(child, 0)
seconds = time.perf_counter() - started
ended.set()
watcher.join()
code = os.waitstatus_to_exitcode(status)
with open(sys.argv[1], "w") as file:
    json.dump({"seconds": seconds, "rss_bytes": max(peak, usage.ru_maxrss * 1024), "code": code}, file)
"""


@dataclass(frozen=True)
class Cost:
    """What a command took: seconds from start to end, and the most memory that was resident in all its processes."""

    seconds: float
    rss_bytes: int


def warm_environment(cache: Path) -> dict[str, str]:
    """The environment of a second run: bytecode is written, to a folder of its own, whatever the shell says."""
    kept = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPYCACHEPREFIX": str(cache), "PULUMI_ERROR_OUTPUT_STRING": "true"}


def run(command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> Cost:
    """Run `command` once in `folder`. Raises RuntimeError with what it printed if it fails."""
    reading, writing = os.pipe()
    try:
        done = subprocess.run(
            [sys.executable, "-S", "-E", "-c", _STARTER, f"/dev/fd/{writing}", *command],
            cwd=folder,
            env=environment,
            pass_fds=[writing],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
    finally:
        os.close(writing)
    with os.fdopen(reading) as report:
        told = report.read()
    if done.returncode or not told:
        raise RuntimeError(f"{' '.join(command)} could not be started:\n{done.stdout}")
    figures = json.loads(told)
    if figures["code"]:
        raise RuntimeError(f"{' '.join(command)} ended with {figures['code']}:\n{done.stdout}")
    return Cost(figures["seconds"], figures["rss_bytes"])


def median(command: Sequence[str], folder: Path, environment: Mapping[str, str], times: int) -> Cost:
    """Median over `times` runs, after one that is not counted."""
    run(command, folder, environment)
    costs = [run(command, folder, environment) for _ in range(times)]
    return Cost(
        statistics.median(cost.seconds for cost in costs),
        int(statistics.median(cost.rss_bytes for cost in costs)),
    )
