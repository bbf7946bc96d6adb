"""What was asked of AWS, by whom, and how did it end? One record a call, with the parameters that name resources."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from testbed.aws import query, rest

_CREDENTIAL = re.compile(r"Credential=([^/]+)/\d+/([^/]+)/([^/]+)/")
_LONG = 300
"""Longer values (user data, policies) are replaced by their length."""


@dataclass(frozen=True)
class Asked:
    """A request before it is answered. `caller` is the access key's id, which each client of the testbed has its own
    of; `parameters` are the form's fields, the JSON body or the path's parts with it."""

    caller: str
    service: str
    action: str
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Call:
    """A request and how it ended. `error` is AWS's error code; `front` says that the answer, or a part of it, is ours
    and not moto's."""

    caller: str
    service: str
    action: str
    parameters: Mapping[str, Any]
    status: int
    error: str
    front: bool
    milliseconds: int

    def as_json(self) -> str:
        return json.dumps(dataclasses.asdict(self))

    def line(self) -> str:
        """For a log that people read."""
        by = "front" if self.front else "moto"
        ended = f" {self.error}" if self.error else ""
        return f"{self.status} {self.caller} {self.service} {self.action} {by} {self.milliseconds} ms{ended}"


def asked(method: str, raw_path: str, headers: Mapping[str, str], body: bytes) -> Asked:
    """What a signed request asks for, whichever of AWS's protocols it speaks. Header names are lower case."""
    found = _CREDENTIAL.search(headers.get("authorization", ""))
    caller, service = (found[1], found[3]) if found else ("", "")
    target = headers.get("x-amz-target", "")
    if target:
        return Asked(caller, service, target.rpartition(".")[2], _json(body))
    if headers.get("content-type", "").startswith("application/x-www-form-urlencoded"):
        form = query.fields(body)
        return Asked(caller, service, form.pop("Action", ""), form)
    if service == "eks" and (named := rest.operation(service, method, raw_path)):
        return Asked(caller, service, named.name, {**_json(body), **named.path})
    return Asked(caller, service, f"{method} {raw_path}", _json(body))


def ended(asked: Asked, status: int, body: bytes, *, front: bool, milliseconds: int) -> Call:
    """The record of an answered request."""
    error = query.error_code(body) if status >= 400 else ""
    return Call(asked.caller, asked.service, asked.action, _short(asked.parameters), status, error, front, milliseconds)


def _json(body: bytes) -> dict[str, Any]:
    try:
        found = json.loads(body) if body else {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _short(parameters: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: f"({len(value)} characters)" if isinstance(value, str) and len(value) > _LONG else value
        for key, value in parameters.items()
    }
