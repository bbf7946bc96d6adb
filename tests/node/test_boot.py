"""What is true of a node after it has booted with our user data: disks, swap, kernel settings, kubelet, and what the
cluster is told."""

from __future__ import annotations

import json
import struct
from typing import Any

import pytest

from floodplain.quantity import GIB, MIB, to_bytes
from floodplain.swap import swap_file_bytes, swap_total_bytes
from nodeconfig import kernel_reserve
from testbed.node.machine import Machine
from testbed.node.nodeadm_standin.kubelet import reserved_millicores
from tests.node.figures import note
from tests.node.jobs import memory
from tests.node.pool import MAX_PODS, pool

RATIO = 2
NODEFS_SHARE = struct.unpack("f", struct.pack("f", 0.1))[0]
"""10 %, as kubelet's float of 32 bits holds it."""


@pytest.fixture(scope="module")
def total(machine: Machine) -> int:
    """MemTotal."""
    return memory(machine)["MemTotal"]


@pytest.fixture(scope="module")
def configz(machine: Machine) -> dict[str, Any]:
    """What kubelet itself says it runs with."""
    found: dict[str, Any] = machine.kubelet("/configz")["kubeletconfig"]
    return found


@pytest.fixture(scope="module")
def node(machine: Machine) -> dict[str, Any]:
    found = machine.node()
    assert found is not None
    return found


def test_both_disks_are_one_array_with_xfs_and_the_daemons_folders_on_it(machine: Machine) -> None:
    listed = machine.run("lsblk --json --output NAME,TYPE,FSTYPE /dev/nvme0n1 /dev/nvme1n1")
    disks = sorted(json.loads(listed)["blockdevices"], key=lambda disk: str(disk["name"]))
    arrays = {(child["type"], child["fstype"]) for disk in disks for child in disk["children"]}
    assert ([disk["name"] for disk in disks], arrays) == (["nvme0n1", "nvme1n1"], {("raid0", "xfs")})
    places = ("/mnt/k8s-disks/0", "/var/lib/kubelet", "/var/lib/containerd", "/var/log/pods")
    sources = machine.run(f"for p in {' '.join(places)}; do findmnt -n -o MAJ:MIN,OPTIONS --mountpoint $p; done")
    found = [line.split(maxsplit=1) for line in sources.splitlines()]
    assert len(found) == len(places)
    assert len({number for number, _ in found}) == 1
    assert "noatime" in found[0][1].split(",")


def test_the_swap_file_is_as_large_as_computed_and_only_roots(machine: Machine, total: int) -> None:
    size = swap_file_bytes(total, RATIO)
    file = machine.run("stat -c '%s %a %U' /mnt/k8s-disks/0/floodplain.swap")
    assert file == f"{size} 600 root"
    assert memory(machine)["SwapTotal"] == swap_total_bytes(size)
    assert machine.run("swapon --noheadings --bytes --show=NAME,TYPE,SIZE").split() == [
        "/mnt/k8s-disks/0/floodplain.swap",
        "file",
        str(swap_total_bytes(size)),
    ]


def test_the_kernel_has_the_reserve_computed_for_this_size(machine: Machine, total: int) -> None:
    names = ("min_free_kbytes", "watermark_scale_factor", "swappiness", "page-cluster", "overcommit_memory")
    values = machine.run(f"cd /proc/sys/vm && cat {' '.join(names)}").split()
    expected = kernel_reserve(total)
    assert dict(zip(names, map(int, values), strict=True)) == {
        "min_free_kbytes": expected.min_free_kib,
        "watermark_scale_factor": expected.watermark_scale_factor,
        "swappiness": pool().swap.swappiness,
        "page-cluster": pool().swap.page_cluster,
        "overcommit_memory": 1,
    }


def test_kubelet_runs_with_our_settings_karpenters_and_the_nodes_own_reserve(
    configz: dict[str, Any], total: int
) -> None:
    settings = pool()
    keys = ("failSwapOn", "memorySwap", "singleProcessOOMKill", "maxPods", "evictionHard", "systemReserved")
    assert {key: configz[key] for key in (*keys, "evictionPressureTransitionPeriod")} == {
        "failSwapOn": False,
        "memorySwap": {"swapBehavior": "LimitedSwap"},
        "singleProcessOOMKill": False,
        "maxPods": MAX_PODS,
        "evictionHard": settings.kubelet.eviction_hard,
        "systemReserved": {
            **settings.kubelet.system_reserved,
            "ephemeral-storage": str(swap_file_bytes(total, RATIO)),
        },
        "evictionPressureTransitionPeriod": "10s",
    }


def test_the_cluster_knows_the_swap_that_kubelet_sees(node: dict[str, Any], machine: Machine, total: int) -> None:
    """Weak point (i): between the swap file and a pod's grant stands what kubelet read at its start."""
    assert node["status"]["nodeInfo"]["swap"] == {"capacity": memory(machine)["SwapTotal"]}
    assert "swap" not in node["status"]["capacity"]
    assert to_bytes(node["status"]["capacity"]["memory"]) == total


def test_allocatable_leaves_out_the_reserves_the_thresholds_and_the_swap_file(
    node: dict[str, Any], machine: Machine, total: int
) -> None:
    settings = pool()
    capacity, allocatable = node["status"]["capacity"], node["status"]["allocatable"]
    kube_memory = 11 * machine.instance.eni_max_pods + 255
    reserved = to_bytes(settings.kubelet.system_reserved["memory"]) + kube_memory * MIB
    assert to_bytes(allocatable["memory"]) == total - reserved - to_bytes(
        settings.kubelet.eviction_hard["memory.available"]
    )
    disk = to_bytes(capacity["ephemeral-storage"])
    threshold = int(disk * NODEFS_SHARE)
    assert int(allocatable["ephemeral-storage"]) == disk - GIB - swap_file_bytes(total, RATIO) - threshold
    assert allocatable["cpu"] == f"{1000 * machine.hardware.cpus - reserved_millicores(machine.hardware.cpus)}m"


def test_the_node_carries_what_the_launch_template_says(node: dict[str, Any], machine: Machine) -> None:
    taint = pool().node_taint
    assert node["spec"]["providerID"] == machine.instance.provider_id
    assert node["spec"]["taints"] == [{"key": taint.key, "value": taint.value, "effect": taint.effect.value}]
    assert {key: node["metadata"]["labels"][key] for key in ("floodplain.dev/pool", "karpenter.sh/nodepool")} == {
        "floodplain.dev/pool": "odm",
        "karpenter.sh/nodepool": "odm",
    }


def test_daemons_get_no_swap_and_missing_io_protection_is_said(machine: Machine) -> None:
    for slice_ in ("system.slice", "runtime.slice"):
        assert machine.run(f"cat /sys/fs/cgroup/{slice_}/memory.swap.max") == "0"
        # Debian builds its kernel without io.latency: the unit must say so, and the node goes on.
        assert machine.run(f"ls /sys/fs/cgroup/{slice_}/io.latency", check=False) == ""
        assert f"floodplain-swap: no IO protection for {slice_}" in machine.console()
    groups = machine.run("systemctl show --value --property=ControlGroup kubelet containerd").split()
    assert groups == ["/runtime.slice/kubelet.service", "/runtime.slice/containerd.service"]


def test_the_state_is_there_for_node_exporter(machine: Machine) -> None:
    text = machine.run("grep -v '^#' /var/lib/node_exporter/textfile_collector/floodplain_swap.prom")
    values = {name: int(value) for name, value in (line.split() for line in text.splitlines())}
    swap = memory(machine)["SwapTotal"]
    assert {key: values[f"floodplain_swap_{key}"] for key in ("ready", "bytes", "expected_bytes")} == {
        "ready": 1,
        "bytes": swap,
        "expected_bytes": swap,
    }
    assert 0 <= values["floodplain_swap_setup_seconds"] < 60


def test_kubelet_starts_after_both_of_our_units_and_the_time_they_add_is_shown(machine: Machine) -> None:
    stamps = {
        name: _microseconds(machine, name, moment)
        for name, moment in (
            (r"mnt-k8s\x2ddisks-0.mount", "ActiveEnter"),
            ("cloud-final.service", "InactiveExit"),
            ("floodplain-memory.service", "ActiveEnter"),
            ("floodplain-swap.service", "ActiveEnter"),
            ("kubelet.service", "ExecMainStart"),
        )
    }
    mounted, _, memory_set, swapped, kubelet = stamps.values()
    assert mounted < swapped
    assert max(memory_set, swapped) <= kubelet
    scripts = _microseconds(machine, "cloud-final.service", "ActiveEnter") - stamps["cloud-final.service"]
    begun = min(_microseconds(machine, f"floodplain-{name}.service", "InactiveExit") for name in ("memory", "swap"))
    note(
        f"what our user data adds to a boot: script {scripts / 1e6:.1f} s, "
        f"units (kubelet waits) {(max(memory_set, swapped) - begun) / 1e6:.1f} s; "
        f"mount to kubelet's start {(kubelet - mounted) / 1e6:.1f} s"
    )


def _microseconds(machine: Machine, unit: str, moment: str) -> int:
    """Since the kernel's start; 0 would be a moment that never was."""
    found = int(machine.run(f"systemctl show --value --property={moment}TimestampMonotonic '{unit}'"))
    assert found > 0, (unit, moment)
    return found
