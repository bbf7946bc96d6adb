"""How long the testbed's real engines take, and how much memory and disk: from an empty cluster to a booted node.

Not a comparison of floodplain with others: it tells a developer what a test against real engines costs. The engine's
preview stands beside the offline preview of the same stack, and what our units add to a node's boot beside the boot.
"""

from __future__ import annotations

import copy
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from testbed import chain
from testbed.bed import CHECKOUT, STACK, Bed, open_bed
from testbed.cluster.api import is_true
from testbed.cluster.control_plane import control_plane
from testbed.engine_error import EngineError
from testbed.engines import ENGINES
from testbed.engines import path as engine_path
from testbed.node.image import Image, build_image
from testbed.node.machine import Machine
from testbed.node.qemu import accelerator
from testbed.processes import Processes, wait_until
from testbed.state import State

from .child import median, warm_environment
from .rows import Row, at_most

NODE_CLASSES = "/apis/karpenter.k8s.aws/v1/ec2nodeclasses"
MEBIBYTE = 2**20


def run(options: Sequence[str] = ()) -> list[Row]:
    """All rows. Raises EngineError when an engine is not built or something does not come up."""
    image = build_image()
    rows: list[Row] = []
    with State() as state:
        begun = time.monotonic()
        with open_bed(state, kubelet_hosts=("machine",), settings=chain.settings(image)) as bed:
            rows.append(Row("control plane, KWOK and AWS up", "s", round(time.monotonic() - begun, 1)))
            rows += _stack(bed)
            rows += _node_classes(bed)
            rows += _node(bed, image)
            rows.append(Row("memory of all engines, the node's machine included", "MiB", _memory_mib(bed.processes)))
            rows.append(Row("disk of the testbed's state", "MiB", _disk_mib(state.folder)))
    rows.insert(0, at_most("control plane up", "s", _control_plane(), 10))
    rows.append(Row("disk of the built engines", "MiB", sum(_size(engine_path(name)) for name in ENGINES) // MEBIBYTE))
    rows.append(Row("disk of the node image", "MiB", _disk_mib(image.disk.parent)))
    return rows


def _control_plane() -> float:
    """Seconds until etcd, API server, controller manager and scheduler are up and the API answers."""
    with State() as state, Processes(state) as processes:
        begun = time.monotonic()
        with control_plane(state, processes):
            return time.monotonic() - begun


def _stack(bed: Bed) -> Iterator[Row]:
    yield at_most(f"pulumi up of the stack {STACK}", "s", bed.deploy().seconds, 60)
    engine = statistics.median(bed.project.preview().seconds for _ in range(3))
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "preview", "report", "--stack", STACK]
        offline = median(command, CHECKOUT, warm_environment(Path(folder)), times=3).seconds
    figure = "pulumi preview of the stack, median of 3"
    peer = "python -m preview report"
    yield Row(figure, "s", round(engine, 2), 5, peer, round(offline, 2), engine <= 5)


def _node_classes(bed: Bed) -> Iterator[Row]:
    """Seconds from applying an EC2NodeClass until real Karpenter has taken it, three new ones, its caches warm."""
    chain.ready_pool(bed)
    ours = bed.cluster.api.get(f"{NODE_CLASSES}/{chain.POOL}")
    seconds = []
    for number in range(3):
        name = f"benchmark-{number}"
        spec = copy.deepcopy(ours["spec"])
        spec["tags"] = {**spec.get("tags", {}), "benchmark": name}
        begun = time.monotonic()
        thing = {"apiVersion": ours["apiVersion"], "kind": ours["kind"], "metadata": {"name": name}, "spec": spec}
        bed.cluster.api.must_apply(thing)
        wait_until(f"{name} is Ready", partial(_ready, bed, name), timeout_seconds=60, pause_seconds=0.05)
        seconds.append(time.monotonic() - begun)
        bed.cluster.api.delete(f"{NODE_CLASSES}/{name}")
    yield at_most("check of an EC2NodeClass by Karpenter, warm, median of 3", "s", statistics.median(seconds), 3)


def _ready(bed: Bed, name: str) -> bool:
    return is_true(bed.cluster.api.get(f"{NODE_CLASSES}/{name}"), "Ready")


def _node(bed: Bed, image: Image) -> Iterator[Row]:
    """A node that Karpenter launches for a pod, booted from its launch template."""
    chain.admit(bed)
    answer = bed.cluster.api.create(chain.pod(peak_mib=64))
    if not answer.ok:
        raise EngineError(f"the pod that a node is to be launched for: {answer.message}")
    machine = chain.boot_it(bed, image, chain.launched(bed))
    how = "KVM" if "kvm" in accelerator(image.kernel) else "emulated"
    yield at_most(f"a node's boot until it is Ready, {how}", "s", machine.wait_until_ready(), 120)
    mounted = _moment(machine, r"mnt-k8s\x2ddisks-0.mount", "ActiveEnterTimestampMonotonic")
    kubelet = _moment(machine, "kubelet.service", "ExecMainStartTimestampMonotonic")
    units = ("floodplain-memory.service", "floodplain-swap.service")
    began = min(_moment(machine, unit, "InactiveExitTimestampMonotonic") for unit in units)
    ended = max(_moment(machine, unit, "ActiveEnterTimestampMonotonic") for unit in units)
    figure = "from the mount of the disks to kubelet's start"
    yield Row(figure, "s", round(kubelet - mounted, 1), peer="of it our units", peer_value=round(ended - began, 1))


def _moment(machine: Machine, unit: str, which: str) -> float:
    """Seconds since the machine's kernel started."""
    return int(machine.run(f"systemctl show --value --property {which} '{unit}'")) / 1_000_000


def _memory_mib(processes: Processes) -> int:
    return sum(_resident_kib(process.pid) for process in processes.running()) // 1024


def _resident_kib(pid: int) -> int:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))


def _size(path: Path) -> int:
    """Bytes that a file has on the disk: sparse files have few."""
    return path.stat().st_blocks * 512


def _disk_mib(folder: Path) -> int:
    return sum(_size(path) for path in folder.rglob("*") if path.is_file() and not path.is_symlink()) // MEBIBYTE
