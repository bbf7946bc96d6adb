"""What has to change in a webhook configuration so that the API server trusts admission's certificate. Pure."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

ENTRY_SUFFIX = ".sizing.floodplain.dev"
"""Ends the names of our entries, `observe` and `enforce`; others in the configuration are left alone."""


@dataclass(frozen=True)
class Entry:
    """One webhook of the configuration as the API server has it."""

    name: str
    ca_bundle: str | None = None
    """Base64, as in the object."""

    @property
    def ours(self) -> bool:
        return self.name.endswith(ENTRY_SUFFIX)


def changes(entries: Sequence[Entry], bundle: bytes) -> list[dict[str, Any]]:
    """A JSON Patch that gives our entries `bundle`; empty when they have it. It fails when entries have moved."""
    wanted = base64.b64encode(bundle).decode("ascii")
    operations: list[dict[str, Any]] = []
    for position, entry in enumerate(entries):
        if entry.ours and entry.ca_bundle != wanted:
            place = f"/webhooks/{position}"
            operations.append({"op": "test", "path": f"{place}/name", "value": entry.name})
            operations.append({"op": "add", "path": f"{place}/clientConfig/caBundle", "value": wanted})
    return operations
