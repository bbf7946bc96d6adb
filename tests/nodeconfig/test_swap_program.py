"""The swap program, run on a folder: what it makes, what it reuses, when it refuses, what it reports."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from floodplain.swap import swap_file_bytes
from nodeconfig import BootSettings, PlainSettings, files_written, plain_script, user_data

# 2 x 64 MiB, and the page mkswap keeps.
SWAP_KIB = 2 * 65536
FILE_BYTES = SWAP_KIB * 1024 + 4096
SLICES = ("system.slice", "runtime.slice")
MADE = [
    "mountpoint -q /mnt/k8s-disks/0",
    "findmnt -n -o SOURCE --mountpoint /mnt/k8s-disks/0",
    "df -B1 --output=avail,size /mnt/k8s-disks/0",
    f"fallocate -l {FILE_BYTES} /mnt/k8s-disks/0/floodplain.swap.new",
    "mkswap /mnt/k8s-disks/0/floodplain.swap.new",
    "swapon /mnt/k8s-disks/0/floodplain.swap",
]
PROTECTED = [
    f"systemctl set-property --runtime {name} IODeviceLatencyTargetSec=/dev/nvme1n1 25ms"
    " IODeviceLatencyTargetSec=/dev/nvme2n1 25ms"
    for name in SLICES
]


def essential(calls: list[str]) -> list[str]:
    """Without questions that change nothing."""
    return [call for call in calls if not call.startswith("stat ")]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def start(machine: Any, **options: Any) -> Any:
    machine.forget_calls()
    return machine.run(f"{machine.root}/usr/local/sbin/floodplain-swap", **options)


@pytest.fixture
def node(booted: Callable[..., Any]) -> Any:
    return booted()


def test_first_start_makes_the_file_and_switches_it_on(node: Any) -> None:
    done = start(node)
    assert (done.returncode, done.stderr) == (0, "")
    assert essential(node.calls) == [*MADE, *PROTECTED]
    assert node.swap_file.stat().st_size == FILE_BYTES
    assert node.swap_file.stat().st_mode & 0o777 == 0o600
    assert names(node.swap_file.parent) == ["floodplain.swap"]


def test_second_start_changes_nothing(node: Any) -> None:
    start(node)
    done = start(node)
    assert done.returncode == 0
    assert "already on" in done.stdout
    assert essential(node.calls) == [*MADE[:2], *PROTECTED]


def test_reboot_reuses_the_file(node: Any) -> None:
    start(node)
    node.reboot()
    done = start(node)
    assert done.returncode == 0
    assert "reused" in done.stdout
    assert essential(node.calls) == [*MADE[:2], MADE[-1], *PROTECTED]


@pytest.mark.parametrize(("memory_kib", "taken_over"), [(65528, True), (65544, True), (65536 + 132, False)])
def test_a_reboot_with_some_pages_more_or_less_takes_the_file_over(
    node: Any, memory_kib: int, taken_over: bool
) -> None:
    """Seen on a node machine: MemTotal was 4 KiB less after a reboot."""
    start(node)
    node.set_memory(memory_kib)
    done = start(node)
    assert (done.returncode, node.metrics["floodplain_swap_ready"]) == (0, 1)
    assert ("reused" in done.stdout) is taken_over
    again = start(node)
    assert (again.returncode, "already on" in again.stdout) == (0, True)


def test_file_of_another_size_is_made_again(node: Any) -> None:
    node.swap_file.write_bytes(b"x" * 8192)
    assert start(node).returncode == 0
    assert essential(node.calls) == [*MADE, *PROTECTED]


def test_file_with_a_broken_header_is_made_again(node: Any) -> None:
    with node.swap_file.open("wb") as file:
        file.truncate(FILE_BYTES)
    assert start(node).returncode == 0
    assert essential(node.calls) == [*MADE[:2], MADE[-1], *MADE[2:], *PROTECTED]


def test_half_made_file_of_an_earlier_try_is_removed(node: Any) -> None:
    Path(f"{node.swap_file}.new").write_bytes(b"half")
    start(node)
    assert names(node.swap_file.parent) == ["floodplain.swap"]


def test_failed_allocation_leaves_no_file_and_says_not_ready(node: Any) -> None:
    node.write("fallocate.fails", "")
    assert start(node).returncode != 0
    assert names(node.swap_file.parent) == []
    assert node.metrics["floodplain_swap_ready"] == 0


def test_disk_without_room_is_refused_with_the_numbers(node: Any) -> None:
    node.write("free", "31000000000 100000000000\n")
    done = start(node)
    assert done.returncode == 1
    need = FILE_BYTES + 20 * 2**30 + 10**10
    assert f"{need} bytes needed (swap {FILE_BYTES}, {20 * 2**30} for images, a tenth of 100000000000" in done.stderr
    assert "31000000000 free" in done.stderr
    assert not [call for call in node.calls if call.startswith(("fallocate", "mkswap", "swapon"))]


def test_old_file_does_not_stand_in_its_own_way(node: Any) -> None:
    node.swap_file.write_bytes(b"x" * 8192)
    start(node)
    calls = node.calls
    assert not [call for call in calls if "rm " in call]
    assert calls.index(MADE[2]) < calls.index(MADE[3])


def test_mount_that_comes_late_is_waited_for(node: Any) -> None:
    (node.root / "mounted").rename(node.root / "mounts-later")
    assert start(node).returncode == 0
    assert node.calls[:3] == [MADE[0], "sleep 1", MADE[0]]


def test_mount_that_never_comes_ends_the_wait(node: Any) -> None:
    (node.root / "mounted").unlink()
    done = start(node, seconds=60)
    assert done.returncode == 1
    assert "/mnt/k8s-disks/0 is not mounted: no instance store, or not RAID0?" in done.stderr
    assert node.metrics["floodplain_swap_ready"] == 0


def test_wait_for_the_mount_is_half_the_timeout_when_that_is_short(booted: Callable[..., Any]) -> None:
    node = booted(start_timeout="40s")
    (node.root / "mounted").unlink()
    assert "is not mounted" in start(node, seconds=20).stderr


@pytest.mark.parametrize("device", ["tmpfs", "/dev/xvda1", "/dev/mapper/root", ""])
def test_disk_that_is_not_local_nvme_is_refused(node: Any, device: str) -> None:
    node.write("device", f"{device}\n")
    done = start(node)
    assert done.returncode == 1
    assert f"is on {device}, not on local NVMe" in done.stderr


def test_single_disk_is_protected_itself(node: Any) -> None:
    node.write("device", "/dev/nvme1n1\n")
    start(node)
    assert node.calls[-2:] == [
        f"systemctl set-property --runtime {name} IODeviceLatencyTargetSec=/dev/nvme1n1 25ms" for name in SLICES
    ]


@pytest.mark.parametrize("cause", ["systemctl.fails", "no-io-latency"])
def test_missing_io_protection_is_said_and_tolerated(node: Any, cause: str) -> None:
    """Debian's kernel is built without io.latency, and systemctl says nothing of it (seen on a node machine)."""
    node.write(cause, "")
    done = start(node)
    assert done.returncode == 0
    assert [line for line in done.stdout.splitlines() if "no IO protection" in line] == [
        f"floodplain-swap: no IO protection for {name}" for name in SLICES
    ]


def test_swap_of_another_size_that_is_already_on_is_refused(node: Any) -> None:
    node.write("proc/swaps", f"Filename Type Size Used Priority\n{node.swap_file} file 4096 0 -2\n")
    done = start(node)
    assert done.returncode == 1
    assert f"is on with 4096 KiB instead of {SWAP_KIB}; swapoff it or reboot" in done.stderr


@pytest.mark.parametrize(("lost_kib", "ready"), [(0, 1), (SWAP_KIB // 1000, 1), (SWAP_KIB // 1000 + 8, 0)])
def test_kernel_must_have_taken_all_but_a_thousandth(node: Any, lost_kib: int, ready: int) -> None:
    node.write("lost", str(lost_kib))
    done = start(node)
    assert (done.returncode == 0) == bool(ready)
    assert node.metrics["floodplain_swap_ready"] == ready
    if not ready:
        assert f"expected {SWAP_KIB}: other swap is on, or part is missing" in done.stderr


def test_other_swap_beside_ours_is_refused(node: Any) -> None:
    start(node)
    meminfo = (node.root / "proc/meminfo").read_text()
    node.write("proc/meminfo", meminfo.replace(f"SwapTotal: {SWAP_KIB}", f"SwapTotal: {SWAP_KIB + 1048576}"))
    assert "other swap is on" in start(node).stderr


def test_state_says_ready_with_both_sizes(node: Any) -> None:
    start(node)
    metrics = node.metrics
    assert metrics.pop("floodplain_swap_timestamp_seconds") > 1_700_000_000
    assert 0 <= metrics.pop("floodplain_swap_setup_seconds") < 30
    assert metrics == {
        "floodplain_swap_ready": 1,
        "floodplain_swap_bytes": SWAP_KIB * 1024,
        "floodplain_swap_expected_bytes": SWAP_KIB * 1024,
    }
    folder = node.root / "var/lib/node_exporter/textfile_collector"
    assert names(folder) == ["floodplain_swap.prom"]


def test_state_that_cannot_be_written_is_said_and_tolerated(node: Any) -> None:
    node.write("var/lib/node_exporter", "a file where the folder should be")
    done = start(node)
    assert done.returncode == 0
    assert "state not written" in done.stdout


def test_program_stopped_by_the_timeout_says_not_ready(node: Any) -> None:
    node.write("bin/fallocate", "#!/bin/bash\nkill -TERM $PPID\nsleep 0\nexit 143\n")
    assert start(node).returncode != 0
    assert node.metrics["floodplain_swap_ready"] == 0


@pytest.mark.parametrize("ratio", ["0.001", "0.5", "1", "1.5", "2", "2.333", "16"])
@pytest.mark.parametrize("memory_kib", [65536, 7_996_411, 8_123_456, 64_889_212, 781_423_997, 1_604_321_004])
def test_size_is_the_ratio_in_whole_pages_and_one_page(machine: Any, ratio: str, memory_kib: int) -> None:
    machine.set_memory(memory_kib)
    program = files_written(user_data(BootSettings(swap_ratio=ratio), root=str(machine.root)))
    done = machine.run("size", script=program[f"{machine.root}/usr/local/sbin/floodplain-swap"])
    assert int(done.stdout) == swap_file_bytes(memory_kib * 1024, ratio)
    assert machine.calls == []


@pytest.mark.parametrize(("size", "file_bytes"), [("64Gi", 64 * 2**30 + 4096), ("1", 8192), ("4097", 12288)])
def test_fixed_size_is_kept_up_to_a_page(machine: Any, size: str, file_bytes: int) -> None:
    text = plain_script(PlainSettings(swap_size=size), root=str(machine.root))
    program = files_written(text)[f"{machine.root}/usr/local/sbin/floodplain-swap"]
    assert int(machine.run("size", script=program).stdout) == file_bytes
