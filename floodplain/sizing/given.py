"""What the user has set already on the container that is sized. A plan keeps it. Pure figures."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Given:
    """None is what the user left to us; bytes and millicores."""

    limit_bytes: int | None = None
    """The memory limit. The request then is 1 MiB below: the API server makes request of a bare limit anyway."""
    least_request_bytes: int | None = None
    """A memory request without a limit: the plan may raise it, and sets the limit."""
    cpu_millicores: int | None = None
    cpu_limit_millicores: int | None = None
    ephemeral_bytes: int | None = None
