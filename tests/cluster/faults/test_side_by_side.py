"""Two testbeds at once, and the folder of one that was killed."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

from testbed.cluster.control_plane import ControlPlane, control_plane
from testbed.processes import Processes
from testbed.state import State
from tests.testbed.owners import python, runs, said, soon

# A control plane in another process and the folder argv[1]: makes a namespace, prints what there is and its engines.
OTHER = """\
import json, sys, time
from pathlib import Path
from testbed.cluster.control_plane import control_plane
from testbed.processes import Processes
from testbed.state import State
with State(Path(sys.argv[1])) as state, Processes(state) as processes, control_plane(state, processes) as cluster:
    cluster.api.must_apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "theirs"}})
    names = [one["metadata"]["name"] for one in cluster.api.items("/api/v1/namespaces")]
    pids = [process.pid for process in cluster.processes.values()]
    print(json.dumps({"port": cluster.port, "names": names, "pids": pids}), flush=True)
    time.sleep(600)
"""
SYSTEM = {"default", "kube-node-lease", "kube-public", "kube-system"}


def namespaces(cluster: ControlPlane) -> set[str]:
    return {one["metadata"]["name"] for one in cluster.api.items("/api/v1/namespaces")}


def test_two_testbeds_work_side_by_side_and_a_killed_one_s_folder_is_taken_over(
    tmp_path: Path, cluster: ControlPlane, row: Callable[..., None]
) -> None:
    cluster.api.must_apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ours"}})
    with python(OTHER, tmp_path) as process:
        other = json.loads(said(process))
        assert other["port"] != cluster.port
        assert (set(other["names"]), namespaces(cluster)) == (SYSTEM | {"theirs"}, SYSTEM | {"ours"})
        assert all(runs(pid) for pid in other["pids"])
        process.kill()
        process.wait()
        started = time.monotonic()
        with State(tmp_path) as state, Processes(state) as processes, control_plane(state, processes) as again:
            row(
                "Control plane",
                what="up again in the folder of a killed one",
                seconds=f"{time.monotonic() - started:.1f}",
            )
            assert soon(lambda: not any(runs(pid) for pid in other["pids"]))
            assert (namespaces(again), namespaces(cluster)) == (SYSTEM, SYSTEM | {"ours"})
    cluster.api.delete("/api/v1/namespaces/ours")
