"""A real API server with Karpenter's CRDs, asked whether it would take an object: `kubectl apply --dry-run=server`.

Runs where FLOODPLAIN_APISERVER_BIN names a folder with `kube-apiserver` and `etcd` of any Kubernetes version, and
Karpenter's CRDs are found: in FLOODPLAIN_KARPENTER_CRDS, or in the Go module cache. Everything listens on loopback and
ends with the context. Only API and admission answer here: no controller runs.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import socket
import ssl
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

BINARIES = "FLOODPLAIN_APISERVER_BIN"
CRDS = "FLOODPLAIN_KARPENTER_CRDS"
KARPENTER = "1.14.1"
_MODULE = f"github.com/aws/karpenter-provider-aws@v{KARPENTER}"


@dataclass(frozen=True)
class Verdict:
    """Whether the object would be stored, and what the server said."""

    accepted: bool
    message: str


def available() -> bool:
    """Whether a folder with the binaries is named."""
    return bool(os.environ.get(BINARIES))


@contextmanager
def running() -> Iterator[Server]:
    """A server that is ready and knows Karpenter's kinds. Raises RuntimeError with what is missing."""
    folder = Path(os.environ[BINARIES])
    for name in ("kube-apiserver", "etcd"):
        if not (folder / name).is_file():
            raise RuntimeError(f"{BINARIES}={folder} holds no {name}")
    with tempfile.TemporaryDirectory() as state, ExitStack() as stack:
        server = Server(*_start(folder, Path(state), stack))
        server.wait_until_ready()
        for path in sorted(_crd_folder().glob("karpenter*.yaml")):
            server.install(yaml.safe_load(path.read_text(encoding="utf-8")))
        yield server


def _start(folder: Path, state: Path, stack: ExitStack) -> tuple[str, str]:
    """Start etcd and the API server; the server's address and a token for it."""
    client, peer, secure = _free_ports(3)
    token = secrets.token_hex(16)
    (state / "tokens.csv").write_text(f"{token},admin,1,system:masters\n")
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )
    (state / "sa.key").write_bytes(private)
    stores = f"http://127.0.0.1:{client}"
    peers = f"http://127.0.0.1:{peer}"
    etcd = [f"--data-dir={state / 'etcd'}", "--unsafe-no-fsync", f"--listen-client-urls={stores}"]
    etcd += [f"--advertise-client-urls={stores}", f"--listen-peer-urls={peers}"]
    etcd += [f"--initial-advertise-peer-urls={peers}", f"--initial-cluster=default={peers}"]
    api = [f"--etcd-servers={stores}", "--bind-address=127.0.0.1", f"--secure-port={secure}"]
    api += [f"--cert-dir={state / 'certs'}", f"--token-auth-file={state / 'tokens.csv'}", "--authorization-mode=RBAC"]
    api += [f"--service-account-key-file={state / 'sa.key'}", f"--service-account-signing-key-file={state / 'sa.key'}"]
    api += ["--service-account-issuer=https://kubernetes.default.svc", "--service-cluster-ip-range=10.96.0.0/16"]
    for name, arguments in (("etcd", etcd), ("kube-apiserver", api)):
        log = stack.enter_context((state / f"{name}.log").open("w"))
        process = subprocess.Popen([str(folder / name), *arguments], stdout=log, stderr=log, cwd=state)
        stack.callback(process.wait)
        stack.callback(process.terminate)
    return f"https://127.0.0.1:{secure}", token


def _free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [int(one.getsockname()[1]) for one in sockets]


def _crd_folder() -> Path:
    if os.environ.get(CRDS):
        return Path(os.environ[CRDS])
    if shutil.which("go"):
        done = subprocess.run(["go", "mod", "download", "-json", _MODULE], capture_output=True, text=True)
        if done.returncode == 0:
            return Path(json.loads(done.stdout)["Dir"]) / "pkg" / "apis" / "crds"
    raise RuntimeError(f"no CRDs of Karpenter {KARPENTER}: name their folder in {CRDS}, or install Go")


class Server:
    """The API server's answers."""

    def __init__(self, address: str, token: str) -> None:
        self._address, self._token = address, token
        # The certificate is the server's own, made a moment ago on this machine.
        self._context = ssl.create_default_context()
        self._context.check_hostname = False
        self._context.verify_mode = ssl.CERT_NONE

    def version(self) -> str:
        """The version of Kubernetes, such as 1.36.3."""
        return str(self._call("GET", "/version")[1]["gitVersion"]).removeprefix("v")

    def wait_until_ready(self, seconds: float = 90) -> None:
        """Raises RuntimeError when it does not become ready."""
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            try:
                if self._call("GET", "/readyz?verbose=0")[0] == 200:
                    return
            except OSError:
                pass
            time.sleep(0.25)
        raise RuntimeError("the API server did not become ready")

    def install(self, crd: Mapping[str, Any]) -> None:
        """Create the CRD and wait until its kind is served."""
        path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        status, answer = self._call("POST", path, crd)
        if status != 201:
            raise RuntimeError(f"{crd['metadata']['name']}: {answer}")
        spec = crd["spec"]
        kind = f"/apis/{spec['group']}/{spec['versions'][0]['name']}/{spec['names']['plural']}"
        for _ in range(120):
            if self._call("GET", kind)[0] == 200:
                return
            time.sleep(0.25)
        raise RuntimeError(f"{crd['metadata']['name']} is not served")

    def dry_run(self, manifest: Mapping[str, Any]) -> Verdict:
        """What a client-side apply of `manifest` with --dry-run=server says; strict about fields, as kubectl is."""
        plural = f"{manifest['kind'].lower()}{'es' if manifest['kind'].endswith('s') else 's'}"
        path = f"/apis/{manifest['apiVersion']}/{plural}?dryRun=All&fieldValidation=Strict"
        status, answer = self._call("POST", path, manifest)
        return Verdict(status in (200, 201), "" if status in (200, 201) else str(answer.get("message", answer)))

    def _call(self, method: str, path: str, body: Any = None) -> tuple[int, dict[str, Any]]:
        request = urllib.request.Request(
            self._address + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, context=self._context, timeout=30) as answer:
                return answer.status, _decoded(answer.read())
        except urllib.error.HTTPError as refusal:
            return refusal.code, _decoded(refusal.read())


def _decoded(raw: bytes) -> dict[str, Any]:
    try:
        decoded = json.loads(raw)
    except ValueError:
        return {"message": raw.decode(errors="replace")}
    return decoded if isinstance(decoded, dict) else {"message": decoded}
