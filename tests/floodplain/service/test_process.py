"""`floodplain serve sizing` as a real process: start, files, signals, ports, bodies that are too large."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from floodplain.pools import dump
from floodplain.sizing.default_pool import default_pool

START = Callable[..., Any]


def test_it_starts_without_configuration_and_says_that_it_plans_for_an_example(start: START) -> None:
    process = start()
    assert process.url.startswith("http://127.0.0.1:")
    said = [line["event"] for line in process.seen]
    assert said == [
        "pools",
        "plans are for the example pool: set FLOODPLAIN_POOLS or --pools to name yours",
        "listening",
    ]
    assert httpx.post(f"{process.url}/v1/plans", json={"images": 500}).json()["pool"] == "example"
    assert "example pool" in httpx.get(process.url).text
    assert "example pool" in httpx.get(f"{process.url}/readyz").json()["detail"]
    process.popen.send_signal(signal.SIGTERM)
    assert process.status() == 0


def test_a_request_that_runs_when_the_process_is_told_to_end_is_answered(start: START) -> None:
    process = start()
    body = b'{"images": 500}'
    with socket.create_connection(("127.0.0.1", process.port), timeout=30) as connection:
        head = f"POST /v1/plans HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\nExpect: 100-continue\r\n\r\n"
        connection.sendall(head.encode())
        # Asked for the body: the request runs.
        assert connection.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        process.popen.send_signal(signal.SIGTERM)
        process.until("told to end")
        _refused(process.port)
        connection.sendall(body)
        answer = b""
        while part := connection.recv(1 << 16):
            answer += part
    head_of_answer, _, content = answer.partition(b"\r\n\r\n")
    assert head_of_answer.startswith(b"HTTP/1.1 200 ")
    assert b"connection: close" in head_of_answer
    assert json.loads(content)["images"] == 500
    assert process.status() == 0


def test_while_it_drains_it_answers_and_says_that_it_is_not_ready_and_a_second_signal_ends_it(start: START) -> None:
    process = start(FLOODPLAIN_DRAIN_SECONDS="600")
    assert httpx.get(f"{process.url}/readyz").status_code == 200
    process.popen.send_signal(signal.SIGTERM)
    process.until("told to end")
    ready = httpx.get(f"{process.url}/readyz")
    assert (ready.status_code, ready.json()["detail"]) == (503, "ends: no new requests, please")
    assert httpx.get(f"{process.url}/healthz").status_code == 200
    assert httpx.post(f"{process.url}/v1/plans", json={"images": 500}).status_code == 200
    process.popen.send_signal(signal.SIGTERM)
    assert process.status() == 0


def test_a_request_that_never_ends_is_cut_off_after_the_grace(start: START) -> None:
    process = start(FLOODPLAIN_GRACE_SECONDS="1")
    with socket.create_connection(("127.0.0.1", process.port), timeout=30) as connection:
        connection.sendall(b"POST /v1/plans HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n")
        assert connection.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        process.popen.send_signal(signal.SIGTERM)
        assert process.status() == 0


def test_a_port_that_is_taken_is_one_line_and_status_1() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = subprocess.run(
            [sys.executable, "-m", "floodplain", "serve", "sizing", "--port", str(port)],
            capture_output=True,
            text=True,
            timeout=60,
        )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f"127.0.0.1 port {port}: cannot be listened on (Address already in use);"
        " end what uses it, or name another --port\n"
    )


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--host", "no.such.host.invalid"], "'no.such.host.invalid': is no address of this machine"),
        (["--host", "192.0.2.1"], "192.0.2.1 port 8080: cannot be listened on"),
        (["--port", "70000"], "--port: 70000 should be less than or equal to 65535\n"),
    ],
)
def test_an_address_that_cannot_be_listened_on_is_one_line_and_status_1(arguments: list[str], told: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "floodplain", "serve", "sizing", *arguments], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(told)
    assert done.stderr.count("\n") == 1


def test_it_starts_with_a_bad_file_and_recovers_when_the_file_is_mended(start: START, tmp_path: Path) -> None:
    file = tmp_path / "pools.json"
    file.write_text("{")
    process = start("--pools", str(file), FLOODPLAIN_POLL_SECONDS="0.05")
    assert process.seen[0]["event"] == "files are not good"
    assert process.seen[0]["serving"] == "nothing"
    assert httpx.get(f"{process.url}/readyz").status_code == 503
    assert httpx.post(f"{process.url}/v1/plans", json={"images": 500}).status_code == 503
    file.write_bytes(dump([default_pool().model_copy(update={"name": "mended"})]))
    assert process.until("pools")["names"] == ["mended"]
    process.until("files are good again")
    assert httpx.post(f"{process.url}/v1/plans", json={"images": 500}).json()["pool"] == "mended"
    file.write_text("{")
    assert process.until("files are not good")["serving"] == "the last good ones"
    assert httpx.post(f"{process.url}/v1/plans", json={"images": 500}).json()["pool"] == "mended"
    assert httpx.get(f"{process.url}/readyz").json()["problem"].startswith(f"{file}: ")


def test_ten_megabytes_are_refused_and_the_next_request_is_answered(start: START) -> None:
    process = start()
    body = b"x" * (10 << 20)
    told = httpx.post(f"{process.url}/v1/plans", content=body, headers={"expect": "100-continue"})
    assert told.status_code == 413
    chunked = httpx.post(f"{process.url}/v1/plans", content=iter([body[: 200 << 10], body[: 200 << 10]]))
    assert chunked.status_code == 413
    assert httpx.post(f"{process.url}/v1/plans", json={"images": 500}).status_code == 200


def test_a_head_that_never_ends_is_cut_off(start: START) -> None:
    process = start()
    with socket.create_connection(("127.0.0.1", process.port), timeout=30) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-Long: ")
        answer = b""
        try:
            for _ in range(1000):
                connection.sendall(b"x" * (16 << 10))
            answer = connection.recv(1000)
        except (BrokenPipeError, ConnectionResetError):
            pass
    assert answer == b"" or answer.startswith(b"HTTP/1.1 400 ")
    assert httpx.get(f"{process.url}/healthz").status_code == 200


def _refused(port: int) -> None:
    """Wait until new connections are refused."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=5).close()
        except ConnectionRefusedError:
            return
        time.sleep(0.02)
    raise AssertionError("connections are still taken")
