"""Which loopback port may a process take? One that nobody uses and that no other testbed has chosen.

Asking the kernel for a free port and closing it again leaves a moment in which another testbed gets the same answer.
So each port that was handed out stays reserved by a lock on a file until this Python process ends, however it ends.
"""

import fcntl
import os
import random
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

from testbed.engine_error import EngineError

# Below the kernel's range for outgoing connections (ip_local_port_range begins at 32768), so that none of those takes a
# port between our choice and the moment in which the engine listens.
FIRST, LAST = 20000, 32000

_locks: list[int] = []


def free_port() -> int:
    """A TCP port on 127.0.0.1 that is free now and reserved for this process; EngineError when none is left."""
    for port in _candidates():
        descriptor = _lock(port)
        if descriptor is None:
            continue
        if _is_free(port):
            _locks.append(descriptor)
            return port
        os.close(descriptor)
    raise EngineError(
        f"no free TCP port on 127.0.0.1 between {FIRST} and {LAST}: end what occupies them (`ss -ltnp` tells)"
    )


def _candidates() -> Iterator[int]:
    ports = list(range(FIRST, LAST))
    random.shuffle(ports)
    return iter(ports)


def _lock(port: int) -> int | None:
    folder = Path(tempfile.gettempdir()) / f"floodplain-ports-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    # Inherited by no child: an engine that outlives us must not keep the reservation.
    descriptor = os.open(folder / str(port), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor


def _is_free(port: int) -> bool:
    with socket.socket() as listener:
        try:
            listener.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
