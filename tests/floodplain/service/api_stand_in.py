"""A stand-in for the API server where only two objects matter: the Secret and the webhook configuration.

Keeps to what certificates.py goes by: resourceVersions, conflicts, JSON Patch, Status objects, the Date header. The
real server is asked in tests/cluster/admission.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jsonpatch
from lightkube.config.kubeconfig import KubeConfig
from lightkube.config.models import Cluster, User

from floodplain.service.cluster_access import ClusterAccess

SECRETS = "/api/v1/namespaces/floodplain/secrets"
SECRET = f"{SECRETS}/floodplain-admission-tls"
CONFIGURATION = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/floodplain-sizing"


def configuration(*names: str) -> dict[str, Any]:
    """As `pulumi up` makes it: without a caBundle."""
    service = {"name": "floodplain-admission", "namespace": "floodplain"}
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": "floodplain-sizing"},
        "webhooks": [
            {
                "name": name,
                "clientConfig": {"service": dict(service)},
                "sideEffects": "None",
                "admissionReviewVersions": ["v1"],
            }
            for name in names or ("observe.sizing.floodplain.dev", "enforce.sizing.floodplain.dev")
        ],
    }


class ApiStandIn:
    """`objects` by path. `refused` answers a (method, path) with a status; `now` is the server's time."""

    def __init__(self, now: datetime) -> None:
        self.objects: dict[str, dict[str, Any]] = {}
        self.refused: dict[tuple[str, str], tuple[int, str]] = {}
        self.now = now
        self.writes: list[tuple[str, str]] = []
        self.before_write: list[Any] = []
        """Called once each before the next write is looked at: what another replica does just then."""
        self._version = 0
        self.url = ""

    def access(self) -> ClusterAccess:
        """As a replica has it."""
        config = KubeConfig.from_one(cluster=Cluster(server=self.url), user=User(token="of a test")).get()
        assert config is not None
        return ClusterAccess(config, "floodplain")

    def put(self, path: str, thing: dict[str, Any]) -> dict[str, Any]:
        """Store an object as it is."""
        self._version += 1
        metadata = {**thing.get("metadata", {}), "resourceVersion": str(self._version)}
        self.objects[path] = {**thing, "metadata": metadata}
        return self.objects[path]

    def answer(self, method: str, path: str, body: Any) -> tuple[int, dict[str, Any]]:
        if method != "GET":
            self.writes.append((method, path))
            if self.before_write:
                self.before_write.pop(0)()
        if (method, path) in self.refused:
            return self._status(*self.refused[method, path])
        if method == "POST":
            name = body["metadata"]["name"]
            if f"{path}/{name}" in self.objects:
                return self._status(409, f'secrets "{name}" already exists')
            return 201, self.put(f"{path}/{name}", body)
        present = self.objects.get(path)
        if present is None:
            return self._status(404, f"{path.rpartition('/')[2]} not found")
        if method == "PUT":
            if body["metadata"].get("resourceVersion") != present["metadata"]["resourceVersion"]:
                return self._status(409, "the object has been modified")
            return 200, self.put(path, body)
        if method == "PATCH":
            try:
                return 200, self.put(path, jsonpatch.apply_patch(present, body))
            except jsonpatch.JsonPatchException as error:
                return self._status(422, f"the server rejected our request: {error}")
        return 200, present

    @staticmethod
    def _status(code: int, message: str) -> tuple[int, dict[str, Any]]:
        return code, {"apiVersion": "v1", "kind": "Status", "status": "Failure", "code": code, "message": message}


@contextmanager
def api_stand_in(now: datetime) -> Iterator[ApiStandIn]:
    """A stand-in that answers on loopback."""
    api = ApiStandIn(now)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # head and body in one packet: else each answer waits for an acknowledgement

        def _handle(self) -> None:
            length = int(self.headers.get("content-length", 0))
            body = json.loads(self.rfile.read(length)) if length else None
            status, told = api.answer(self.command, self.path.partition("?")[0], body)
            content = json.dumps(told).encode()
            self.send_response_only(status)
            self.send_header("Date", format_datetime(api.now, usegmt=True))
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PUT = do_PATCH = _handle  # noqa: N815

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing: tests read what we log."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    api.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield api
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
