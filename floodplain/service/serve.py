"""Runs apps on addresses until the process is told to end: uvicorn, signals, draining. Edge.

Told to end (SIGTERM, SIGINT) a process says that it is not ready, goes on for a while, refuses connections, finishes
what runs and exits with 0. A second signal ends it at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import math
import signal
import socket
import ssl
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import uvicorn
import uvloop

from floodplain.service.http_heads import BoundedHeads
from floodplain.service.logs import logger
from floodplain.service.readiness import Draining

_CONNECTIONS = 1024
"""Idle ones count; each costs some 30 KiB."""
_KEEP_ALIVE_SECONDS = 75
"""A caller that keeps connections seldom meets one that is just being closed."""


class ServeError(RuntimeError):
    """An address cannot be listened on. `str()` says which, why and what to do."""


@dataclass(frozen=True)
class Door:
    """An app and the socket it answers on, with TLS if there is a context (whose certificates may be changed later)."""

    app: Any
    socket: socket.socket
    tls: ssl.SSLContext | None = None
    keep_alive_seconds: int = _KEEP_ALIVE_SECONDS


def listen(host: str, port: int, option: str = "--port") -> socket.socket:
    """A listening socket. Raises ServeError, which names `option` as the way out."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (OSError, UnicodeError) as error:
        raise ServeError(f"{host!r}: is no address of this machine ({_reason(error)}); name another --host") from error
    made = socket.socket(family, kind, protocol)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6 and address[0] == "::":
            # All addresses are meant, IPv4's too.
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        made.bind(address)
        made.listen(2048)
    except OSError as error:
        made.close()
        raise ServeError(
            f"{host} port {port}: cannot be listened on ({_reason(error)}); end what uses it, or name another {option}"
        ) from error
    return made


def url(door: Door) -> str:
    """Where to find a door, for the log."""
    host, port = door.socket.getsockname()[:2]
    return f"{'https' if door.tls else 'http'}://{f'[{host}]' if ':' in host else host}:{port}"


def serve(doors: Sequence[Door], draining: Draining, *, drain_seconds: float, grace_seconds: float) -> None:
    """Answer until told to end. Returns when everything has been answered or the grace is over."""
    # What is loaded stays: looked through at each full collection it would cost some 20 ms every few seconds.
    gc.collect()
    gc.freeze()
    # A chart is drawn in a thread: the loop shall not wait 5 ms for each turn meanwhile.
    sys.setswitchinterval(0.001)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(doors, draining, drain_seconds, grace_seconds))


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals are the process's, not one server's."""
        yield


async def _serve(doors: Sequence[Door], draining: Draining, drain_seconds: float, grace_seconds: float) -> None:
    log = logger()
    told, at_once = asyncio.Event(), asyncio.Event()

    def on_signal(name: str) -> None:
        log.info("told to end", signal=name, again=told.is_set())
        draining.begun = True
        (at_once if told.is_set() else told).set()

    loop = asyncio.get_running_loop()
    for one in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(one, on_signal, one.name)
    servers = [_Server(_config(door, grace_seconds)) for door in doors]
    running = [
        asyncio.create_task(server.serve(sockets=[door.socket])) for server, door in zip(servers, doors, strict=True)
    ]
    waiting = asyncio.create_task(told.wait())
    await asyncio.wait([*running, waiting], return_when=asyncio.FIRST_COMPLETED)
    draining.begun = True
    if told.is_set():
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(at_once.wait(), drain_seconds)
    waiting.cancel()
    for server in servers:
        server.should_exit, server.force_exit = True, at_once.is_set()
    watching = asyncio.create_task(_force(servers, at_once))
    await asyncio.gather(*running)
    watching.cancel()
    log.info("ended")


async def _force(servers: Sequence[_Server], at_once: asyncio.Event) -> None:
    await at_once.wait()
    for server in servers:
        server.force_exit = True


def _config(door: Door, grace_seconds: float) -> uvicorn.Config:
    tls = door.tls
    return uvicorn.Config(
        door.app,
        http=BoundedHeads,
        ws="none",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        limit_concurrency=_CONNECTIONS,
        timeout_keep_alive=door.keep_alive_seconds,
        timeout_graceful_shutdown=max(1, math.ceil(grace_seconds)),
        ssl_context_factory=None if tls is None else lambda config, default: tls,
    )


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
