"""The command that runs a node machine, and whether the processor can help with it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from testbed.node.image import Image

QEMU = "qemu-system-x86_64"
PACKAGES = "/dev/vdc"
KERNEL_ARGUMENTS = "root=/dev/vda rw console=ttyS0 loglevel=4 mitigations=off systemd.show_status=no TERM=dumb"


@dataclass(frozen=True)
class Hardware:
    """A machine to be run. `disks` are raw files that appear as NVMe instance store; `packages`, if given, is a disk
    that is only read, the machine's `PACKAGES`."""

    cpus: int
    memory_mib: int
    metadata: Path
    disks: Sequence[Path]
    ssh_port: int
    kubelet_port: int
    allow_reboot: bool = False
    packages: Path | None = None


def command(image: Image, hardware: Hardware, accelerator: str) -> list[str]:
    """QEMU in the foreground, the console on its output. The root disk's changes are lost when it ends."""
    cpu = "host" if accelerator == "kvm" else "max"
    forwarded = (
        f"hostfwd=tcp:127.0.0.1:{hardware.ssh_port}-:22,"
        f"hostfwd=tcp:127.0.0.1:{hardware.kubelet_port}-:{hardware.kubelet_port}"
    )
    arguments = [QEMU, "-nodefaults", "-display", "none", "-monitor", "none", "-serial", "stdio"]
    arguments += ["-accel", "kvm" if accelerator == "kvm" else "tcg,thread=multi", "-cpu", cpu]
    arguments += ["-smp", str(hardware.cpus), "-m", str(hardware.memory_mib)]
    arguments += ["-kernel", str(image.kernel), "-initrd", str(image.initrd), "-append", KERNEL_ARGUMENTS]
    arguments += ["-drive", f"if=virtio,file={_file(image.disk)},format=raw,snapshot=on,cache=unsafe"]
    arguments += ["-drive", f"if=virtio,file={_file(hardware.metadata)},format=raw,readonly=on"]
    if hardware.packages:
        arguments += ["-drive", f"if=virtio,file={_file(hardware.packages)},format=raw,readonly=on"]
    for number, disk in enumerate(hardware.disks):
        arguments += ["-drive", f"if=none,id=store{number},file={_file(disk)},format=raw,cache=unsafe,discard=unmap"]
        arguments += ["-device", f"nvme,drive=store{number},serial=AWS{number:017}"]
    arguments += ["-nic", f"user,model=virtio-net-pci,{forwarded}", "-device", "virtio-rng-pci"]
    # Without it a machine that stops with a panic would start over and over; a power-off ends QEMU in either case.
    return arguments if hardware.allow_reboot else [*arguments, "-no-reboot"]


def _file(path: Path) -> str:
    """A comma ends an option's value in QEMU, and two stand for one."""
    return str(path).replace(",", ",,")


@cache
def accelerator(kernel: Path) -> str:
    """`kvm` when this machine can run guests with it, else `tcg`. Tried, not guessed: inside many virtual machines
    /dev/kvm exists and fails at the first instruction."""
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return "tcg"
    trial = [QEMU, "-nodefaults", "-display", "none", "-monitor", "none", "-serial", "stdio", "-no-reboot"]
    trial += ["-accel", "kvm", "-cpu", "host", "-m", "256", "-kernel", str(kernel), "-append", "console=ttyS0 panic=-1"]
    try:
        done = subprocess.run(trial, stdin=subprocess.DEVNULL, capture_output=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return "tcg"
    return "kvm" if done.returncode == 0 and b"Linux version" in done.stdout else "tcg"
