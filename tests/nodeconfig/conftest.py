"""The settings behind the golden files, and a machine to run rendered text on: a folder, a PATH of stand-ins."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from nodeconfig import BootSettings, PlainSettings, plain_script, user_data

BOOT_CASES: dict[str, dict[str, Any]] = {
    "swap-k2": {"system_reserved": {"memory": "256Mi"}},
    "no-swap": {"swap_ratio": 0},
    "k1-5": {"swap_ratio": 1.5, "system_reserved": {"memory": "256Mi", "ephemeral-storage": "2Gi"}},
    "debug-no-power-off": {"power_off_on_failure": False},
    "swappiness-60": {"swappiness": 60, "page_cluster": 0, "io_latency": None},
    "single-process-oom-kill": {
        "single_process_oom_kill": True,
        "kubelet_config": {"containerLogMaxSize": "50Mi", "memoryThrottlingFactor": 0.9},
    },
    "extra-scripts": {
        "extra_scripts": (
            "#!/bin/bash\nset -e\necho ready >/etc/motd\n",
            "#!/usr/bin/python3\nimport sys\nprint(sys.version)",
        )
    },
}
PLAIN_CASES: dict[str, dict[str, Any]] = {"plain": {"swap_ratio": 2}}

FAKE_MOUNT, FAKE_DEVICE = "mounted", "device"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """`boot_case` runs a test for each user data case, `case` for the plain script too."""
    if "boot_case" in metafunc.fixturenames:
        metafunc.parametrize("boot_case", sorted(BOOT_CASES))
    if "case" in metafunc.fixturenames:
        metafunc.parametrize("case", sorted(BOOT_CASES | PLAIN_CASES))


@pytest.fixture
def render() -> Callable[..., str]:
    """Text of a case by name, with `root` before every path."""

    def rendered(case: str, root: str = "") -> str:
        if case in PLAIN_CASES:
            return plain_script(PlainSettings(**PLAIN_CASES[case]), root=root)
        return user_data(BootSettings(**BOOT_CASES[case]), root=root)

    return rendered


def boot_script_of(text: str) -> str:
    """Our shell part of a user data text."""
    return text.split('charset="us-ascii"\n\n', 1)[1].split("\n--//", 1)[0] + "\n"


@pytest.fixture
def boot_script() -> Callable[[str], str]:
    return boot_script_of


def tool(name: str) -> str:
    """A program of the environment or the system; absent is a failure, never a skip."""
    found = shutil.which(name, path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    assert found, f"{name} is missing"
    return found


@pytest.fixture
def shellcheck() -> Callable[[str], None]:
    """Asserts that shellcheck and `bash -n` have nothing to say about a script."""

    def check(script: str) -> None:
        for command in ([tool("bash"), "-n"], [tool("shellcheck"), "--norc", "--severity=style", "-"]):
            done = subprocess.run(command, input=script, capture_output=True, text=True)
            assert (done.returncode, done.stdout + done.stderr) == (0, "")

    return check


# Each stand-in writes its call to calls.log, then acts on the folder as the real program would on the machine.
_STAND_INS = {
    "mountpoint": 'test -e "$ROOT/mounted"',
    "findmnt": 'case "$*" in *FSTYPE*) cat "$ROOT/fstype" ;; *) cat "$ROOT/device" ;; esac',
    "df": 'echo "avail size"; cat "$ROOT/free"',
    "fallocate": 'test ! -e "$ROOT/fallocate.fails" && truncate -s "$2" "$3"',
    "mkswap": 'printf SWAPSPACE2 | dd of="$1" bs=1 seek=4086 conv=notrunc status=none',
    "swapon": """
test "$(dd if="$1" bs=1 skip=4086 count=10 status=none)" = SWAPSPACE2 || { echo "swapon: bad header" >&2; exit 255; }
kib=$(($(stat -c %s "$1") / 1024 - 4 - $(cat "$ROOT/lost" 2>/dev/null || echo 0)))
printf '%s file %s 0 -2\\n' "$1" "$kib" >>"$ROOT/proc/swaps"
sed -i "s/^SwapTotal:.*/SwapTotal: $kib kB/" "$ROOT/proc/meminfo" """,
    "sysctl": "",
    "systemctl": """
case "$*" in
  is-active*) test -e "$ROOT/active"; exit ;;
  set-property*)
    group="$ROOT/sys/fs/cgroup/$3"
    test -e "$ROOT/no-io-latency" || { mkdir -p "$group" && echo "259:0 target=25000" >"$group/io.latency"; } ;;
esac
test ! -e "$ROOT/systemctl.fails" """,
    "journalctl": "",
    "sleep": 'test ! -e "$ROOT/mounts-later" || { rm "$ROOT/mounts-later"; touch "$ROOT/mounted"; }',
    "stat": """case "$*" in "-f -c %T"*) echo cgroup2fs; exit ;; esac; exec /usr/bin/stat "$@" """,
}


@dataclass(frozen=True)
class Machine:
    """A node as a folder. `run` runs a program with the stand-ins first on PATH."""

    root: Path

    @property
    def swap_file(self) -> Path:
        return self.root / "mnt/k8s-disks/0/floodplain.swap"

    @property
    def metrics(self) -> dict[str, int]:
        """The node_exporter text file, without comments."""
        path = self.root / "var/lib/node_exporter/textfile_collector/floodplain_swap.prom"
        lines = [line.split() for line in path.read_text().splitlines() if not line.startswith("#")]
        return {name: int(value) for name, value in lines}

    @property
    def calls(self) -> list[str]:
        """Programs called so far, without the folder's own path."""
        log = self.root / "calls.log"
        return log.read_text().replace(str(self.root), "").splitlines() if log.exists() else []

    def forget_calls(self) -> None:
        (self.root / "calls.log").unlink(missing_ok=True)

    def write(self, path: str, text: str) -> Path:
        target = self.root / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        return target

    def set_memory(self, total_kib: int) -> None:
        """MemTotal; swap goes off, as after a boot."""
        self.write("proc/meminfo", f"MemTotal:       {total_kib} kB\nMemFree: 1 kB\nSwapTotal: 0 kB\n")
        self.write("proc/swaps", "Filename\t\t\tType\t\tSize\t\tUsed\t\tPriority\n")

    def reboot(self) -> None:
        """Swap off, files kept."""
        total = (self.root / "proc/meminfo").read_text().split()[1]
        self.set_memory(int(total))

    def run(self, *command: str, script: str | None = None, seconds: int = 0) -> subprocess.CompletedProcess[str]:
        """`seconds` is how long the program believes it has been running (bash takes SECONDS over)."""
        path = f"{self.root}/bin:{os.environ['PATH']}"
        environment = {"PATH": path, "ROOT": str(self.root), "SECONDS": str(seconds)}
        arguments = list(command) if script is None else [tool("bash"), "-s", *command]
        return subprocess.run(arguments, input=script, capture_output=True, text=True, env=environment, timeout=60)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A 64 MiB machine with a mounted 100 GB array, nothing written yet."""
    made = Machine(tmp_path)
    for name, body in _STAND_INS.items():
        log = f'echo "{name} $*" >>"$ROOT/calls.log"'
        script = made.write(f"bin/{name}", f"#!/bin/bash\n{log}\n{body}\n")
        script.chmod(script.stat().st_mode | stat.S_IXUSR)
    made.set_memory(65536)
    made.write("mounted", "")
    made.write("device", "/dev/md127\n")
    made.write("fstype", "xfs\n")
    made.write("free", "99000000000 100000000000\n")
    made.write("sys/class/block/md127/slaves/nvme1n1/x", "")
    made.write("sys/class/block/md127/slaves/nvme2n1/x", "")
    (tmp_path / "mnt/k8s-disks/0").mkdir(parents=True)
    return made


@pytest.fixture
def booted(machine: Machine) -> Callable[..., Machine]:
    """The machine after cloud-init ran our shell part with these settings; programs have not run yet."""

    def boot(**settings: Any) -> Machine:
        text = user_data(BootSettings(**settings), root=str(machine.root))
        done = machine.run(script=boot_script_of(text))
        assert (done.returncode, done.stderr) == (0, "")
        machine.forget_calls()
        return machine

    return boot
