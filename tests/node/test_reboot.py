"""A node that is rebooted keeps its disks: cloud-init does not run again, the swap file is taken over or made anew."""

from __future__ import annotations

import pytest

from floodplain.quantity import MIB
from floodplain.swap import SwapContainer, SwapNode, container_grant_bytes
from testbed.node.machine import Machine
from testbed.processes import wait_until
from tests.node.jobs import Jobs, container, memory

pytestmark = pytest.mark.full

FILE = "/mnt/k8s-disks/0/floodplain.swap"


def reboot(machine: Machine) -> str:
    """Reboot, wait for the node to be Ready again, and return what the swap unit said in this boot."""
    before = machine.run("cat /proc/sys/kernel/random/boot_id")
    machine.run("systemctl --no-block reboot")

    def is_back() -> bool:
        node = machine.node()
        return node is not None and node["status"]["nodeInfo"]["bootID"] != before

    wait_until("the node tells of another boot", is_back, process=machine.process, timeout_seconds=600, pause_seconds=1)
    machine.wait_until_ready()
    machine.wait_until_reachable()
    return machine.run("journalctl --output=cat --unit=floodplain-swap")


def has_its_swap(jobs: Jobs) -> None:
    found = memory(jobs.machine)
    node = jobs.machine.node()
    assert node is not None
    assert node["status"]["nodeInfo"]["swap"]["capacity"] == found["SwapTotal"]
    # A file that was taken over has the size of the first boot, whose MemTotal was some pages more or less.
    assert found["SwapTotal"] == pytest.approx(2 * found["MemTotal"], rel=0.001)
    jobs.start("after", container(request_mib=100, limit_mib=150))
    jobs.running("after")
    expected = container_grant_bytes(
        SwapContainer(100 * MIB, 150 * MIB), SwapNode(found["MemTotal"], found["SwapTotal"])
    )
    assert jobs.swap_limits("after") == {"job": expected}


def test_user_data_applied_twice_changes_nothing(machine: Machine) -> None:
    files = "/etc/systemd/system/floodplain-*.service /usr/local/sbin/floodplain-* /etc/eks/nodeadm.d/*"
    sysctls = "sysctl vm.min_free_kbytes vm.watermark_scale_factor vm.swappiness vm.page-cluster"
    swaps = "swapon --show=NAME,SIZE,PRIO --bytes"
    state = f"sha256sum {files}; {swaps}; {sysctls}; systemctl show --property=MainPID kubelet containerd"
    before = machine.run(state)
    machine.run("/var/lib/cloud/instance/scripts/part-001")
    assert machine.run("/usr/local/sbin/floodplain-swap").splitlines()[0] == "floodplain-swap: already on"
    machine.run("/usr/local/sbin/floodplain-memory")
    assert machine.run(state) == before


def test_after_a_reboot_the_swap_file_is_taken_over(machine: Machine, jobs: Jobs) -> None:
    inode = machine.run(f"stat -c %i {FILE}")
    said = reboot(machine)
    assert f"floodplain-swap: reused {FILE}" in said
    assert machine.run(f"stat -c %i {FILE}") == inode
    assert "scripts ran in an earlier boot" in machine.run("journalctl --output=cat --unit=cloud-final")
    has_its_swap(jobs)


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(f"dd if=/dev/urandom of={FILE} bs=4096 count=1 conv=notrunc status=none", id="header"),
        pytest.param(f"truncate -s 64M {FILE}", id="length"),
    ],
)
def test_a_damaged_swap_file_is_made_anew(machine: Machine, jobs: Jobs, damage: str) -> None:
    machine.run(f"swapoff -a; {damage}")
    said = reboot(machine)
    assert "floodplain-swap: made " in said
    has_its_swap(jobs)
