"""What else is in a pod beside the container that is sized. Pure figures; reading pods is admission's."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PodRest:
    """Sums over the other containers that run beside the sized one (sidecars included), in bytes and millicores.

    What init containers ask one after the other, before it runs, is `init_*`: the largest of them.
    """

    request_bytes: int = 0
    limit_bytes: int = 0
    """Memory limits; a container without one counts with its request, see `unlimited`."""
    cpu_millicores: int = 0
    ephemeral_bytes: int = 0
    """Of limits or, where there is none, of requests: kubelet evicts by the sum of limits."""
    init_request_bytes: int = 0
    init_limit_bytes: int = 0
    init_cpu_millicores: int = 0
    init_ephemeral_bytes: int = 0
    unlimited: tuple[str, ...] = ()
    """Names of containers without a memory limit: nothing contains those."""
