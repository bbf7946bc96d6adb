"""The certificate of an open door changes between handshakes, and only by a pair that can be served with."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from floodplain.service.authority import Material, Step, carry_out
from floodplain.service.serving_tls import ServingTls

NOW = datetime.now(UTC)
FIRST, SECOND = (carry_out(Step.NEW, None, ("localhost", "127.0.0.1"), NOW) for _ in range(2))


@pytest.fixture
def tls() -> ServingTls:
    return ServingTls()


@pytest.fixture
def port(tls: ServingTls) -> Iterator[int]:
    """Answers each connection with what it was sent, for as long as it lasts."""
    listening = socket.create_server(("127.0.0.1", 0))

    def talk(connection: socket.socket) -> None:
        try:
            with tls.context.wrap_socket(connection, server_side=True) as secured:
                while part := secured.recv(100):
                    secured.sendall(part)
        except OSError:
            pass

    def run() -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            threading.Thread(target=talk, args=(connection,), daemon=True).start()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    yield listening.getsockname()[1]
    listening.shutdown(socket.SHUT_RDWR)
    listening.close()
    thread.join()


def call(port: int, trusted: Material, name: str = "localhost", **versions: ssl.TLSVersion) -> ssl.SSLSocket:
    context = ssl.create_default_context(cadata=trusted.bundle.decode())
    for side, version in versions.items():
        setattr(context, f"{side}_version", version)
    return context.wrap_socket(socket.create_connection(("127.0.0.1", port), timeout=10), server_hostname=name)


def says(connection: ssl.SSLSocket, text: bytes) -> bytes:
    connection.sendall(text)
    return connection.recv(100)


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1"])
@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_it_serves_with_the_pair_it_was_given_also_to_callers_that_name_no_host(
    name: str, version: ssl.TLSVersion, tls: ServingTls, port: int
) -> None:
    tls.adopt(FIRST.certificate, FIRST.key)
    with call(port, FIRST, name, minimum=version, maximum=version) as connection:
        assert says(connection, b"hello") == b"hello"


def test_new_handshakes_get_the_new_certificate_and_running_connections_go_on(tls: ServingTls, port: int) -> None:
    tls.adopt(FIRST.certificate, FIRST.key)
    with call(port, FIRST) as before:
        assert says(before, b"one") == b"one"
        tls.adopt(SECOND.certificate, SECOND.key)
        with call(port, SECOND) as after:
            assert says(after, b"two") == b"two"
        assert says(before, b"three") == b"three"
        with pytest.raises(ssl.SSLCertVerificationError):
            call(port, FIRST)


def test_without_a_certificate_a_handshake_is_refused(tls: ServingTls, port: int) -> None:
    with pytest.raises(OSError):
        call(port, FIRST)


@pytest.mark.parametrize(
    ("certificate", "key", "told"),
    [
        (FIRST.certificate, SECOND.key, "key values mismatch"),
        (b"nothing", FIRST.key, ""),
        (FIRST.certificate, b"nothing", ""),
        (b"", b"", ""),
    ],
)
def test_a_pair_that_does_not_fit_is_refused_and_the_one_before_serves_on(
    certificate: bytes, key: bytes, told: str, tls: ServingTls, port: int
) -> None:
    tls.adopt(FIRST.certificate, FIRST.key)
    with pytest.raises(ValueError, match="certificate and key cannot be served with") as caught:
        tls.adopt(certificate, key)
    assert told in str(caught.value) and "PRIVATE" not in str(caught.value)
    assert tls.certificate == FIRST.certificate
    with call(port, FIRST) as connection:
        assert says(connection, b"hello") == b"hello"


def test_a_key_is_left_in_no_file_and_no_open_descriptor(tls: ServingTls) -> None:
    tls.adopt(FIRST.certificate, FIRST.key)
    opened = [str(one.readlink()) for one in Path("/proc/self/fd").iterdir() if one.is_symlink() and one.exists()]
    assert [one for one in opened if "floodplain-tls" in one] == []


def test_old_versions_of_tls_are_refused(tls: ServingTls) -> None:
    assert tls.context.minimum_version is ssl.TLSVersion.TLSv1_2
