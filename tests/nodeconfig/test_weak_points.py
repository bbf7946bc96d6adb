"""The weak points of a production-shaped text, written here for the purpose, against ours."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nodeconfig import BootSettings, files_written, problems_of_user_data, user_data, weak_points_of_user_data

PRODUCTION_SHAPED = (Path(__file__).parent / "production-shaped-user-data.txt").read_text()


def weak(text: str) -> list[str]:
    return [problem.path for problem in weak_points_of_user_data(text)]


def test_production_shaped_text_has_no_faults() -> None:
    assert problems_of_user_data(PRODUCTION_SHAPED) == []


def test_every_weak_point_of_the_production_shape_is_named_and_none_is_ours() -> None:
    assert weak(PRODUCTION_SHAPED) == [
        "/etc/systemd/system/nvme-ram-swap.service",
        "/etc/systemd/system/nvme-ram-swap.service",
        "systemReserved.ephemeral-storage",
        "system.slice",
        "runtime.slice",
        "system.slice and runtime.slice",
        "vm.min_free_kbytes",
        "vm.watermark_scale_factor",
        "swap file",
    ]
    assert weak(user_data(BootSettings())) == []


def test_unit_that_never_gives_up_is_weak() -> None:
    rules = [problem.rule for problem in weak_points_of_user_data(PRODUCTION_SHAPED)[:2]]
    assert rules == [
        "has no TimeoutStartSec, so it may hang until Karpenter gives the node up after 15 minutes",
        "has no FailureAction, so it leaves a failed node running, and paid for, until Karpenter gives it up",
    ]
    unit = files_written(user_data(BootSettings()))["/etc/systemd/system/floodplain-swap.service"]
    assert "TimeoutStartSec=300\n" in unit
    assert "FailureAction=poweroff-force\n" in unit


def test_swap_that_no_unit_of_kubelets_makes_is_weak() -> None:
    text = PRODUCTION_SHAPED.replace("Requires=nvme-ram-swap.service", "Wants=nvme-ram-swap.service")
    assert weak(text)[0] == "kubelet.service.d"


def test_text_without_swap_has_no_weak_points() -> None:
    assert weak(user_data(BootSettings(swap_ratio=0))) == []


@pytest.mark.parametrize(
    ("line", "weak_still"),
    [
        ("echo '259:0 target=25000' >/sys/fs/cgroup/system.slice/io.latency", False),
        ("echo '259:0 target=25000' | tee /sys/fs/cgroup/system.slice/io.latency", False),
        ("systemctl set-property system.slice IOWeight=1000", False),
        ("grep target= /sys/fs/cgroup/system.slice/io.latency", True),
    ],
)
def test_io_protection_is_what_sets_a_target_not_what_looks_for_one(line: str, weak_still: bool) -> None:
    text = PRODUCTION_SHAPED.replace("#!/bin/bash\n", f"#!/bin/bash\n{line}\n", 1)
    assert text != PRODUCTION_SHAPED
    assert ("system.slice and runtime.slice" in weak(text)) is weak_still


def run_production_shape(machine: Any) -> Any:
    """Its swap program on the folder: paths moved there, nothing else changed."""
    program = files_written(PRODUCTION_SHAPED)["/usr/local/bin/nvme-ram-swap"]
    for path in ("/mnt/k8s-disks/0", "/proc/meminfo"):
        program = program.replace(path, f"{machine.root}{path}")
    return machine.run(script=program)


@pytest.mark.parametrize("memory_kib", [8_000_000, 64_000_000, 780_000_000])
def test_production_shape_reserves_the_same_on_every_size_and_ours_does_not(machine: Any, memory_kib: int) -> None:
    machine.set_memory(memory_kib)
    run_production_shape(machine)
    theirs = [call for call in machine.calls if call.startswith("sysctl")]
    assert theirs == ["sysctl -w vm.min_free_kbytes=524288 vm.watermark_scale_factor=200 vm.swappiness=10"]
    machine.forget_calls()
    text = user_data(BootSettings(), root=str(machine.root))
    machine.run(script=files_written(text)[f"{machine.root}/usr/local/sbin/floodplain-memory"])
    ours = {
        8_000_000: "sysctl -q -w vm.min_free_kbytes=524288 vm.watermark_scale_factor=327",
        64_000_000: "sysctl -q -w vm.min_free_kbytes=1000000 vm.watermark_scale_factor=100",
        780_000_000: "sysctl -q -w vm.min_free_kbytes=2097152 vm.watermark_scale_factor=53",
    }
    assert machine.calls == [f"{ours[memory_kib]} vm.swappiness=10 vm.page-cluster=3"]


def test_full_disk_stops_ours_before_it_allocates_and_not_the_production_shape(
    machine: Any, booted: Callable[..., Any]
) -> None:
    machine.write("free", "1000 100000000000\n")
    run_production_shape(machine)
    assert [call for call in machine.calls if call.startswith("fallocate")]
    booted()
    done = machine.run(f"{machine.root}/usr/local/sbin/floodplain-swap")
    assert done.returncode == 1
    assert "1000 free" in done.stderr
    assert not [call for call in machine.calls if call.startswith("fallocate")]


def test_only_ours_takes_the_swap_off_the_disk_that_pods_may_have(booted: Callable[..., Any]) -> None:
    assert not [path for path in files_written(PRODUCTION_SHAPED) if "nodeadm.d" in path]
    assert (booted().root / "etc/eks/nodeadm.d/50-floodplain.yaml").exists()
