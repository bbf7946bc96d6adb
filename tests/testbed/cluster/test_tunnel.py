"""The API server's way to kubelets on this machine."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from testbed.cluster.tunnel import tunnel
from testbed.ports import free_port


@pytest.fixture
def door() -> Iterator[str]:
    """The socket that the API server is told of."""
    with tunnel() as configuration:
        selections: Any = configuration["egressSelections"]
        yield selections[0]["connection"]["transport"]["uds"]["udsName"]


@pytest.fixture
def echo() -> Iterator[int]:
    """The port of a server that sends back what it gets, in capitals, and ends when nothing more comes."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                while some := connection.recv(100):
                    connection.sendall(some.upper())

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield server.getsockname()[1]


def connect(door: str, asked: str) -> tuple[socket.socket, bytes]:
    """A connection through the door, and what it was answered."""
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(20)
    connection.connect("\0" + door.removeprefix("@"))
    connection.sendall(asked.encode())
    answer = b""
    while not answer.endswith(b"\r\n\r\n"):
        more = connection.recv(1)
        assert more, answer
        answer += more
    return connection, answer


def test_the_api_server_is_told_where_it_is(door: str) -> None:
    with tunnel() as configuration:
        assert configuration["kind"] == "EgressSelectorConfiguration"
        assert [one["name"] for one in configuration["egressSelections"]] == ["cluster"]  # type: ignore[attr-defined]
    assert door.startswith("@floodplain-tunnel-")


def test_whatever_it_names_is_reached_at_this_machine_both_ways_until_either_ends(door: str, echo: int) -> None:
    connection, answer = connect(door, f"CONNECT node.example:{echo} HTTP/1.1\r\nHost: node.example:{echo}\r\n\r\n")
    with connection:
        assert answer == b"HTTP/1.1 200 Connection established\r\n\r\n"
        for word in (b"one", b"two"):
            connection.sendall(word)
            assert connection.recv(100) == word.upper()
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(100) == b""


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ("CONNECT n:{free} HTTP/1.1\r\n\r\n", b"Connection refused"),
        ("GET / HTTP/1.1\r\n\r\n", b"only CONNECT is known here"),
        ("CONNECT n HTTP/1.1\r\n\r\n", b"invalid literal"),
    ],
)
def test_what_cannot_be_reached_is_answered(door: str, asked: str, why: bytes) -> None:
    connection, answer = connect(door, asked.format(free=free_port()))
    with connection:
        assert answer.startswith(b"HTTP/1.1 502 ")
        assert why in answer


def test_several_connections_are_carried_side_by_side(door: str, echo: int) -> None:
    held, answer = connect(door, f"CONNECT n:{echo} HTTP/1.1\r\n\r\n")
    with held:
        refused, said = connect(door, f"CONNECT n:{free_port()} HTTP/1.1\r\n\r\n")
        refused.close()
        assert (answer[:12], said[:12]) == (b"HTTP/1.1 200", b"HTTP/1.1 502")
        held.sendall(b"still")
        assert held.recv(100) == b"STILL"
