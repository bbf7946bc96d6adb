"""A machine whose swap cannot come up never runs kubelet, and powers itself off within a bounded time."""

from __future__ import annotations

from tests.node.conftest import Boot
from tests.node.figures import note


def test_without_a_disk_kubelet_never_starts_and_the_machine_powers_off(diskless: Boot) -> None:
    machine = diskless(disks=(), settings={"swap": {"startTimeout": "30s"}})
    seconds = machine.wait_until_powered_off()
    console = machine.console()
    note(f"no disk: off after {seconds:.0f} s")
    assert "floodplain-swap: /mnt/k8s-disks/0 is not mounted: no instance store, or not RAID0?" in console
    assert machine.node() is None
