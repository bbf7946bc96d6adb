"""One run of the whole chain, shared by the tests that look at what came of it. Its timeline is printed at the end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import pytest

from floodplain import pools
from floodplain.quantity import MIB
from floodplain.sizing.plan import Plan
from floodplain.sizing.planner import make_plan
from floodplain.sizing.workload import Workload
from testbed import chain
from testbed.bed import Bed, open_bed
from testbed.cluster.api import is_true
from testbed.node.image import Image, build_image
from testbed.node.machine import Machine
from testbed.processes import wait_until
from testbed.pulumi.steps import Outcome
from testbed.state import State
from tests.kept_logs import pytest_runtest_makereport  # noqa: F401

from .timeline import Timeline

_TIMELINE = pytest.StashKey[Timeline]()


@dataclass
class Run:
    """What each link of the chain left behind."""

    bed: Bed
    deployed: Outcome
    plan: Plan
    """Made here, from the same pools, before the pod was created."""
    launched: chain.Launched
    machine: Machine
    node: dict[str, Any]
    claim: dict[str, Any]
    meminfo: dict[str, int]
    cgroup: dict[str, int]
    """memory.max, memory.swap.max and the peaks of the job's container, in bytes."""
    pod: dict[str, Any]
    log: str
    timeline: Timeline = field(default_factory=Timeline)


@pytest.fixture(scope="session")
def run(request: pytest.FixtureRequest) -> Iterator[Run]:
    image = build_image()
    timeline = Timeline()
    with ExitStack() as stack:
        state = stack.enter_context(State())
        bed = stack.enter_context(open_bed(state, kubelet_hosts=("machine",), settings=chain.settings(image)))
        timeline.mark("control plane, KWOK and AWS answer")
        request.config.stash[_TIMELINE] = timeline
        yield _whole_chain(bed, image, timeline)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    timeline = config.stash.get(_TIMELINE, None)
    if timeline is not None:
        terminalreporter.section("the chain")
        terminalreporter.write_line(timeline.text())


def foretold(bed: Bed) -> Plan:
    """What the stack's pools make of the pod."""
    documents = pools.read(bed.project.outputs()["pools"].encode())
    return make_plan(Workload(images=chain.IMAGES, megapixels=chain.MEGAPIXELS), documents)


def _whole_chain(bed: Bed, image: Image, timeline: Timeline) -> Run:
    api = bed.cluster.api
    deployed = bed.deploy()
    timeline.mark(
        f"pulumi up of the testbed stack: {len(deployed.steps)} resources; Karpenter runs with the chart's settings"
    )
    chain.ready_pool(bed)
    timeline.mark("EC2NodeClass and NodePool are Ready")
    chain.admit(bed)
    timeline.mark("admission answers the API server, with the pools that the stack put out")
    plan = foretold(bed)
    answer = api.create(chain.pod(plan.peak_bytes // MIB, plan.hot_bytes // MIB))
    assert answer.ok, answer.message
    timeline.mark(f"a pod of {chain.IMAGES} images is sized and pending: a peak of {plan.peak_bytes // MIB} MiB")
    launched = chain.launched(bed)
    timeline.mark(f"Karpenter launched {launched.instance['InstanceType']} with {len(launched.user_data):,} bytes")
    machine = chain.boot_it(bed, image, launched)
    machine.wait_until_ready()
    timeline.mark("the machine's kubelet is Ready")
    machine_name = machine.instance.node_name
    wait_until("the pod runs", lambda: chain.phase(bed) != "Pending", process=machine.process, timeout_seconds=180)
    timeline.mark("the pod runs")
    cgroup = chain.watch_cgroup(bed, machine)
    timeline.mark(f"the pod ended: {chain.phase(bed)}")
    claim = launched.claim["metadata"]["name"]
    wait_until(
        "Karpenter takes the node for initialized",
        lambda: is_true(api.get(f"{chain.CLAIMS}/{claim}"), "Initialized"),
        timeout_seconds=120,
    )
    timeline.mark("Karpenter takes the node for initialized")
    return Run(
        bed=bed,
        deployed=deployed,
        plan=plan,
        launched=launched,
        machine=machine,
        node=api.get(f"/api/v1/nodes/{machine_name}"),
        claim=api.get(f"{chain.CLAIMS}/{claim}"),
        meminfo=chain.meminfo(machine),
        cgroup=cgroup,
        pod=api.get(f"{chain.PODS}/{chain.POD}"),
        log=str(api.request("GET", f"{chain.PODS}/{chain.POD}/log").body.get("text", "")),
        timeline=timeline,
    )
