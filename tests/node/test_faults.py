"""What a node does whose swap cannot be made: full disk, a program that is killed. And one with a single disk."""

from __future__ import annotations

import pytest

from floodplain.swap import swap_file_bytes
from testbed.cluster.control_plane import ControlPlane
from testbed.node.machine import Machine
from tests.node.conftest import Boot
from tests.node.figures import note
from tests.node.jobs import Jobs, container, memory
from tests.node.pool import DISK_BYTES

pytestmark = pytest.mark.full

KILLS = """#!/bin/bash
cat >/usr/local/bin/fallocate <<'END'
#!/bin/bash
/usr/bin/fallocate "$@"
kill -9 "$PPID"
END
chmod +x /usr/local/bin/fallocate
"""
"""A shell part that has the swap unit killed half way: the file is there, not yet a swap file."""


def test_a_disk_too_small_is_said_and_the_machine_powers_off(diskless: Boot) -> None:
    machine = diskless(disks=(10 * 10**9,))
    seconds = machine.wait_until_powered_off()
    note(f"disk too small: off after {seconds:.0f} s")
    assert "floodplain-swap: no room in /mnt/k8s-disks/0: " in machine.console()
    assert machine.node() is None


def test_a_swap_unit_killed_half_way_powers_the_machine_off(diskless: Boot) -> None:
    machine = diskless(settings={"extraScripts": [KILLS]})
    seconds = machine.wait_until_powered_off()
    note(f"swap unit killed: off after {seconds:.0f} s")
    assert "part-002 ended with status 0" in machine.console()
    assert machine.node() is None


def test_kept_running_for_a_look_it_has_no_kubelet_and_is_mended_by_hand(other: Boot) -> None:
    machine = other(settings={"extraScripts": [KILLS], "swap": {"powerOffOnFailure": False}})
    machine.wait_until_reachable()
    assert (
        machine.run("while [ $(systemctl is-active floodplain-swap) != failed ]; do sleep 1; done", timeout_seconds=300)
        == ""
    )
    units = ("floodplain-memory", "floodplain-swap", "kubelet", "nodeadm-run")
    states = machine.run(f"systemctl is-active {' '.join(units)}", check=False).split()
    assert dict(zip(units, states, strict=True)) == {
        "floodplain-memory": "active",
        "floodplain-swap": "failed",
        "kubelet": "inactive",
        "nodeadm-run": "activating",
    }
    assert machine.run("ls /mnt/k8s-disks/0/*.swap*") == "/mnt/k8s-disks/0/floodplain.swap.new"
    machine.run("rm /usr/local/bin/fallocate; systemctl start kubelet")
    machine.wait_until_ready()
    assert machine.run("ls /mnt/k8s-disks/0/*.swap*") == "/mnt/k8s-disks/0/floodplain.swap"
    node = machine.node()
    assert node is not None
    assert node["status"]["nodeInfo"]["swap"]["capacity"] == memory(machine)["SwapTotal"]


@pytest.fixture
def single(other: Boot) -> Machine:
    """One disk, and the setting under which only the process that hit the limit is killed."""
    machine = other(disks=(DISK_BYTES,), settings={"singleProcessOomKill": True})
    machine.wait_until_ready()
    return machine


def test_a_single_disk_has_its_swap_too_and_a_child_may_die_alone(single: Machine, cluster: ControlPlane) -> None:
    found = memory(single)
    assert single.run("stat -c %s /mnt/k8s-disks/0/floodplain.swap") == str(swap_file_bytes(found["MemTotal"], 2))
    kinds = single.run("lsblk --noheadings --list --output TYPE /dev/nvme0n1").split()
    assert sorted(kinds) == ["disk", "raid0"]
    assert single.kubelet("/configz")["kubeletconfig"]["singleProcessOOMKill"] is True
    jobs = Jobs(cluster.api, single)
    jobs.start("parent", container(request_mib=100, limit_mib=100, eat=("-child", "-mib=300")))
    ends = jobs.ended("parent")
    assert "child: signal: killed" in jobs.log("parent")
    jobs.remove("parent")
    assert (ends["parent"].exit_code, ends["parent"].reason) == (0, "Completed")
