"""The API client against a double of an API server: what is sent, and what is made of answers."""

from __future__ import annotations

import http.server
import json
import ssl
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from testbed.cluster.api import APPLY, MERGE, Answer, Api, RefusedError, is_true
from testbed.cluster.certificates import Authority

DISCOVERY = {
    "/api/v1": [("pods", "Pod", True), ("pods/resize", "Pod", True), ("nodes", "Node", False)],
    "/apis/karpenter.sh/v1": [("nodepools", "NodePool", False), ("nodepools/status", "NodePool", False)],
}
POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "jobs"}}
POOL = {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "swap"}}
STRICT = {"fieldValidation": "Strict"}


@dataclass
class ServerDouble:
    """Answers discovery by itself, and everything else as it is told; remembers what it was asked."""

    endpoint: str
    asked: list[tuple[str, str, dict[str, str], str, Any]] = field(default_factory=list)
    discoveries: int = 0
    status: int = 200
    body: bytes = b"{}"
    warnings: tuple[str, ...] = ()

    def answer(self, handler: http.server.BaseHTTPRequestHandler) -> None:
        url = urlsplit(handler.path)
        status, body, warnings = self.status, self.body, self.warnings
        if handler.command == "GET" and url.path in DISCOVERY:
            self.discoveries += 1
            resources = [dict(zip(("name", "kind", "namespaced"), one, strict=True)) for one in DISCOVERY[url.path]]
            status, body, warnings = 200, json.dumps({"resources": resources}).encode(), ()
        elif handler.command == "GET" and url.path in ("/apis/karpenter.sh/v1beta1", "/not-there"):
            status, body = 404, b'{"message": "the server could not find the requested resource"}'
        else:
            sent = handler.rfile.read(int(handler.headers.get("Content-Length", 0)))
            content = str(handler.headers["Content-Type"]), json.loads(sent) if sent else None
            self.asked.append((handler.command, url.path, dict(parse_qsl(url.query)), *content))
        handler.send_response(status)
        for text in warnings:
            handler.send_header("Warning", text)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)


class Handler(http.server.BaseHTTPRequestHandler):
    """Hands every request over to the double of its server."""

    def handle_one_request(self) -> None:
        self.raw_requestline = self.rfile.readline()
        if self.raw_requestline and self.parse_request():
            self.server.double.answer(self)  # type: ignore[attr-defined]
            self.wfile.flush()

    def log_message(self, format: str, *args: object) -> None:
        return


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("certificates"))


@pytest.fixture
def server(authority: Authority) -> Iterator[ServerDouble]:
    pair = authority.issue("server", "server", hosts=("127.0.0.1",))
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(pair.certificate, pair.key)
    tls.load_verify_locations(authority.certificate)
    tls.verify_mode = ssl.CERT_REQUIRED
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        listening.socket = tls.wrap_socket(listening.socket, server_side=True)
        double = ServerDouble(f"https://127.0.0.1:{listening.server_address[1]}")
        listening.double = double  # type: ignore[attr-defined]
        threading.Thread(target=listening.serve_forever, args=(0.01,), daemon=True).start()
        yield double
        listening.shutdown()


@pytest.fixture
def api(server: ServerDouble, authority: Authority) -> Api:
    return Api(server.endpoint, authority.certificate, authority.issue("user", "jane"))


def test_create_is_strict_and_a_dry_run_says_so(api: Api, server: ServerDouble) -> None:
    assert api.create(POD) == Answer(200, {})
    api.create(POOL, dry_run=True)
    assert server.asked == [
        ("POST", "/api/v1/namespaces/jobs/pods", STRICT, "application/json", POD),
        ("POST", "/apis/karpenter.sh/v1/nodepools", {**STRICT, "dryRun": "All"}, "application/json", POOL),
    ]


def test_apply_is_a_server_side_apply_that_takes_fields_over_unless_told(api: Api, server: ServerDouble) -> None:
    api.apply(POOL)
    api.apply(POOL, field_manager="me", dry_run=True, force=False)
    path = "/apis/karpenter.sh/v1/nodepools/swap"
    assert server.asked == [
        ("PATCH", path, {**STRICT, "fieldManager": "testbed", "force": "true"}, APPLY, POOL),
        ("PATCH", path, {**STRICT, "dryRun": "All", "fieldManager": "me", "force": "false"}, APPLY, POOL),
    ]


def test_patch_and_delete_say_what_they_mean(api: Api, server: ServerDouble) -> None:
    api.patch("/api/v1/nodes/a", {"spec": {"unschedulable": True}})
    api.delete("/api/v1/nodes/a")
    api.delete("/api/v1/namespaces/jobs/pods/a", propagation="Foreground", grace_seconds=0)
    json_type = "application/json"
    assert server.asked == [
        ("PATCH", "/api/v1/nodes/a", {}, MERGE, {"spec": {"unschedulable": True}}),
        ("DELETE", "/api/v1/nodes/a", {}, json_type, {"propagationPolicy": "Background"}),
        (
            "DELETE",
            "/api/v1/namespaces/jobs/pods/a",
            {},
            json_type,
            {"propagationPolicy": "Foreground", "gracePeriodSeconds": 0},
        ),
    ]


def test_items_passes_a_query_on(api: Api, server: ServerDouble) -> None:
    server.body = b'{"items": [{"a": 1}]}'
    assert api.items("/api/v1/pods", labelSelector="a=b,c") == [{"a": 1}]
    assert server.asked == [("GET", "/api/v1/pods", {"labelSelector": "a=b,c"}, "application/json", None)]


@pytest.mark.parametrize(
    ("thing", "collection", "path"),
    [
        (POD, False, "/api/v1/namespaces/jobs/pods/a"),
        (POD, True, "/api/v1/namespaces/jobs/pods"),
        ({**POD, "metadata": {"name": "a"}}, False, "/api/v1/namespaces/default/pods/a"),
        ({**POD, "kind": "Node"}, False, "/api/v1/nodes/a"),
        (POOL, False, "/apis/karpenter.sh/v1/nodepools/swap"),
        ({"apiVersion": "v1", "kind": "Pod"}, True, "/api/v1/namespaces/default/pods"),
    ],
)
def test_a_path_is_what_the_server_s_discovery_makes_it(api: Api, thing: Any, collection: bool, path: str) -> None:
    assert api.path_of(thing, collection=collection) == path


def test_discovery_is_asked_once_for_each_version(api: Api, server: ServerDouble) -> None:
    for thing in (POD, POOL, POD, POOL):
        api.path_of(thing)
    assert server.discoveries == 2


@pytest.mark.parametrize(
    ("thing", "message"),
    [
        (
            {**POOL, "apiVersion": "karpenter.sh/v1beta1"},
            "GET /apis/karpenter.sh/v1beta1: 404 the server could not find the requested resource",
        ),
        ({**POOL, "kind": "NodeClaim"}, "find NodeClaim of karpenter.sh/v1: 404 the server serves no such kind"),
    ],
)
def test_a_kind_that_is_not_served_is_an_error_with_its_name(api: Api, thing: Any, message: str) -> None:
    with pytest.raises(RefusedError) as refusal:
        api.path_of(thing)
    assert str(refusal.value) == message


def test_a_refusal_is_an_answer_and_an_error_only_where_there_must_be_an_object(api: Api, server: ServerDouble) -> None:
    server.status, server.body = 422, b'{"message": "spec.weight: Invalid value", "code": 422}'
    answer = api.create(POOL)
    assert (answer.ok, answer.status, answer.message) == (False, 422, "spec.weight: Invalid value")
    for ask, told in (
        (lambda: api.must_apply(POOL), "apply NodePool swap"),
        (lambda: api.get("/api/v1/nodes/a"), "GET /api/v1/nodes/a"),
        (lambda: api.find("/api/v1/nodes/a"), "GET /api/v1/nodes/a"),
        (lambda: api.items("/api/v1/nodes"), "GET /api/v1/nodes"),
    ):
        with pytest.raises(RefusedError) as refusal:
            ask()
        assert str(refusal.value) == f"{told}: 422 spec.weight: Invalid value"
        assert refusal.value.answer == answer


def test_what_is_not_there_is_none_for_find_and_an_error_for_get(api: Api) -> None:
    assert api.find("/not-there") is None
    with pytest.raises(RefusedError, match="GET /not-there: 404"):
        api.get("/not-there")


def test_an_answer_that_is_no_json_is_kept_as_text(api: Api, server: ServerDouble) -> None:
    server.body = b"ok"
    assert api.request("GET", "/readyz") == Answer(200, {"text": "ok"})


@pytest.mark.parametrize(
    ("headers", "texts"),
    [
        ((), ()),
        (('299 - "one"',), ("one",)),
        (('299 - "one"', '299 - "two, and more"'), ("one", "two, and more")),
        (('299 - "one", 299 - "two"',), ("one", "two")),
        ((r'299 - "policy \"a\" with C:\\ says: no"',), (r'policy "a" with C:\ says: no',)),
        (('299 - ""',), ("",)),
        (('299 - "größer".',), ("größer",)),
        (('299 - "never closed',), ("never closed",)),
    ],
)
def test_warnings_are_read_out_of_their_headers(
    headers: tuple[str, ...], texts: tuple[str, ...], api: Api, server: ServerDouble
) -> None:
    server.warnings = tuple(text.encode().decode("latin-1") for text in headers)
    assert api.create(POD).warnings == texts


def test_nobody_listening_is_an_oserror_as_waiting_needs(authority: Authority) -> None:
    nobody = Api("https://127.0.0.1:9", authority.certificate, authority.issue("user", "jane"))
    with pytest.raises(OSError, match="Connection refused"):
        nobody.get("/readyz")


def test_a_server_of_another_authority_is_not_trusted(
    server: ServerDouble, authority: Authority, tmp_path: Path
) -> None:
    other = Authority(tmp_path)
    with pytest.raises(OSError, match="certificate verify failed"):
        Api(server.endpoint, other.certificate, authority.issue("user", "jane")).get("/readyz")
    assert server.asked == []


def test_a_person_s_proxy_is_not_asked(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert api.create(POD).status == 200


@pytest.mark.parametrize(
    ("status", "answer"),
    [
        ({"conditions": [{"type": "Ready", "status": "True"}]}, True),
        ({"conditions": [{"type": "Ready", "status": "Unknown"}, {"type": "Launched", "status": "True"}]}, False),
        ({"conditions": None}, False),
        ({}, False),
    ],
)
def test_a_condition_is_true_only_where_it_says_so(status: dict[str, Any], answer: bool) -> None:
    assert is_true({"status": status}, "Ready") is answer
    assert is_true({}, "Ready") is False
