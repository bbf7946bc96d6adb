"""Memory volumes stay out of swap: on a kernel that can, kubelet mounts them so."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from floodplain.quantity import MIB
from testbed.node.machine import Machine
from tests.node.jobs import Jobs, container

pytestmark = pytest.mark.full

FILL_MIB = 48
OTHER = "/run/other-tmpfs"
"""The control: a tmpfs as anybody mounts it."""


@pytest.fixture
def other(machine: Machine) -> Iterator[str]:
    machine.run(f"mkdir {OTHER} && mount -t tmpfs tmpfs {OTHER}")
    yield OTHER
    machine.run(f"umount {OTHER} && rmdir {OTHER}")


def _swapped_after_filling(machine: Machine, cgroup: str, folder: str) -> int:
    """Fill a file in `folder` on the container's account, have the kernel reclaim as much of the container's memory as
    it can, by swapping rather than by dropping cache (memory.reclaim, since Linux 6.7 with swappiness), and tell what
    is in swap."""
    fill = f"echo $$ >{cgroup}/cgroup.procs && exec dd if=/dev/zero of={folder}/fill bs=1M count={FILL_MIB} status=none"
    machine.run(f"bash -c '{fill}'")
    assert int(machine.run(f"awk '$1 == \"shmem\" {{print $2}}' {cgroup}/memory.stat")) >= FILL_MIB * MIB
    # It fails with EAGAIN when there is less to reclaim than was asked for, which is what is to be seen.
    machine.run(f"echo '{FILL_MIB}M swappiness=200' >{cgroup}/memory.reclaim", check=False)
    return int(machine.run(f"cat {cgroup}/memory.swap.current"))


def test_a_memory_volume_is_not_swapped_and_another_tmpfs_is(machine: Machine, jobs: Jobs, other: str) -> None:
    volume = {"name": "memory", "emptyDir": {"medium": "Memory", "sizeLimit": f"{2 * FILL_MIB}Mi"}}
    mounted = container(request_mib=200, limit_mib=250) | {"volumeMounts": [{"name": "memory", "mountPath": "/memory"}]}
    jobs.start("with-volume", mounted, volumes=[volume])
    jobs.running("with-volume")
    cgroup = jobs.cgroups("with-volume")["job"]
    assert jobs.swap_limits("with-volume")["job"] > FILL_MIB * MIB
    uid = jobs.get("with-volume")["metadata"]["uid"]
    folder = f"/var/lib/kubelet/pods/{uid}/volumes/kubernetes.io~empty-dir/memory"
    assert "noswap" in machine.run(f"findmnt -n -o OPTIONS --mountpoint {folder}").split(",")
    # The pause program's own few pages may go.
    assert _swapped_after_filling(machine, cgroup, folder) < 4 * MIB
    assert int(machine.run(f"awk '$1 == \"shmem\" {{print $2}}' {cgroup}/memory.stat")) >= FILL_MIB * MIB
    assert _swapped_after_filling(machine, cgroup, other) > (FILL_MIB - 8) * MIB
