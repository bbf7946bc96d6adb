"""Which loopback port may a process take? One that nobody uses and that no other testbed has chosen.

Asking the kernel for a free port and closing it again leaves a moment in which another testbed gets the same answer.
So each port that was handed out stays reserved until this Python process ends, however it ends: by a socket whose name
the kernel gives to one process only, and which is no file (unix(7), abstract sockets).
"""

import random
import socket

from testbed.engine_error import EngineError

# Below the kernel's range for outgoing connections (ip_local_port_range begins at 32768), so that none of those takes a
# port between our choice and the moment in which the engine listens.
FIRST, LAST = 20000, 32000

_reservations: list[socket.socket] = []


def free_port() -> int:
    """A TCP port on 127.0.0.1 that is free now and reserved for this process; EngineError when none is left."""
    candidates = list(range(FIRST, LAST))
    random.shuffle(candidates)
    for port in candidates:
        reservation = _reserve(port)
        if reservation is None:
            continue
        if _is_free(port):
            _reservations.append(reservation)
            return port
        reservation.close()
    raise EngineError(
        f"no free TCP port on 127.0.0.1 between {FIRST} and {LAST}: end what occupies them (`ss -ltnp` tells)"
    )


def _reserve(port: int) -> socket.socket | None:
    # Python's sockets are inherited by no child: an engine that outlives us must not keep the reservation.
    reservation = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        reservation.bind(f"\0floodplain-testbed-port-{port}")
    except OSError:
        reservation.close()
        return None
    return reservation


def _is_free(port: int) -> bool:
    with socket.socket() as listener:
        try:
            listener.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
