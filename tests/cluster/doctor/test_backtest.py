"""`floodplain backtest --from-cluster` against a real API server: what ended there, planned again."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import yaml

from testbed.cluster.api import Api
from testbed.cluster.control_plane import ControlPlane, kubeconfig_for
from tests.cluster.doctor.pool_node import NAMESPACE, Manifest, pod

ASKED = {"floodplain.dev/engine": "odm", "floodplain.dev/images": "500"}
TIMES = {"startedAt": "2026-08-01T10:00:00Z", "finishedAt": "2026-08-01T12:00:00Z"}


def run(*arguments: str) -> tuple[int, str, str]:
    command = [sys.executable, "-m", "floodplain", "backtest", "--from-cluster", *arguments]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout, done.stderr


def ended(phase: str, reason: str, code: int) -> Manifest:
    container = {"name": "job", "image": "i", "imageID": "i", "ready": False, "restartCount": 0}
    state = {"terminated": {"exitCode": code, "reason": reason, **TIMES}}
    return {"phase": phase, "containerStatuses": [{**container, "state": state}]}


def test_pods_that_ended_are_planned_again(cluster: ControlPlane, api: Api, make: Callable[..., Manifest]) -> None:
    make(pod("killed", request="8191Mi", limit="8Gi", annotations=ASKED), ended("Failed", "OOMKilled", 137))
    make(pod("ran", request="60Gi", limit="60Gi", annotations=ASKED), ended("Succeeded", "Completed", 0))
    make(pod("runs", request="1Gi", limit="2Gi", annotations=ASKED))
    wrong = {**ASKED, "floodplain.dev/options": "dsn"}
    make(pod("wrong", request="1Gi", limit="2Gi", annotations=wrong), ended("Succeeded", "Completed", 0))
    make(pod("somebody-elses", request="1Gi", limit="2Gi"), ended("Succeeded", "Completed", 0))
    status, output, errors = run("--kubeconfig", str(cluster.kubeconfig), "--json")
    made = json.loads(output)
    assert status == 0
    assert [(one["id"], one["outcome"], one["verdict"]) for one in made["replayed"]] == [
        (f"{NAMESPACE}/killed", "oom", "undecidable"),
        (f"{NAMESPACE}/ran", "succeeded", "undecidable"),
    ]
    assert (made["memory_gib_hours"]["jobs"], made["memory_gib_hours"]["theirs"]) == (2, 135.998)
    assert made["remarks"] == ["1 still running or waiting"]
    assert made["bad"] == 1
    assert f"pod {NAMESPACE}/wrong" in errors
    # The node is of no pool that is known here, so that its swap may be anybody's: with a ratio it can be decided.
    status, output, _ = run("--kubeconfig", str(cluster.kubeconfig), "--json", "--swap-before", "0")
    assert [one["verdict"] for one in json.loads(output)["replayed"]] == ["clears-bound", "kept"]


def test_without_the_right_to_list_pods_it_says_what_to_grant(cluster: ControlPlane, api: Api, tmp_path: Path) -> None:
    pair = cluster.authority.issue("backtest-stranger", "backtest-stranger")
    path = tmp_path / "stranger"
    path.write_text(yaml.safe_dump(kubeconfig_for(cluster.endpoint, cluster.authority, pair)))
    status, output, errors = run("--kubeconfig", str(path))
    assert (status, output) == (1, "")
    assert errors.startswith("pods cannot be listed (pods is forbidden")
    assert errors.endswith("grant list on pods\n")


def test_a_cluster_in_which_nothing_ended_is_status_1(cluster: ControlPlane, api: Api) -> None:
    assert run("--kubeconfig", str(cluster.kubeconfig))[::2][0] == 1
