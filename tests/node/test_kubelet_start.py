"""What kubelet makes of swap when it starts, and that it looks at no other time."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from floodplain.quantity import MIB
from floodplain.swap import SwapContainer, SwapNode, container_grant_bytes
from testbed.node.machine import Machine
from testbed.node.nodeadm_standin.kubelet import CONFIG
from testbed.processes import wait_until
from tests.node.jobs import Jobs, container, memory

pytestmark = pytest.mark.full

MORE = "/mnt/k8s-disks/0/more.swap"
MORE_MIB = 64


def test_with_fail_swap_on_it_does_not_start_on_a_machine_with_swap(machine: Machine) -> None:
    """A second kubelet beside the real one, without a cluster and on no port; the rest of its settings is nodeadm's."""
    settings = json.loads(machine.run(f"cat {CONFIG}"))
    alone = {"authentication": {"webhook": {"enabled": False}}, "authorization": {"mode": "AlwaysAllow"}}
    settings |= {"failSwapOn": True, "port": 0, "healthzPort": 0, **alone}
    machine.run(f"mkdir -p /run/second && cat >/run/second/config.json <<'END'\n{json.dumps(settings)}\nEND")
    try:
        said = machine.run(
            "timeout 200 kubelet --config=/run/second/config.json --root-dir=/run/second/root 2>&1; echo status $?",
            timeout_seconds=240,
        )
    finally:
        machine.run("rm -r /run/second")
    lines = said.splitlines()
    assert lines[-1] == "status 1"
    assert "running with swap on is not supported, please disable swap or set --fail-swap-on flag to false" in said


@pytest.fixture
def more_swap(machine: Machine) -> Iterator[None]:
    """A second swap file, made and switched on beside kubelet's back; off and gone afterwards, and kubelet knows."""
    machine.run(f"fallocate -l {MORE_MIB}M {MORE} && chmod 600 {MORE} && mkswap {MORE} && swapon {MORE}")
    yield
    machine.run(f"swapoff {MORE} 2>/dev/null; rm -f {MORE}")
    if told(machine) != memory(machine)["SwapTotal"]:
        restart_kubelet(machine, memory(machine)["SwapTotal"])


def told(machine: Machine) -> int:
    """nodeInfo.swap.capacity as kubelet has it now: what the cluster has of it is made wrong first, since kubelet
    writes its status only where it differs."""
    path = f"/api/v1/nodes/{machine.instance.node_name}/status"
    machine.control_plane.api.patch(path, {"status": {"nodeInfo": {"swap": {"capacity": 1}}}})

    def written() -> int | None:
        node = machine.node()
        assert node is not None
        found = int(node["status"]["nodeInfo"]["swap"]["capacity"])
        return None if found == 1 else found

    return int(wait_until("kubelet has written its status", written, timeout_seconds=120) or 0)


def restart_kubelet(machine: Machine, swap: int) -> None:
    machine.run("systemctl restart kubelet")

    def knows() -> bool:
        node = machine.node()
        return node is not None and bool(node["status"]["nodeInfo"]["swap"]["capacity"] == swap)

    wait_until(f"the node tells of {swap} bytes of swap", knows, timeout_seconds=300, pause_seconds=1)
    machine.wait_until_ready()


def granted(jobs: Jobs, name: str) -> int:
    jobs.start(name, container(request_mib=100, limit_mib=120))
    jobs.running(name)
    return jobs.swap_limits(name)["job"]


@pytest.mark.usefixtures("more_swap")
def test_swap_that_comes_or_goes_later_changes_nothing_until_it_is_started_again(machine: Machine, jobs: Jobs) -> None:
    found = memory(machine)
    total, larger = found["MemTotal"], found["SwapTotal"]
    original = larger - (MORE_MIB * MIB - 4096)
    of_original, of_larger = (
        container_grant_bytes(SwapContainer(100 * MIB, 120 * MIB), SwapNode(total, swap)) for swap in (original, larger)
    )
    assert of_original < of_larger
    assert (told(machine), granted(jobs, "came")) == (original, of_original)
    restart_kubelet(machine, larger)
    assert granted(jobs, "known") == of_larger
    assert jobs.swap_limits("came")["job"] == of_original
    machine.run(f"swapoff {MORE}")
    assert memory(machine)["SwapTotal"] == original
    assert (told(machine), granted(jobs, "went")) == (larger, of_larger)
