"""The real API server and the real admission process, which calls itself what the rendered configuration calls it.

The configuration, the rights and the settings are those that SizingService renders. Only the address differs: a URL on
loopback instead of the Service, since no pod runs here.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import httpx

from components.sizing_installation import SizingInstallation
from components.sizing_surroundings import rights
from components.sizing_webhook import webhook_configuration
from floodplain.pools import PoolDocument, dump
from floodplain.quantity import MIB
from testbed.cluster.api import Answer, Api
from testbed.cluster.control_plane import ControlPlane, write_kubeconfig
from testbed.ports import free_port
from testbed.processes import wait_until
from testbed.state import State
from tests.floodplain.admission.api_server import runtime_class
from tests.floodplain.service.running_admission import RunningAdmission, running_admission
from tests.floodplain.sizing.example_pools import pool

Manifest = dict[str, Any]
OURS = "floodplain"
ENFORCED, OBSERVED, PLAIN = "enforced", "observed", "plain"
NAMESPACES = {ENFORCED: "enforce", OBSERVED: "observe", PLAIN: None, OURS: None}
POOLS = (pool("swap", overhead_bytes=16 * MIB), pool("plain-ram", swap_ratio=0.0))
IMAGE = f"images.example/floodplain/service@sha256:{'a' * 64}"
CONFIGURATION = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/floodplain-sizing"
SECRET = f"/api/v1/namespaces/{OURS}/secrets/floodplain-admission-tls"
ODM = {"floodplain.dev/engine": "odm", "floodplain.dev/images": "500"}


def plan_of_install(pools: tuple[PoolDocument, ...] = POOLS) -> SizingInstallation:
    return SizingInstallation.model_validate({"image": IMAGE, "documents": dump(pools).decode()})


@dataclass
class SizingBed:
    """`api` is an administrator's. `pools` is the file that the process reads."""

    cluster: ControlPlane
    as_admission: Api
    """With the rights of the process."""
    kubeconfig: Path
    pools: Path
    port: int = field(default_factory=free_port)
    process: RunningAdmission | None = None

    @property
    def api(self) -> Api:
        return self.cluster.api

    def arguments(self, port: int) -> tuple[str, ...]:
        named = {
            "kubeconfig": str(self.kubeconfig),
            "namespace": OURS,
            "dns-name": "127.0.0.1",
            "pools": str(self.pools),
            "port": str(port),
        }
        return tuple(text for name, value in named.items() for text in (f"--{name}", value))

    @contextmanager
    def replica(self, port: int | None = None) -> Iterator[RunningAdmission]:
        """One admission process, ready when the block begins."""
        settings = {"FLOODPLAIN_CERTIFICATE_SECONDS": "0.4", "FLOODPLAIN_POLL_SECONDS": "0.1"}
        with running_admission(*self.arguments(port or free_port()), **settings) as process:
            wait_until("admission is ready", lambda: get(process, "/readyz").status_code == 200)
            yield process

    @contextmanager
    def serving(self) -> Iterator[RunningAdmission]:
        """The process at the address that the configuration names, called when the block begins."""
        with self.replica(self.port) as self.process:
            wait_until("the API server calls admission", self.is_called)
            try:
                yield self.process
            finally:
                self.process = None

    def is_called(self) -> bool:
        return self.create(pod("probe"), ENFORCED, dry_run=True).ok

    def create(self, thing: Manifest, namespace: str, *, dry_run: bool = False) -> Answer:
        placed = {**thing, "metadata": {**thing["metadata"], "namespace": namespace}}
        return self.api.create(placed, dry_run=dry_run)

    def secret(self) -> dict[str, bytes]:
        return {key: base64.b64decode(value) for key, value in self.api.get(SECRET)["data"].items()}

    def bundles(self) -> list[bytes]:
        entries = self.api.get(CONFIGURATION)["webhooks"]
        return [base64.b64decode(entry["clientConfig"].get("caBundle", "")) for entry in entries]

    def counted(self, mode: str, outcome: str) -> int:
        """How often the API server asked and was answered so."""
        assert self.process is not None
        name = f'floodplain_admission_requests_total{{mode="{mode}",outcome="{outcome}"}} '
        (line,) = [line for line in get(self.process, "/metrics").text.splitlines() if line.startswith(name)]
        return int(float(line.rpartition(" ")[2]))


def get(process: RunningAdmission, path: str) -> httpx.Response:
    return httpx.get(process.health + path, timeout=30, trust_env=False)


def make_bed(state: State, cluster: ControlPlane) -> SizingBed:
    """Everything but the process: namespaces, RuntimeClasses, rights, the webhook configuration."""
    api, plan = cluster.api, plan_of_install()
    for name, mode in NAMESPACES.items():
        labels = {"floodplain.dev/sizing": mode} if mode else {}
        api.must_apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}})
        account = f"/api/v1/namespaces/{name}/serviceaccounts/default"
        wait_until(f"pods can be made in {name}", partial(api.find, account))
    for one in POOLS:
        api.must_apply(
            {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "handler": "runc", **runtime_class(one)}
        )
    for thing in rights(plan).values():
        api.must_apply(thing)
    user = cluster.authority.issue("admission", f"system:serviceaccount:{OURS}:floodplain-admission")
    kubeconfig = write_kubeconfig(state.path("admission", "kubeconfig"), cluster.endpoint, cluster.authority, user)
    pools = state.path("admission", "pools.json")
    pools.write_bytes(dump(POOLS))
    as_admission = Api(cluster.endpoint, cluster.authority.certificate, user)
    bed = SizingBed(cluster, as_admission, kubeconfig, pools)
    api.must_apply(configuration(bed.port))
    return bed


def configuration(port: int) -> Manifest:
    """As SizingService renders it, but for the address."""
    found = webhook_configuration(plan_of_install())
    for entry in found["webhooks"]:
        entry["clientConfig"] = {"url": f"https://127.0.0.1:{port}{entry['clientConfig']['service']['path']}"}
    return found


def pod(name: str, annotations: dict[str, str] | None = None, **spec: Any) -> Manifest:
    """One that asks for a plan, unless it is annotated otherwise."""
    containers = {"containers": [{"name": "odm", "image": "images.example/odm:1"}]}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "annotations": ODM if annotations is None else annotations},
        "spec": {**containers, **spec},
    }


def job(name: str, annotations: dict[str, str] | None = None, **spec: Any) -> Manifest:
    """One whose template asks for a plan."""
    template = pod(name, annotations)
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {
            "template": {
                "metadata": {"annotations": template["metadata"]["annotations"]},
                "spec": {**template["spec"], "restartPolicy": "Never"},
            },
            **spec,
        },
    }


def pods_of(api: Api, namespace: str, job_name: str) -> list[Manifest]:
    return api.items(f"/api/v1/namespaces/{namespace}/pods", labelSelector=f"batch.kubernetes.io/job-name={job_name}")
