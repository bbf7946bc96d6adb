"""The admission process from outside: over real TLS on loopback, with pools and a certificate from files."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import os
import re
import signal
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import jsonpatch
import pytest

from floodplain.admission.decision import Mode
from floodplain.admission.review import answer
from floodplain.pools import dump
from floodplain.service import logs
from floodplain.service.admission_app import admission_app
from floodplain.service.admission_metrics import AdmissionMetrics
from floodplain.service.admission_settings import AdmissionSettings
from floodplain.service.authority import Material, Step, carry_out
from floodplain.service.cluster_access import ClusterAccessError, cluster_access
from floodplain.service.metrics import ServiceMetrics
from floodplain.service.pools_source import PoolsSource
from floodplain.service.readiness import Draining
from floodplain.service.settings import ServiceSettingsError, service_settings
from floodplain.sizing.settings import SizingSettings
from tests.floodplain.admission.objects import job, pod, review
from tests.floodplain.service.running_admission import PATIENCE_SECONDS, RunningAdmission, running_admission
from tests.floodplain.sizing.example_pools import pool

POOLS = (pool("swap"),)
HOSTS = ("localhost", "127.0.0.1")


def write_pair(folder: Path) -> Material:
    material = carry_out(Step.NEW, None, HOSTS, datetime.now(UTC))
    (folder / "tls.key").write_bytes(material.key)
    (folder / "tls.crt").write_bytes(material.certificate)
    return material


def options(folder: Path) -> tuple[str, ...]:
    found = {"certificate": "tls.crt", "key": "tls.key", "pools": "pools.json"}
    return tuple(text for name, file in found.items() for text in (f"--{name}", str(folder / file)))


def client(process: RunningAdmission, trusted: Material) -> httpx.Client:
    context = ssl.create_default_context(cadata=trusted.bundle.decode())
    kept = httpx.Limits(keepalive_expiry=None)
    return httpx.Client(base_url=process.url, verify=context, timeout=PATIENCE_SECONDS, trust_env=False, limits=kept)


def health(process: RunningAdmission, path: str) -> httpx.Response:
    return httpx.get(process.health + path, timeout=PATIENCE_SECONDS, trust_env=False)


def counted(process: RunningAdmission) -> dict[str, float]:
    lines = [line for line in health(process, "/metrics").text.splitlines() if line.startswith("floodplain_")]
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("admission")
    (folder / "pools.json").write_bytes(dump(POOLS))
    return folder


@pytest.fixture(scope="module")
def material(folder: Path) -> Material:
    return write_pair(folder)


@pytest.fixture(scope="module")
def process(folder: Path, material: Material) -> Iterator[RunningAdmission]:
    with running_admission(*options(folder)) as running:
        yield running


@pytest.fixture(scope="module")
def door(process: RunningAdmission, material: Material) -> Iterator[httpx.Client]:
    with client(process, material) as opened:
        yield opened


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("kind", ["Pod", "Job"])
def test_a_review_is_answered_as_the_pure_decision_says(mode: Mode, kind: str, door: httpx.Client) -> None:
    asked = review(pod()) if kind == "Pod" else review(job(), kind="Job", group="batch")
    got = door.post(f"/{mode.value}", json=asked)
    assert (got.status_code, got.headers["content-type"]) == (200, "application/json")
    assert got.json() == answer(asked, POOLS, SizingSettings(), mode).review
    response = got.json()["response"]
    patched = jsonpatch.apply_patch(asked["request"]["object"], json.loads(base64.b64decode(response["patch"])))
    assert "floodplain.dev/plan" in patched["metadata"]["annotations"]


def test_a_bad_count_is_refused_in_words_and_http_status_200(door: httpx.Client) -> None:
    asked = review(pod(annotations={"floodplain.dev/engine": "odm", "floodplain.dev/images": "-3"}))
    got = door.post("/enforce", json=asked)
    status = got.json()["response"]["status"]
    assert (got.status_code, got.json()["response"]["allowed"], status["code"]) == (200, False, 400)
    assert "floodplain.dev/images" in status["message"] and "'-3'" in status["message"]


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b"\xff\xfe", b"[" * 100_000, b'{"request": 1}'])
def test_what_is_no_review_is_answered_as_one(body: bytes, door: httpx.Client) -> None:
    allowed = {
        mode: (door.post(f"/{mode}", content=body).status_code, door.post(f"/{mode}", content=body).json()["response"])
        for mode in ("observe", "enforce")
    }
    assert {mode: (status, told["allowed"]) for mode, (status, told) in allowed.items()} == {
        "observe": (200, True),
        "enforce": (200, False),
    }
    assert "floodplain cannot read the admission review" in allowed["enforce"][1]["status"]["message"]


def test_another_version_of_the_review_is_refused_politely(door: httpx.Client) -> None:
    asked = {**review(pod()), "apiVersion": "admission.k8s.io/v1beta1"}
    got = door.post("/enforce", json=asked).json()
    assert (got["apiVersion"], got["response"]["uid"]) == ("admission.k8s.io/v1", asked["request"]["uid"])
    assert "only admission.k8s.io/v1 AdmissionReview is read" in got["response"]["status"]["message"]


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_of_ten_megabytes_is_answered_with_413(chunked: bool, door: httpx.Client) -> None:
    ten = 10 << 20
    content = (b" " * (1 << 16) for _ in range(ten >> 16)) if chunked else b" " * ten
    got = door.post("/enforce", content=content)
    problem = {"path": "body", "rule": "is larger than 4194304 bytes", "remedy": "ask for less at once"}
    assert (got.status_code, got.json()) == (413, {"problems": [problem]})
    assert door.post("/observe", json=review(pod())).status_code == 200


def test_an_object_as_large_as_the_api_server_takes_is_decided(door: httpx.Client) -> None:
    large = pod(annotations={"floodplain.dev/engine": "odm", "floodplain.dev/images": "500", "note": "x" * 3_000_000})
    assert door.post("/enforce", json=review(large)).json()["response"]["allowed"] is True


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/enforce", 405), ("POST", "/", 404), ("POST", "/v1/plans", 404), ("GET", "/metrics", 404)],
)
def test_nothing_else_is_asked_at_that_door(method: str, path: str, status: int, door: httpx.Client) -> None:
    assert door.request(method, path).status_code == status


def test_health_and_metrics_are_at_the_other_door(process: RunningAdmission, door: httpx.Client) -> None:
    before = counted(process)
    door.post("/enforce", json=review(pod()))
    after = counted(process)
    sized = 'floodplain_admission_requests_total{mode="enforce",outcome="sized"}'
    assert after[sized] == before[sized] + 1
    timed = 'floodplain_admission_request_seconds_count{mode="enforce"}'
    assert after[timed] == before[timed] + 1
    assert after["floodplain_admission_certificate_problem"] == 0
    assert after["floodplain_admission_certificate_not_after_seconds"] > datetime.now(UTC).timestamp()
    assert after["floodplain_pools_known"] == 1 and after["floodplain_pools_age_seconds"] < PATIENCE_SECONDS
    assert [health(process, path).status_code for path in ("/healthz", "/readyz", "/enforce")] == [200, 200, 404]
    assert health(process, "/readyz").json()["pools"] == ["swap"]


def test_it_asks_no_cluster_for_a_bundle_that_is_not_its_own(process: RunningAdmission) -> None:
    assert [name for name in counted(process) if "bundle" in name] == []


def test_a_decision_is_one_line_of_the_log_without_the_object(folder: Path, material: Material) -> None:
    secret = "something-private"
    asked = pod(annotations={"floodplain.dev/engine": "odm", "floodplain.dev/images": "500", "note": secret})
    asked["spec"]["containers"][0]["env"] = [{"name": "TOKEN", "value": secret}]
    with running_admission(*options(folder)) as running:
        with client(running, material) as opened:
            opened.post("/enforce", json=review(asked, namespace="jobs", name="map"))
            opened.post("/enforce", json=review(pod(annotations={}), namespace="jobs", name="other"))
            opened.post("/enforce", content=b"{")
        assert running.end() == 0
        lines = [line for line in running.rest_of_log() if line["event"] == "decision"]
    assert [(line["namespace"], line["name"], line["outcome"], line["kind"]) for line in lines] == [
        ("jobs", "map", "sized", "Pod"),
        ("", "", "error", ""),
    ]
    assert lines[0]["pool"] == "swap" and lines[0]["ms"] > 0
    assert secret not in json.dumps(running.log) and "PRIVATE" not in json.dumps(running.log)


def test_without_pools_it_is_not_ready_and_refuses_only_what_it_must(tmp_path: Path) -> None:
    material = write_pair(tmp_path)
    with running_admission(*options(tmp_path)) as running, client(running, material) as opened:
        assert health(running, "/healthz").status_code == 200
        state = health(running, "/readyz")
        assert (state.status_code, state.json()["detail"][:13]) == (503, "no pools yet:")
        refused = opened.post("/enforce", json=review(pod())).json()["response"]
        assert (refused["allowed"], refused["status"]["code"]) == (False, 503)
        assert opened.post("/observe", json=review(pod())).json()["response"]["allowed"] is True
        assert opened.post("/enforce", json=review(pod(annotations={}))).json()["response"]["allowed"] is True


def test_pools_that_come_go_and_break_are_followed_by_the_last_good_ones(tmp_path: Path) -> None:
    material = write_pair(tmp_path)
    file = tmp_path / "pools.json"
    with running_admission(*options(tmp_path), FLOODPLAIN_POLL_SECONDS="0.05") as running:
        file.write_bytes(dump(POOLS))
        running.until("pools")
        assert health(running, "/readyz").status_code == 200
        with client(running, material) as opened:
            for spoil in (lambda: file.write_text("{"), file.unlink):
                spoil()
                running.until("files are not good")
                assert opened.post("/enforce", json=review(pod())).json()["response"]["allowed"] is True
                state = health(running, "/readyz").json()
                assert state["ready"] is True and "pools.json" in state["problem"]
                assert counted(running)["floodplain_pools_problem"] == 1
                file.write_bytes(dump(POOLS))
                running.until("files are good again")
                assert counted(running)["floodplain_pools_problem"] == 0


def test_a_certificate_that_is_renewed_is_served_without_a_restart(tmp_path: Path) -> None:
    (tmp_path / "pools.json").write_bytes(dump(POOLS))
    first = write_pair(tmp_path)
    with running_admission(*options(tmp_path), FLOODPLAIN_CERTIFICATE_SECONDS="0.1") as running:
        with client(running, first) as kept:
            assert kept.post("/enforce", json=review(pod())).status_code == 200
            second = write_pair(tmp_path)
            running.until("serving with another certificate")
            with client(running, second) as opened:
                assert opened.post("/enforce", json=review(pod())).status_code == 200
            assert kept.post("/enforce", json=review(pod())).status_code == 200
        with pytest.raises(httpx.ConnectError), client(running, first) as late:
            late.post("/enforce", json=review(pod()))


def test_told_to_end_it_finishes_what_it_was_asked(folder: Path, material: Material) -> None:
    """Half of the question has arrived when it is told to end."""
    asked = json.dumps(review(pod())).encode()
    with running_admission(*options(folder)) as running:
        context = ssl.create_default_context(cadata=material.bundle.decode())
        port = int(running.url.rpartition(":")[2])
        with context.wrap_socket(socket.create_connection(("127.0.0.1", port)), server_hostname="localhost") as opened:
            head = f"POST /enforce HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(asked)}\r\n\r\n"
            opened.sendall(head.encode() + asked[:100])
            # The other connection is answered after these bytes were read.
            health(running, "/readyz")
            running.popen.send_signal(signal.SIGTERM)
            running.until("told to end")
            opened.sendall(asked[100:])
            opened.settimeout(PATIENCE_SECONDS)
            got = b""
            while part := opened.recv(65536):
                got += part
        assert got.startswith(b"HTTP/1.1 200") and b'"allowed":true' in got
        assert running.popen.wait(PATIENCE_SECONDS) == 0


def test_told_to_end_it_answers_on_for_a_while_and_lets_go_of_connections(folder: Path, material: Material) -> None:
    """As long as the API server may still send to it; each connection ends after an answer and not before one."""
    with running_admission(*options(folder), FLOODPLAIN_DRAIN_SECONDS="3600") as running:
        with client(running, material) as opened:
            assert "connection" not in opened.post("/enforce", json=review(pod())).headers
            running.popen.send_signal(signal.SIGTERM)
            running.until("told to end")
            assert health(running, "/readyz").status_code == 503
            for _ in range(2):
                late = opened.post("/enforce", json=review(pod()))
                assert (late.status_code, late.headers["connection"]) == (200, "close")
        assert running.end() == 0


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({"tls.crt": b"nothing"}, "this is no certificate in PEM"),
        ({"tls.key": b"nothing"}, "certificate and key cannot be served with"),
        ({"tls.key": None}, "tls.key: does not exist"),
    ],
)
def test_a_pair_that_cannot_be_served_with_keeps_it_from_starting(
    files: dict[str, bytes | None], told: str, tmp_path: Path
) -> None:
    write_pair(tmp_path)
    for name, content in files.items():
        if content is None:
            (tmp_path / name).unlink()
        else:
            (tmp_path / name).write_bytes(content)
    assert told in ended_with(*options(tmp_path))


def ended_with(*arguments: str) -> str:
    """What it says when it does not start."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("FLOODPLAIN_", "KUBERNETES_"))}
    command = [sys.executable, "-m", "floodplain", "serve", "admission", *arguments]
    done = subprocess.run(command, env=kept, capture_output=True, text=True, timeout=PATIENCE_SECONDS)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    return done.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((), "give --certificate and --key to serve without one, or --kubeconfig"),
        (("--kubeconfig", "no-such-file"), "no-such-file: no way to a cluster"),
    ],
)
def test_without_a_way_to_a_certificate_it_says_which_there_are(arguments: tuple[str, ...], told: str) -> None:
    assert told in ended_with(*arguments)


@pytest.mark.parametrize("content", [b"a: b: c", b"\xff\xfe\0", b"just text", b"[]", b"contexts: 5", b""])
def test_a_kubeconfig_of_any_content_is_told_in_one_line(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    path.write_bytes(content)
    with pytest.raises(ClusterAccessError) as caught:
        cluster_access(str(path), None)
    (line,) = str(caught.value).splitlines()
    assert line.startswith(f"{path}: no way to a cluster (") and line.endswith("); mend it, or name another")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"certificate": "a"}, "key: is needed beside the other file; give certificate and key, or neither"),
        ({"key": "a"}, "certificate: is needed beside the other file"),
        ({"certificate": "a", "key": "b", "kubeconfig": "c"}, "--kubeconfig: 'c' cannot be used with a certificate of"),
        ({"dns_name": ("a b",)}, "'a b' is no DNS name or address; write one such as admission.example"),
        ({"namespace": "../kube-system"}, "--namespace: '../kube-system'"),
        ({"port": 70000}, "--port: 70000 should be less than or equal to 65535"),
    ],
)
def test_settings_that_contradict_are_told_by_the_names_of_options(given: dict[str, Any], told: str) -> None:
    with pytest.raises(ServiceSettingsError) as caught:
        service_settings(AdmissionSettings, {}, given)
    assert told in str(caught.value)


def test_a_fault_of_ours_is_logged_with_its_place_and_answered(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any) -> Any:
        raise ZeroDivisionError("of a test")

    monkeypatch.setattr("floodplain.admission.review.decide", fails)
    stream = io.StringIO()
    logs.configure(stream)
    settings = AdmissionSettings(pools=str(folder / "pools.json"))
    source, metrics = PoolsSource(settings), ServiceMetrics()
    source.look()
    app = admission_app(source, settings, metrics, AdmissionMetrics(metrics.registry), Draining())

    async def ask() -> httpx.Response:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://in.process") as opened:
            return await opened.post("/enforce", json=review(pod()))

    response = asyncio.run(ask()).json()["response"]
    assert response["allowed"] is False and "ZeroDivisionError" in response["status"]["message"]
    fault = json.loads(stream.getvalue().splitlines()[0])
    assert fault["event"] == "fault" and fault["exception"][0]["frames"][-1]["name"] == "fails"


def statuses(door: httpx.Client, body: bytes, *, callers: int, each: int) -> list[int]:
    """What callers at once are answered."""
    found: list[int] = []

    def ask() -> None:
        for _ in range(each):
            found.append(door.post("/enforce", content=body).status_code)

    threads = [threading.Thread(target=ask) for _ in range(callers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def test_many_questions_at_once_are_all_answered(door: httpx.Client) -> None:
    assert statuses(door, json.dumps(review(pod())).encode(), callers=8, each=10) == [200] * 80


def test_large_pods_at_once_do_not_fill_the_memory(process: RunningAdmission, door: httpx.Client) -> None:
    """The component gives a pod 256 MiB."""
    large = pod(annotations={"floodplain.dev/engine": "odm", "floodplain.dev/images": "500", "note": "x" * 3_500_000})
    assert statuses(door, json.dumps(review(large)).encode(), callers=60, each=1) == [200] * 60
    peak = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{process.popen.pid}/status").read_text())
    assert peak is not None and int(peak[1]) < 200 * 1024
