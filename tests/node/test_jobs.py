"""Jobs whose peak is over their memory limit: with swap they end well, without it they are killed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from decimal import Decimal

import pytest

from components.pool_objects import runtime_class
from floodplain.quantity import MIB, to_bytes
from floodplain.swap import SwapContainer, SwapNode, completion, limit_bytes, request_bytes
from testbed.cluster.control_plane import ControlPlane
from tests.node.figures import note
from tests.node.jobs import Jobs, container, memory
from tests.node.pool import pool

PEAK_MIB = 600
MARGIN = Decimal("0.1")
OVERHEAD_MIB = 16
POOL = pool()


@pytest.fixture(scope="module")
def runtime(cluster: ControlPlane) -> Iterator[str]:
    """The pool's own RuntimeClass: handler, selector, toleration, overhead."""
    made = runtime_class(POOL)
    cluster.api.must_apply(made)
    yield made["metadata"]["name"]
    cluster.api.delete(cluster.api.path_of(made))


def test_a_peak_over_the_limit_survives_with_swap_and_its_twin_without_is_killed(jobs: Jobs) -> None:
    limit = limit_bytes(PEAK_MIB * MIB, ratio=2, margin=MARGIN, hot_share=0) // MIB
    request = request_bytes(limit * MIB) // MIB
    found = memory(jobs.machine)
    plan = completion(
        SwapContainer(request * MIB, limit * MIB),
        SwapNode(found["MemTotal"], found["SwapTotal"]),
        peak_bytes=PEAK_MIB * MIB,
        margin=MARGIN,
        hot_share=0,
    )
    assert plan.shortfall_bytes == 0
    eat = (f"-mib={PEAK_MIB}", "-sweeps=1", "-hold=3s")
    jobs.start("with-swap", container(request_mib=request, limit_mib=limit, eat=eat))
    jobs.start("without", container(request_mib=limit, limit_mib=limit, eat=eat))
    jobs.running("with-swap")
    folder = jobs.cgroups("with-swap")["job"]
    peak = 0
    while jobs.get("with-swap")["status"]["phase"] == "Running":
        seen = jobs.machine.run(f"cat {folder}/memory.swap.peak 2>/dev/null || echo 0")
        peak = max(peak, int(seen))
        time.sleep(1)
    ends = jobs.ended("with-swap", "without")
    note(f"limit {limit} MiB, peak {PEAK_MIB} MiB, in swap at most {peak // MIB} MiB: {ends}")
    assert (ends["with-swap"].exit_code, ends["with-swap"].reason) == (0, "Completed")
    assert (ends["without"].exit_code, ends["without"].reason) == (137, "OOMKilled")
    assert (PEAK_MIB - limit) * MIB <= peak <= plan.grant_bytes
    assert f"filled {PEAK_MIB} MiB" in jobs.log("with-swap")
    assert "done" not in jobs.log("without")


def test_two_jobs_that_fill_the_node_by_request_both_end_well(jobs: Jobs, runtime: str) -> None:
    node = jobs.machine.node()
    assert node is not None
    allocatable = to_bytes(node["status"]["allocatable"]["memory"]) // MIB
    request = allocatable // 2 - OVERHEAD_MIB
    limit, peak = request + 1, request * 3 - 100
    eat = (f"-mib={peak}", "-hold=15s")
    for name in ("one", "two"):
        jobs.start(name, container(request_mib=request, limit_mib=limit, eat=eat), runtimeClassName=runtime)
    ends = jobs.ended("one", "two", timeout_seconds=400)
    note(f"allocatable {allocatable} MiB, two of limit {limit} and peak {peak} MiB: {ends}")
    assert {name: (end.exit_code, end.reason, end.pod_reason) for name, end in ends.items()} == {
        "one": (0, "Completed", None),
        "two": (0, "Completed", None),
    }
    assert memory(jobs.machine)["SwapFree"] > 0
