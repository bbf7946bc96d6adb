"""Which operation does a REST call mean? Read from botocore's own service model, so that no path is written here."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from urllib.parse import unquote

import botocore.session  # type: ignore[import-untyped]


@dataclass(frozen=True)
class Operation:
    """Its name and the parts of the path that it names, decoded."""

    name: str
    path: Mapping[str, str]


def operation(service: str, method: str, raw_path: str) -> Operation | None:
    """The operation of `service` behind a method and a path that is still percent-encoded; None for none."""
    for name, wanted, pattern in _routes(service):
        if method == wanted and (match := pattern.fullmatch(raw_path.partition("?")[0])):
            return Operation(name, {key: unquote(value) for key, value in match.groupdict().items()})
    return None


@cache
def _routes(service: str) -> tuple[tuple[str, str, re.Pattern[str]], ...]:
    model = botocore.session.get_session().get_service_model(service)
    found = []
    for name in model.operation_names:
        http = model.operation_model(name).http
        pattern = "".join(
            f"(?P<{part[1:-1].rstrip('+')}>.+)"
            if part.endswith("+}")
            else f"(?P<{part[1:-1]}>[^/]+)"
            if part.startswith("{")
            else re.escape(part)
            for part in re.split(r"(\{[^}]+\})", http["requestUri"].partition("?")[0])
        )
        found.append((name, http["method"], re.compile(f"{pattern}/?")))
    return tuple(found)
