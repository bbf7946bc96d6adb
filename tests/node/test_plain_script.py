"""The script for machines elsewhere (docs/how-to/clusters-without-swap.md), on a node that has nothing of ours."""

from __future__ import annotations

import pytest

from floodplain.quantity import MIB
from floodplain.swap import SwapContainer, SwapNode, container_grant_bytes, swap_total_bytes
from nodeconfig import PlainSettings, kernel_reserve, plain_script
from testbed.cluster.control_plane import ControlPlane
from testbed.node.karpenter_part import END, HEADER
from testbed.node.machine import Machine
from testbed.node.nodeadm_standin.kubelet import DROP_INS
from testbed.processes import wait_until
from tests.node.conftest import Boot
from tests.node.jobs import Jobs, container, memory

pytestmark = pytest.mark.full

SWAP_BYTES = 512 * MIB
SETTINGS = PlainSettings(
    swap_size="512Mi",
    disk_reserve="256Mi",  # the root's disk is a small one here
    kubelet_config_directory=DROP_INS,
    slices=("system.slice", "runtime.slice"),
)


@pytest.fixture
def bare(other: Boot) -> Machine:
    """No unit, no script, no kubelet setting of ours; its disk for the file is the root's, ext4."""
    machine = other(ours=HEADER + END)
    machine.wait_until_ready()
    return machine


def _install(machine: Machine) -> list[str]:
    machine.run(f"cat >/root/node-swap.sh <<'END-OF-THE-SCRIPT'\n{plain_script(SETTINGS)}END-OF-THE-SCRIPT")
    return machine.run("bash /root/node-swap.sh").splitlines()


def _state(machine: Machine) -> str:
    files = f"/etc/systemd/system/floodplain-*.service /usr/local/sbin/floodplain-* {DROP_INS}/*"
    sysctls = "sysctl vm.min_free_kbytes vm.watermark_scale_factor vm.swappiness vm.page-cluster"
    swaps = "swapon --show=NAME,SIZE,PRIO --bytes; stat -c '%i %s %a' /var/lib/floodplain/swap"
    units = "systemctl show --property=ActiveState,ActiveEnterTimestampMonotonic floodplain-memory floodplain-swap"
    daemons = "cat /sys/fs/cgroup/system.slice/memory.swap.max /sys/fs/cgroup/runtime.slice/memory.swap.max"
    return machine.run(f"sha256sum {files}; {sysctls}; {swaps}; {units}; {daemons}; systemctl show -p MainPID kubelet")


def test_it_makes_a_bare_machine_a_node_with_swap_and_a_second_run_changes_nothing(
    bare: Machine, cluster: ControlPlane
) -> None:
    before = memory(bare)
    assert (before["SwapTotal"], bare.run("ls /usr/local/sbin")) == (0, "")
    kubelet = bare.run("systemctl show -p MainPID kubelet")
    assert _install(bare)[-1] == "floodplain: drain the node and restart kubelet; it reads swap only at its start"
    total = swap_total_bytes(SWAP_BYTES + 4096)
    found = memory(bare)
    assert (found["SwapTotal"], total) == (SWAP_BYTES, SWAP_BYTES)
    reserve = kernel_reserve(found["MemTotal"])
    assert bare.run("sysctl -n vm.min_free_kbytes vm.watermark_scale_factor").split() == [
        str(reserve.min_free_kib),
        str(reserve.watermark_scale_factor),
    ]
    state = _state(bare)
    assert state.splitlines()[-1] == kubelet
    assert state.splitlines()[-3:-1] == ["0", "0"]
    _install(bare)
    assert _state(bare) == state

    node = bare.node()
    assert node is not None
    assert node["status"]["nodeInfo"].get("swap", {}).get("capacity", 0) == 0
    bare.run("systemctl restart kubelet")
    wait_until("kubelet knows its swap", lambda: _told(bare) == SWAP_BYTES, timeout_seconds=300, pause_seconds=1)
    bare.wait_until_ready()
    jobs = Jobs(cluster.api, bare)
    jobs.start("elsewhere", container(request_mib=100, limit_mib=101))
    jobs.running("elsewhere")
    grant = container_grant_bytes(SwapContainer(100 * MIB, 101 * MIB), SwapNode(found["MemTotal"], SWAP_BYTES))
    assert jobs.swap_limits("elsewhere") == {"job": grant}
    jobs.remove("elsewhere")


def _told(machine: Machine) -> int:
    return int(
        (machine.node() or {"status": {"nodeInfo": {}}})["status"]["nodeInfo"].get("swap", {}).get("capacity", 0)
    )
