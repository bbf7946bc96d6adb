"""A running node machine: boot it, ask it something, watch it join the cluster or power off."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from testbed.cluster.api import is_true
from testbed.cluster.control_plane import ControlPlane
from testbed.engine_error import EngineError
from testbed.node.base_system import require_tool
from testbed.node.image import Image
from testbed.node.instance import Instance, metadata_disk
from testbed.node.qemu import QEMU, Hardware, accelerator, command
from testbed.ports import free_port
from testbed.processes import Process, Processes, wait_until
from testbed.state import State

BOOT_SECONDS = 600
"""To Ready, on a busy computer. Emulated on a quiet one it takes a tenth of it."""
PANIC = "Kernel panic - not syncing"
# A socket's path holds 107 bytes, and ssh adds 17 to it while it makes one.
_LONGEST_SOCKET = 90


class KernelPanicError(EngineError):
    """The machine's kernel stopped. Once in some hundred boots emulated processors fail so, in its scheduler."""


@dataclass(frozen=True)
class Machine:
    """A machine that was started. It ends with its testbed, when it powers off, or by `stop`."""

    instance: Instance
    process: Process
    control_plane: ControlPlane
    hardware: Hardware
    started: float
    _ssh: tuple[str, ...] = field(repr=False)

    def run(self, command: str, *, check: bool = True, timeout_seconds: float = 120) -> str:
        """The output of a shell command in the machine, as root, without the line end.

        Raises EngineError when it fails (unless `check` is false) or the machine does not answer.
        """
        try:
            done = subprocess.run([*self._ssh, command], capture_output=True, text=True, timeout=timeout_seconds)
        except subprocess.TimeoutExpired:
            raise self._error(f"no answer within {timeout_seconds:.0f} s to: {command}") from None
        if done.returncode == 255 or (check and done.returncode):
            raise self._error(f"status {done.returncode} of: {command}\n{(done.stdout + done.stderr).strip()[-1500:]}")
        return done.stdout.rstrip("\n")

    def unpack(self, archive: bytes, folder: str) -> None:
        """Put the files of a tar archive into a folder of it, which is made."""
        command = f"mkdir -p {folder} && tar -x --no-same-owner -C {folder}"
        done = subprocess.run([*self._ssh, command], input=archive, capture_output=True, timeout=120)
        if done.returncode:
            raise self._error(f"status {done.returncode} of: {command}\n{done.stderr.decode(errors='replace')[-1500:]}")

    def answers(self) -> bool:
        """Whether a command can be run in it."""
        return subprocess.run([*self._ssh, "true"], capture_output=True).returncode == 0

    def node(self) -> dict[str, Any] | None:
        """The Node object, or None while there is none."""
        return self.control_plane.api.find(f"/api/v1/nodes/{self.instance.node_name}")

    def kubelet(self, path: str) -> dict[str, Any]:
        """What kubelet itself answers, such as /configz, by way of the API server."""
        return self.control_plane.api.get(f"/api/v1/nodes/{self.instance.node_name}/proxy{path}")

    def console(self) -> str:
        """Everything that was written to the serial console, and by QEMU itself."""
        return self.process.log.read_text(errors="replace")

    def powered_off(self) -> bool:
        """Whether it ended by itself and in order; a machine that was stopped or crashed raises EngineError."""
        code = self.process.exit_code()
        if code not in (None, 0):
            raise self._error(f"QEMU ended with status {code}")
        return code == 0

    def wait_until_ready(self, timeout_seconds: float = BOOT_SECONDS) -> float:
        """Seconds from its start until the node was Ready.

        Raises EngineError when it powers off before that, KernelPanicError when its kernel stops.
        """
        question = f"node {self.instance.node_name} is Ready"
        wait_until(question, self._ready, process=self.process, timeout_seconds=timeout_seconds, pause_seconds=0.5)
        return time.monotonic() - self.started

    def wait_until_reachable(self, timeout_seconds: float = BOOT_SECONDS) -> float:
        """Seconds from its start until it takes commands, whether or not it joins."""
        question = f"machine {self.instance.node_name} takes commands"
        wait_until(question, self.answers, process=self.process, timeout_seconds=timeout_seconds, pause_seconds=1)
        return time.monotonic() - self.started

    def wait_until_powered_off(self, timeout_seconds: float = BOOT_SECONDS) -> float:
        """Seconds from its start until the machine was off."""
        deadline = self.started + timeout_seconds
        while not self.powered_off():
            if time.monotonic() > deadline:
                raise self._error(f"not powered off within {timeout_seconds:.0f} s")
            time.sleep(0.2)
        return time.monotonic() - self.started

    def stop(self) -> None:
        """End it at once, as EC2 ends an instance. What it had on its disks is gone with the testbed's folder."""
        subprocess.run([*self._ssh, "-O", "exit"], capture_output=True)
        self.process.kill()

    def _ready(self) -> bool:
        if PANIC in self.console():
            raise KernelPanicError(f"{self.instance.node_name}: its kernel panicked\n{self.process.last_lines(30)}")
        node = self.node()
        return node is not None and is_true(node, "Ready")

    def _error(self, what: str) -> EngineError:
        return EngineError(
            f"machine {self.instance.node_name}: {what}\nlast lines of its console:\n{self.process.last_lines(30)}"
        )


def boot(
    state: State,
    processes: Processes,
    image: Image,
    user_data: bytes,
    *,
    control_plane: ControlPlane,
    memory_mib: int,
    disks: Sequence[int] = (),
    instance: Instance | None = None,
    cpus: int = 2,
    allow_reboot: bool = False,
    packages: Path | None = None,
    name: str = "machine",
) -> Machine:
    """Start a machine with these bytes as its user data, and return at once: call one of its `wait_until_...` next.

    `disks` are the sizes of its NVMe instance store in bytes; the files are sparse and new, as an instance's are.
    `packages` is a disk of `python_packages`, which it finds as `qemu.PACKAGES` and may not write to.
    `name` tells its files and its log apart from those of other machines in the same testbed. The control plane must
    have `instance.node_name` among its `kubelet_hosts` for logs and exec. A Node object of that name is removed first.
    """
    for program, package in ((QEMU, "qemu-system-x86"), ("ssh", "openssh-client"), ("ssh-keygen", "openssh-client")):
        require_tool(program, package)
    instance = instance or Instance()
    folder = state.path(name, "metadata.img").parent
    key = _new_key(folder)
    pair = control_plane.authority.issue(f"kubelet-{name}", f"system:node:{instance.node_name}", "system:nodes")
    kubelet_port = free_port()
    metadata = metadata_disk(
        instance,
        user_data=user_data,
        kubelet_port=kubelet_port,
        certificate=pair.certificate.read_text(),
        key=pair.key.read_text(),
        authorized_key=key.with_suffix(".pub").read_text(),
    )
    (folder / "metadata.img").write_bytes(metadata + bytes(-len(metadata) % 512))
    stores = [_sparse(folder / f"nvme{number}.img", size) for number, size in enumerate(disks)]
    hardware = Hardware(
        cpus, memory_mib, folder / "metadata.img", stores, free_port(), kubelet_port, allow_reboot, packages
    )
    node_path = f"/api/v1/nodes/{instance.node_name}"
    if control_plane.api.find(node_path):
        control_plane.api.delete(node_path)
    started = time.monotonic()
    process = processes.start(
        name, command(image, hardware, accelerator(image.kernel)), env={"PATH": "/usr/bin:/bin", "TMPDIR": str(folder)}
    )
    return Machine(instance, process, control_plane, hardware, started, ssh_command(folder, key, hardware.ssh_port))


def _new_key(folder: Path) -> Path:
    key = folder / "key"
    key.unlink(missing_ok=True)
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True, capture_output=True)
    return key


def _sparse(path: Path, size: int) -> Path:
    with path.open("wb") as file:
        file.truncate(size)
    return path


def ssh_command(folder: Path, key: Path, port: int) -> tuple[str, ...]:
    """One connection is made and then shared: in an emulated machine each new one costs a second."""
    options = {
        "StrictHostKeyChecking": "no",
        "UserKnownHostsFile": "/dev/null",
        "LogLevel": "ERROR",
        "BatchMode": "yes",
        "ConnectTimeout": "10",
    }
    socket = folder / "ssh"
    if len(os.fsencode(socket)) <= _LONGEST_SOCKET:
        options |= {"ControlMaster": "auto", "ControlPath": str(socket), "ControlPersist": "120"}
    settings = [word for key_, value in options.items() for word in ("-o", f"{key_}={value}")]
    return ("ssh", "-F", "/dev/null", "-i", str(key), "-p", str(port), *settings, "root@127.0.0.1")
