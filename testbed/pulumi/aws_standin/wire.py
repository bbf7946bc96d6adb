"""Properties on the wire and as plain Python. The engine takes secret marks off before it asks, and puts them back.

(It does so for a provider that says it does not accept secrets, as the real one does.)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from google.protobuf import json_format, struct_pb2  # type: ignore[import-untyped]
from pulumi.runtime.rpc import UNKNOWN

Properties = Mapping[str, Any]

__all__ = ["UNKNOWN", "Properties", "has_unknown", "plain", "struct"]


def plain(properties: struct_pb2.Struct) -> dict[str, Any]:
    """As Python; whole numbers as int, since the wire knows doubles only."""
    found: dict[str, Any] = _whole(json_format.MessageToDict(properties))
    return found


def struct(properties: Properties) -> struct_pb2.Struct:
    """As a message. Nulls are left out: to a provider they are the same as nothing."""
    message = struct_pb2.Struct()
    message.update({key: value for key, value in properties.items() if value is not None})
    return message


def has_unknown(value: Any) -> bool:
    """Whether any part of it becomes known only when another resource is made."""
    if isinstance(value, Mapping):
        return any(has_unknown(item) for item in value.values())
    if isinstance(value, list):
        return any(has_unknown(item) for item in value)
    return bool(value == UNKNOWN)


def _whole(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _whole(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_whole(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
