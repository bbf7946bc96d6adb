"""The address of a pushgateway, and which namespace it is in where the address says so.

Without a password: it would stand in the stack's state and in a pod's command line, for everybody to read.
"""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator

from floodplain.problem import RuleError

_ADDRESS = re.compile(r"(?P<scheme>https?)://(?P<host>[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?)(:(?P<port>[0-9]+))?/?")
_IN_CLUSTER = re.compile(r"[^.]+\.(?P<namespace>[^.]+)\.svc(\..+)?")
_PORTS = {"http": 80, "https": 443}
_PORT_MOST = 65535
_REMEDY = "write one such as http://pushgateway.monitoring.svc:9091"


def port_of(address: str) -> int:
    """The port that an address names, or that its scheme stands for."""
    found = _match(address)
    return int(found["port"] or _PORTS[found["scheme"]])


def namespace_of(address: str) -> str | None:
    """Namespace of the Service that an address names in full (`name.namespace.svc`). None for any other host: with two
    names, `gateway.example`, it may be outside as well."""
    found = _IN_CLUSTER.fullmatch(_match(address)["host"].lower())
    return found["namespace"] if found else None


def _match(address: str) -> re.Match[str]:
    found = _ADDRESS.fullmatch(address)
    if not found or not 0 < int(found["port"] or 1) <= _PORT_MOST:
        raise RuleError("is not the address of a pushgateway: http or https, a host, and its port", _REMEDY)
    return found


def _address(text: str) -> str:
    if "@" in text:
        # What stands before it is not shown again.
        shown = "...@" + text.rpartition("@")[2]
        raise RuleError("has a user or a password in it, which anybody could read in the pod", _REMEDY, (), shown)
    _match(text)
    return text


PushAddress = Annotated[str, AfterValidator(_address)]
