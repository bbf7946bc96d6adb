"""Runs the real Kueue controller as a process, for Jobs alone, with CRDs and webhooks from its Go module.

In a cluster its webhooks are reached through a Service and it makes certificates of its own; here the API server calls
it by address, so it finds a pair that is also good for 127.0.0.1, which it keeps. Webhooks of other kinds than Jobs
and Kueue's own are left out: the controller serves those of the frameworks that are switched on.
"""

from __future__ import annotations

import base64
import copy
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import requests
import yaml
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from testbed import engines
from testbed.cluster.api import is_true
from testbed.cluster.certificates import Authority
from testbed.cluster.control_plane import ControlPlane
from testbed.ports import free_port
from testbed.processes import Process, Processes, wait_until
from testbed.state import State

MODULE = "sigs.k8s.io/kueue"
NAMESPACE = "kueue-system"
SERVICE = "kueue-webhook-service"
AUTHORITY = "kueue-ca"
SECRET = "kueue-webhook-server-cert"
READY_SECONDS = 120
_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def start_kueue(state: State, processes: Processes, cluster: ControlPlane) -> Process:
    """The controller, ready when this returns: it admits Jobs, and its webhooks answer.

    Raises EngineError with its last lines when it does not come up.
    """
    components = engines.module_folder(MODULE) / "config" / "components"
    webhook_port, health_port = free_port(), free_port()
    url = f"https://127.0.0.1:{webhook_port}"
    folder = state.path("kueue", "certificates", "tls.crt").parent
    certificates = _certificates(folder)
    authority = certificates["ca.crt"]
    api = cluster.api
    for crd in _documents(components / "crd" / "bases"):
        api.must_apply(_converted(crd, url, authority))
    wait_until(
        "Kueue's kinds are served", lambda: all(is_true(one, "Established") for one in api.items(_CRDS)), process=None
    )
    api.must_apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    api.must_apply(_secret(certificates))
    for configuration in _documents(components / "webhook" / "manifests.yaml"):
        api.must_apply(_called_by_address(configuration, url, authority))
    file = state.path("kueue", "configuration.yaml")
    file.write_text(yaml.safe_dump(_configuration(folder, webhook_port, health_port)))
    command = [str(engines.path("kueue")), f"--config={file}", f"--kubeconfig={cluster.kubeconfig}"]
    # It would listen on every interface.
    command += ["--feature-gates=VisibilityOnDemand=false", "--zap-log-level=2"]
    process = processes.start("kueue", command)
    wait_until(
        "Kueue is ready",
        lambda: requests.get(f"http://127.0.0.1:{health_port}/readyz", timeout=5, proxies={"http": ""}).ok,
        process=process,
        timeout_seconds=READY_SECONDS,
    )
    return process


def _documents(path: Path) -> list[dict[str, Any]]:
    files = sorted(path.glob("*.yaml")) if path.is_dir() else [path]
    return [one for file in files for one in yaml.safe_load_all(file.read_text()) if one]


def _certificates(folder: Path) -> dict[str, bytes]:
    """What Kueue's rotation of certificates finds valid, and so keeps, by the names of files and keys of its Secret.

    It wants the key of an authority that is called as its own would be, RSA in PKCS #1, and everything valid for longer
    than it looks ahead.
    """
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    authority = Authority(folder, AUTHORITY, key=key, valid=timedelta(days=3650), hosts=(AUTHORITY,))
    pair = authority.issue("tls", SERVICE, hosts=(f"{SERVICE}.{NAMESPACE}.svc", "127.0.0.1"))
    form = serialization.PrivateFormat.TraditionalOpenSSL
    return {
        "ca.crt": authority.certificate.read_bytes(),
        "ca.key": key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()),
        "tls.crt": pair.certificate.read_bytes(),
        "tls.key": pair.key.read_bytes(),
    }


def _converted(crd: Mapping[str, Any], url: str, authority: bytes) -> dict[str, Any]:
    """With its conversion between versions done by the controller, for the kinds that have one."""
    made = copy.deepcopy(dict(crd))
    if made["spec"]["names"]["plural"] in _CONVERTED:
        client = {"url": f"{url}/convert", "caBundle": _base64(authority)}
        made["spec"]["conversion"] = {
            "strategy": "Webhook",
            "webhook": {"clientConfig": client, "conversionReviewVersions": ["v1"]},
        }
    return made


_CONVERTED = ("localqueues", "clusterqueues", "cohorts", "workloads", "multikueueclusters")
"""As `config/components/crd/kustomization.yaml` of the module has it."""
_OURS = ("-batch-v1-job", "-kueue-x-k8s-io-")


def _called_by_address(configuration: Mapping[str, Any], url: str, authority: bytes) -> dict[str, Any]:
    made = copy.deepcopy(dict(configuration))
    made["metadata"] = {"name": f"kueue-{made['metadata']['name']}"}
    kept = []
    for webhook in made["webhooks"]:
        path = webhook["clientConfig"]["service"]["path"]
        if any(part in path for part in _OURS):
            webhook["clientConfig"] = {"url": f"{url}{path}", "caBundle": _base64(authority)}
            kept.append(webhook)
    made["webhooks"] = kept
    return made


def _secret(certificates: Mapping[str, bytes]) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": SECRET, "namespace": NAMESPACE},
        "data": {name: _base64(content) for name, content in certificates.items()},
    }


def _configuration(certificates: Path, webhook_port: int, health_port: int) -> dict[str, Any]:
    return {
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "kind": "Configuration",
        "health": {"healthProbeBindAddress": f"127.0.0.1:{health_port}"},
        "metrics": {"bindAddress": f"127.0.0.1:{free_port()}"},
        "webhook": {"host": "127.0.0.1", "port": webhook_port, "certDir": str(certificates)},
        "leaderElection": {"leaderElect": False},
        "integrations": {"frameworks": ["batch/job"]},
    }


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode()
