"""How a Pulumi plugin comes up: listen on a free port, say it on the first line, end with the engine.

For the two test doubles. Real plugins bring their own.
"""

import os
import signal
import threading
import time
from concurrent import futures
from types import FrameType
from typing import Protocol

import grpc  # type: ignore[import-untyped]

LARGEST_MESSAGE = 400 * 1024 * 1024
"""What the engine allows: states with many resources pass gRPC's default of 4 MiB."""


class Plugin(Protocol):
    """Something that serves."""

    def register(self, server: grpc.Server) -> None:
        """Add its services to the server."""

    def close(self) -> None:
        """End what it started."""


def serve(plugin: Plugin) -> None:
    """Serve until the engine says so, or has gone without a word."""
    options = [("grpc.max_receive_message_length", LARGEST_MESSAGE), ("grpc.max_send_message_length", LARGEST_MESSAGE)]
    server = grpc.server(futures.ThreadPoolExecutor(32), options=options)
    plugin.register(server)
    port = server.add_insecure_port("127.0.0.1:0")
    ended = threading.Event()

    def end(number: int, frame: FrameType | None) -> None:
        ended.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)
    threading.Thread(target=_watch_parent, args=(ended,), daemon=True).start()
    server.start()
    print(port, flush=True)
    ended.wait()
    plugin.close()
    server.stop(grace=None)


def _watch_parent(ended: threading.Event) -> None:
    """An engine that was killed ends nobody; its children then get another parent."""
    parent = os.getppid()
    while os.getppid() == parent:
        time.sleep(0.5)
    ended.set()
