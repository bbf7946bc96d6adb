"""Raster tiles on the two pools of `WorkerPools`, on a real kubelet with a real kernel, and with real rasterio in the
workers: a tile over its slot dies in a small worker, as its estimate said, and the big one makes it.

The workers' image has nothing in it. They have the machine's own Python, a disk of packages, and our sources.
"""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy
import pytest
import rasterio
from rasterio.io import MemoryFile
from rasterio.shutil import copy
from rasterio.transform import from_origin

from components import worker_objects
from components.worker_names import BIG, SMALL
from components.worker_settings import Workers
from floodplain.pools import POOL_LABEL
from floodplain.quantity import MIB
from floodplain.raster import estimate
from floodplain.raster.record import Method, Outcome, Record
from floodplain.raster.route import Place, route
from floodplain.raster.target import Target
from floodplain.raster.task import GdalSettings
from floodplain.raster.terms import Estimate
from testbed.cluster.api import is_true
from testbed.cluster.control_plane import ControlPlane
from testbed.node.container_images import EATER
from testbed.node.machine import Machine
from testbed.node.qemu import PACKAGES
from testbed.processes import wait_until
from tests.node.conftest import cpu_seconds
from tests.node.figures import note
from tests.node.jobs import PODS, Jobs

ROOT = Path(__file__).parents[2]
SECONDS = 600
"""For a worker to start or a tile to be made, on a busy computer. A tenth of it on a quiet one."""
LARGE, ORDINARY = (3328, "float64", 1), (512, "uint8", 3)
"""Side in pixels, dtype, bands."""
WORKERS = Workers.model_validate(
    {
        "name": "raster",
        "namespace": "default",
        "make_namespace": False,
        "image": EATER,
        "command": ["/usr/bin/python3", "-u", "/opt/sources/raster_worker.py"],
        "env": {"PYTHONPATH": "/opt/packages:/opt/sources"},
        "scratch": "100Mi",
        # Of Python 3.13 with rasterio 1.5 and what `measured` imports, a tenth more than was measured.
        "baseline": "105Mi",
        "gdal": {"cache": "16Mi", "curl_cache": "1Mi"},
        "small": {"task_peak": "12Mi", "slots": 2, "replicas": 2, "cpu": "100m"},
        "big": {"task_peak": "170Mi", "cpu": "100m"},
    }
)
MOUNTS = {
    "/usr": "/usr",
    "/lib": "/usr/lib",
    "/lib64": "/usr/lib64",
    "/opt/packages": "/opt/packages",
    "/opt/sources": "/opt/sources",
    "/queue": "/opt/queue",
}
"""Places in a worker's container, and what of the machine is there. Only the queue can be written to."""


@dataclass(frozen=True)
class Tile:
    """A raster on this computer, on the machine too, and what warping it will hold."""

    name: str
    estimate: Estimate

    @property
    def estimate_bytes(self) -> int:
        return self.estimate.peak_bytes

    def task(self, layer: str) -> bytes:
        facts = {"layer": layer, "source": f"/opt/sources/{self.name}.tif", "estimate_bytes": self.estimate_bytes}
        return json.dumps(facts).encode()


def _write(path: Path, side: int, dtype: str, bands: int) -> None:
    """A COG of smooth hills in metres."""
    row, column = numpy.mgrid[0:side, 0:side].astype("float32") / 700
    hills = (120 + 100 * numpy.sin(row) * numpy.cos(column)).round().astype(dtype)
    transform = from_origin(500_000, 5_500_000, 1, 1)
    profile = {"width": side, "height": side, "count": bands, "dtype": dtype, "crs": "EPSG:32633"}
    with MemoryFile() as memory:
        with memory.open(driver="GTiff", transform=transform, **profile) as raster:
            for band in range(1, bands + 1):
                raster.write(hills, band)
        with memory.open() as raster, rasterio.Env(GDAL_NUM_THREADS="2"):
            copy(raster, path, driver="COG", blocksize=512, compress="DEFLATE", overviews="NONE")


def _tile(folder: Path, name: str, side: int, dtype: str, bands: int) -> Tile:
    path = folder / f"{name}.tif"
    _write(path, side, dtype, bands)
    settings = GdalSettings(cache_bytes=WORKERS.cache_bytes, resampling="bilinear")
    return Tile(name, estimate(str(path), target=Target(crs="EPSG:3857"), settings=settings))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tiles")


@pytest.fixture(scope="module")
def large(folder: Path) -> Tile:
    return _tile(folder, "large", *LARGE)


@pytest.fixture(scope="module")
def ordinary(folder: Path) -> Tile:
    return _tile(folder, "ordinary", *ORDINARY)


@dataclass(frozen=True)
class Queue:
    """Tasks of both pools, as the workers see them, and what became of them."""

    machine: Machine

    def put(self, pool: str, tasks: Mapping[str, bytes]) -> None:
        self.machine.unpack(_tar({f"{pool}/{name}.json": task for name, task in tasks.items()}), "/opt/queue")

    def done(self, pool: str, name: str) -> dict[str, Any]:
        """Wait for a task to be done; what its worker wrote."""
        found = f"cat /opt/queue/{pool}/{name}.done 2>/dev/null || :"
        text = ""

        def written() -> bool:
            nonlocal text
            text = self.machine.run(found)
            return bool(text)

        wait_until(f"task {name} of the {pool} pool is done", written, timeout_seconds=SECONDS, pause_seconds=1)
        return dict(json.loads(text))


@pytest.fixture(scope="module")
def queue(machine: Machine, cluster: ControlPlane, folder: Path, large: Tile, ordinary: Tile) -> Iterator[Queue]:
    """Both pools, with all of their objects; the workers may not be ready yet."""
    before = cpu_seconds(machine)
    modules = [path for pattern in ("*.py", "raster/*.py") for path in (ROOT / "floodplain").glob(pattern)]
    sources = {str(path.relative_to(ROOT)): path.read_bytes() for path in modules}
    sources["raster_worker.py"] = (ROOT / "tests" / "node" / "raster_worker.py").read_bytes()
    tiles = {f"{tile.name}.tif": (folder / f"{tile.name}.tif").read_bytes() for tile in (large, ordinary)}
    machine.unpack(_tar({**sources, **tiles}), "/opt/sources")
    machine.run(f"mkdir -p /opt/packages && mount -t ext4 -o ro {PACKAGES} /opt/packages")
    machine.run(f"mkdir -p /opt/queue/{SMALL} /opt/queue/{BIG} && chmod 777 /opt/queue/*")
    node = machine.instance.node_name
    objects = (
        worker_objects.service_account(WORKERS),
        worker_objects.config_map(WORKERS),
        _on_machine(worker_objects.small(WORKERS), node),
        _on_machine(worker_objects.big(WORKERS), node),
    )
    for each in objects:
        cluster.api.must_apply(each)
    yield Queue(machine)
    for each in objects:
        cluster.api.delete(cluster.api.path_of(each))
    wait_until("all workers are gone", lambda: not _pods(cluster), timeout_seconds=SECONDS, pause_seconds=1)
    machine.run("umount /opt/packages && rm -r /opt/sources /opt/queue")
    note(f"raster workers: the emulator computed {cpu_seconds(machine) - before:.0f} s on its cores")


def _on_machine(workload: dict[str, Any], node: str) -> dict[str, Any]:
    """The workload with what is the machine's: its name, its taint, its network, and folders of it for an image."""
    pod = workload["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    pod["nodeSelector"] |= {"kubernetes.io/hostname": node}
    pod["tolerations"] = [{"key": POOL_LABEL, "operator": "Exists"}]
    pod |= {"hostNetwork": True, "terminationGracePeriodSeconds": 1}
    for number, (place, path) in enumerate(MOUNTS.items()):
        pod["volumes"].append({"name": f"of-machine-{number}", "hostPath": {"path": path, "type": "Directory"}})
        mount = {"name": f"of-machine-{number}", "mountPath": place, "readOnly": place != "/queue"}
        container["volumeMounts"].append(mount)
    field = {"fieldRef": {"fieldPath": "metadata.name"}}
    container["env"].append({"name": "POD_NAME", "valueFrom": field})
    return workload


def _tar(files: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for path, content in files.items():
            entry = tarfile.TarInfo(path)
            entry.size, entry.mode = len(content), 0o644
            archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


def _mib(count: int) -> str:
    return f"{count / MIB:.0f} MiB"


def _pods(cluster: ControlPlane, pool: str = "") -> list[dict[str, Any]]:
    found = cluster.api.items(PODS, labelSelector="app.kubernetes.io/part-of=floodplain")
    return [pod for pod in found if pod["metadata"]["labels"]["app.kubernetes.io/name"].endswith(pool)]


def _killed(cluster: ControlPlane) -> list[dict[str, Any]]:
    """Small workers whose container was started again."""
    return [pod for pod in _pods(cluster, SMALL) if _status(pod).get("restartCount")]


def _status(pod: Mapping[str, Any]) -> dict[str, Any]:
    return dict((pod["status"].get("containerStatuses") or [{}])[0])


def _ready(pod: Mapping[str, Any]) -> bool:
    return "running" in _status(pod).get("state", {})


def _history(machine: Machine, pod: Mapping[str, Any]) -> list[Record]:
    """What a worker has measured, from the volume that it keeps when its container is started again."""
    volume = f"/var/lib/kubelet/pods/{pod['metadata']['uid']}/volumes/kubernetes.io~empty-dir/scratch"
    lines = machine.run(f"cat {volume}/peaks.jsonl 2>/dev/null || :").splitlines()
    return [Record.model_validate_json(line) for line in lines]


def test_the_estimates_say_before_which_tile_fits_its_slot_and_the_other_goes_to_the_big_pool(
    large: Tile, ordinary: Tile
) -> None:
    pools = WORKERS.pools
    assert [route(tile.estimate, pools).place for tile in (ordinary, large)] == [Place.SMALL, Place.BIG]
    assert ordinary.estimate_bytes <= pools.slot_budget_bytes < large.estimate_bytes <= pools.big_budget_bytes


def test_a_tile_over_its_slot_dies_in_a_small_worker_which_starts_again_and_notes_it_and_the_others_go_on(
    queue: Queue, machine: Machine, cluster: ControlPlane, large: Tile, ordinary: Tile
) -> None:
    pools = WORKERS.pools
    wait_until("workers run", lambda: [*map(_ready, _pods(cluster))] == [True] * 3, timeout_seconds=SECONDS)
    queue.put(SMALL, {"misrouted": large.task("dem")})
    wait_until("a small worker was killed", partial(_killed, cluster), timeout_seconds=SECONDS, pause_seconds=1)
    (victim,) = _killed(cluster)
    last = _status(victim)["lastState"]["terminated"]
    assert (last["exitCode"], last["reason"]) == (137, "OOMKilled")

    queue.put(SMALL, {"ordinary": ordinary.task("ortho")})
    done = Record.model_validate(queue.done(SMALL, "ordinary")["record"])
    wait_until("the killed tile is noted", partial(_history, machine, victim), timeout_seconds=SECONDS, pause_seconds=1)
    (noted,) = (record for record in _history(machine, victim) if record.layer == "dem")
    limit = pools.baseline_bytes + pools.cache_bytes + pools.slot_budget_bytes
    assert (noted.outcome, noted.method, noted.censored) == (Outcome.KILLED, Method.NONE, True)
    assert (noted.task, noted.estimate_bytes) == ("misrouted", large.estimate_bytes)
    assert (noted.peak_bytes, noted.slot_limit_bytes) == (limit, limit)

    note(
        f"slot {_mib(pools.slot_budget_bytes)}, killed: estimate {_mib(large.estimate_bytes)}, at least "
        f"{_mib(noted.marginal_bytes)}; ordinary: estimate {_mib(ordinary.estimate_bytes)}, measured "
        f"{_mib(done.marginal_bytes)} in {done.seconds:.0f} s"
    )
    assert (done.outcome, done.censored) == (Outcome.DONE, False)
    assert done.peak_bytes < pools.small_limit_bytes
    survivors = [pod for pod in _pods(cluster) if pod["metadata"]["name"] != victim["metadata"]["name"]]
    assert [(_ready(pod), _status(pod)["restartCount"]) for pod in survivors] == [(True, 0)] * 2
    node = machine.node()
    assert node is not None
    assert (is_true(node, "Ready"), is_true(node, "MemoryPressure")) == (True, False)


def test_the_same_tile_in_the_big_worker_is_done_with_the_peak_that_was_foretold(
    queue: Queue, machine: Machine, cluster: ControlPlane, large: Tile
) -> None:
    pools = WORKERS.pools
    pool = route(large.estimate, pools).place
    queue.put(pool, {"routed": large.task("dem")})
    done = queue.done(pool, "routed")
    (pod,) = _pods(cluster, BIG)
    record = Record.model_validate(done["record"])
    folder = Jobs(cluster.api, machine).cgroups(pod["metadata"]["name"])["worker"]
    peak, swap_peak = map(int, machine.run(f"cat {folder}/memory.peak {folder}/memory.swap.peak").split())
    note(
        f"estimate {_mib(large.estimate_bytes)}, measured {_mib(record.marginal_bytes)} over a baseline of "
        f"{_mib(record.baseline_bytes)} in {record.seconds:.0f} s; memory.peak {_mib(peak)}, limit "
        f"{_mib(pools.big_limit_bytes)}, of a small worker {_mib(pools.small_limit_bytes)}"
    )
    assert (record.outcome, record.method, record.censored) == (Outcome.DONE, Method.VMHWM, False)
    assert done["pixels"] >= LARGE[0] ** 2 * 0.99
    assert 0.8 <= large.estimate_bytes / record.marginal_bytes <= 2
    assert pools.slot_budget_bytes < record.marginal_bytes <= pools.big_budget_bytes
    assert pools.small_limit_bytes < done["pod_peak_bytes"] <= peak <= pools.big_limit_bytes
    assert (swap_peak, _status(pod)["restartCount"]) == (0, 0)
