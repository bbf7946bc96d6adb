"""The service as it runs in a cluster, asked at a fixed rate: how long plans and admissions take, and its memory.

`--seconds=N` for a run of another length (20), `--rate=N` for another rate (300 a second). Client and service share the
machine; each request is for another job, so nothing is answered from memory.
"""

from __future__ import annotations

import json
import os
import random
import ssl
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from floodplain.pools import dump
from floodplain.service.signing import new_authority, new_serving
from floodplain.sizing.default_pool import default_pool

from .open_loop import Measured, drive, quantile
from .rows import Row, at_most

ROOT = Path(__file__).resolve().parent.parent
SECONDS, PER_SECOND = 20.0, 300.0
PLAN_P99_MS, ADMISSION_P99_MS, RESIDENT_MB = 10.0, 15.0, 150.0
_OPTIONS = ("", "dsm", "dsm,dtm", "fast-orthophoto", "pc-quality=high", "feature-quality=ultra,dsm")


@dataclass(frozen=True)
class Server:
    """A process of the service and where it listens."""

    popen: subprocess.Popen[str]
    port: int

    @property
    def most_resident_mb(self) -> float:
        """The most memory that it has had resident, in 10^6 bytes."""
        status = Path(f"/proc/{self.popen.pid}/status").read_text()
        (line,) = [line for line in status.splitlines() if line.startswith("VmHWM:")]
        return int(line.split()[1]) * 1024 / 1e6

    @property
    def cpu_seconds(self) -> float:
        """Of CPU that it has taken so far."""
        fields = Path(f"/proc/{self.popen.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def run(options: Sequence[str] = ()) -> list[Row]:
    """Rows of both processes, one after the other."""
    given = dict(option.removeprefix("--").split("=", 1) for option in options if "=" in option)
    seconds, rate = float(given.get("seconds", SECONDS)), float(given.get("rate", PER_SECOND))
    count = max(1, round(seconds * rate))
    return [*_plans(count, rate), *_admission(count, rate), _load()]


def _plans(count: int, rate: float) -> list[Row]:
    with serving("sizing") as server:
        _warm(server, "/v1/plans", plan_bodies(100, seed=2))
        before = server.cpu_seconds
        measured = drive(server.port, "/v1/plans", plan_bodies(count, seed=1), per_second=rate)
        cpu = (server.cpu_seconds - before) / count
        memory = server.most_resident_mb
        # No pool takes these, so that every lever is tried: what a plan costs at most.
        hopeless = [json.dumps({"images": 500_000 + number}).encode() for number in range(40)]
        alone = drive(server.port, "/v1/plans", hopeless, per_second=5)
    return [
        *_rows("POST /v1/plans", measured, PLAN_P99_MS, rate, cpu),
        at_most("floodplain serve sizing: most memory resident", "MB", memory, RESIDENT_MB),
        Row("a plan that no pool takes, with its advice: p50, 5/s", "ms", round(alone.at(0.5), 3)),
    ]


def _admission(count: int, rate: float) -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        authority, signer = new_authority(datetime.now(UTC))
        certificate, key = new_serving(authority, signer, ("localhost",), datetime.now(UTC))
        (place / "tls.crt").write_bytes(certificate)
        (place / "tls.key").write_bytes(key)
        (place / "pools.json").write_bytes(dump([default_pool()]))
        named = [f"--{name}={place / file}" for name, file in (("certificate", "tls.crt"), ("key", "tls.key"))]
        trust = ssl.create_default_context(cadata=authority.decode("ascii"))
        with serving("admission", f"--pools={place / 'pools.json'}", "--health-port=0", *named) as server:
            _warm(server, "/enforce", review_bodies(100, seed=2), trust)
            before = server.cpu_seconds
            measured = drive(server.port, "/enforce", review_bodies(count, seed=1), per_second=rate, tls=trust)
            cpu = (server.cpu_seconds - before) / count
            memory = server.most_resident_mb
    return [
        *_rows("POST /enforce, TLS", measured, ADMISSION_P99_MS, rate, cpu),
        at_most("floodplain serve admission: most memory resident", "MB", memory, RESIDENT_MB),
    ]


def _rows(name: str, measured: Measured, goal: float, rate: float, cpu: float) -> list[Row]:
    refused = measured.refused
    return [
        Row(f"{name} at {rate:g}/s: p50", "ms", round(measured.at(0.5), 3)),
        at_most(f"{name} at {rate:g}/s: p99", "ms", measured.at(0.99), goal),
        Row(f"{name}: of that the client was late, p99", "ms", round(quantile(measured.late, 0.99), 3)),
        Row(f"{name}: CPU of the service, mean", "ms", round(cpu * 1000, 3)),
        Row(f"{name}: refused", f"of {len(measured.took)}", refused, 0, holds=refused == 0),
    ]


def _load() -> Row:
    return Row(f"load of the machine meanwhile, {os.cpu_count()} cores", "", round(os.getloadavg()[0], 2))


def _warm(server: Server, path: str, bodies: Sequence[bytes], tls: ssl.SSLContext | None = None) -> None:
    """What is loaded and compiled with the first requests is not measured."""
    drive(server.port, path, bodies, per_second=100, tls=tls)


def _jobs(count: int, seed: int) -> Iterator[tuple[int, str]]:
    """As many different jobs as fit: counts that pools take, options that move the peak."""
    chosen = random.Random(seed)
    for _ in range(count):
        yield chosen.randint(40, 8000), chosen.choice(_OPTIONS)


def plan_bodies(count: int, *, seed: int) -> list[bytes]:
    """Bodies of POST /v1/plans."""
    return [
        json.dumps(
            {"engine": "odm", "images": images, "options": options, "megapixels": 12 + number % 1000 / 100}
        ).encode()
        for number, (images, options) in enumerate(_jobs(count, seed))
    ]


def review_bodies(count: int, *, seed: int) -> list[bytes]:
    """Reviews of pods as the API server sends them on CREATE."""
    return [_review(number, images, options) for number, (images, options) in enumerate(_jobs(count, seed))]


def _review(number: int, images: int, options: str) -> bytes:
    annotations = {"floodplain.dev/engine": "odm", "floodplain.dev/images": str(images)}
    annotations |= {"floodplain.dev/options": options} if options else {}
    annotations |= {"floodplain.dev/container": "process", "floodplain.dev/megapixels": f"{12 + number % 1000 / 100:g}"}
    helper = {"requests": {"cpu": "100m", "memory": "256Mi"}, "limits": {"memory": "256Mi"}}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"generateName": "map-", "namespace": "maps", "labels": {"app": "map"}, "annotations": annotations},
        "spec": {
            "restartPolicy": "Never",
            "serviceAccountName": "maps",
            "containers": [
                {
                    "name": "process",
                    "image": "registry.example.com/odm:1",
                    "args": ["--project-path", "/data", "project"],
                    "volumeMounts": [{"name": "data", "mountPath": "/data"}],
                },
                {"name": "upload", "image": "registry.example.com/upload:1", "resources": helper},
            ],
            "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "map"}}],
        },
    }
    request = {
        "uid": f"00000000-0000-4000-8000-{number:012d}",
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "namespace": "maps",
        "operation": "CREATE",
        "userInfo": {"username": "system:serviceaccount:kube-system:job-controller"},
        "object": pod,
        "oldObject": None,
        "dryRun": False,
    }
    return json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}).encode()


@contextmanager
def serving(process: str, *arguments: str) -> Iterator[Server]:
    """`floodplain serve PROCESS` on a free loopback port, with nothing of this environment's settings."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("FLOODPLAIN_", "KUBERNETES_"))}
    popen = subprocess.Popen(
        [sys.executable, "-m", "floodplain", "serve", process, "--host=127.0.0.1", "--port=0", *arguments],
        cwd=ROOT,
        env=kept,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield Server(popen, _port(popen))
    finally:
        popen.terminate()
        popen.wait(timeout=60)


def _port(popen: subprocess.Popen[str]) -> int:
    assert popen.stderr is not None
    lines: list[str] = []
    for line in popen.stderr:
        lines.append(line)
        if '"event": "listening"' in line:
            # Its log is written as in a cluster, and read so that it is never waited for.
            threading.Thread(target=_swallow, args=(popen,), daemon=True).start()
            return int(json.loads(line)["url"].rpartition(":")[2])
    raise RuntimeError(f"the service ended with {popen.wait()}: {''.join(lines)}")


def _swallow(popen: subprocess.Popen[str]) -> None:
    assert popen.stderr is not None
    for _ in popen.stderr:
        pass
