"""`python -m testbed up`: a person gets a cluster that answers, and nothing of it is left after Ctrl-C."""

from __future__ import annotations

import base64
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import requests
import yaml

ROOT = Path(__file__).resolve().parents[3]


@contextmanager
def running(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """The command as a shell starts it; killed when a test has failed before ending it."""
    started = subprocess.Popen(
        [sys.executable, "-m", "testbed", "up", "--bare", "--folder", str(folder)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield started
    finally:
        started.kill()
        started.wait()


def left_over(folder: Path) -> dict[int, str]:
    """Command lines of processes that were given something of `folder`, by id."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            if str(folder) in line:
                found[int(entry.name)] = line
    return found


def node_names(kubeconfig: Path, folder: Path) -> list[str]:
    """Read over HTTPS with what the printed file holds, as kubectl does it."""
    config = yaml.safe_load(kubeconfig.read_text())
    cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
    files = []
    for holder, name in ((cluster, "certificate-authority"), (user, "client-certificate"), (user, "client-key")):
        file = folder / name
        file.write_bytes(base64.b64decode(holder[f"{name}-data"]))
        files.append(str(file))
    answer = requests.get(f"{cluster['server']}/api/v1/nodes", verify=files[0], cert=(files[1], files[2]), timeout=10)
    answer.raise_for_status()
    return [item["metadata"]["name"] for item in answer.json()["items"]]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "kill"])
def test_the_printed_line_leads_to_a_cluster_and_ending_it_leaves_no_process(
    tmp_path: Path, number: signal.Signals
) -> None:
    folder = tmp_path / "state"
    with running(folder) as command:
        assert command.stdout
        line = command.stdout.readline().strip()
        assert line == f"export KUBECONFIG={folder / 'cluster' / 'kubeconfig'}"
        assert node_names(Path(line.partition("=")[2]), tmp_path) == ["system-1"]
        assert len(left_over(folder)) >= 5
        os.kill(command.pid, number)
        _, errors = command.communicate(timeout=60)
    assert command.returncode == (0 if number is signal.SIGINT else 143)
    assert "Traceback" not in errors
    assert left_over(folder) == {}


def test_a_person_learns_that_an_engine_was_killed_and_all_others_end(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    with running(folder) as command:
        assert command.stdout
        assert command.stdout.readline().startswith("export KUBECONFIG=")
        [engine] = [pid for pid, line in left_over(folder).items() if "kube-scheduler" in line]
        os.kill(engine, signal.SIGKILL)
        _, errors = command.communicate(timeout=60)
    assert command.returncode == 1
    assert "\ntestbed: kube-scheduler was killed by SIGKILL although nobody asked it to; its last lines:\n" in errors
    assert errors.endswith(f"\nstate and logs stay in {folder}\n")
    assert left_over(folder) == {}
