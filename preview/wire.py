"""Values as they travel between a program and the engine, turned into plain Python and back.

Unknown values become `UNKNOWN`, secrets `{SECRET: value}`, references to resources `{RESOURCE: urn}`, files
`{ASSET: {...}}`; 3.0 becomes 3 again, for the wire knows doubles only. Works on the protobuf messages
themselves: the SDK's own reader would build every referenced resource anew on the wrong event loop.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from google.protobuf import struct_pb2  # type: ignore[import-untyped]
from pulumi.runtime import rpc

UNKNOWN = "<computed>"
SECRET = "<secret>"
RESOURCE = "<resource>"
ASSET = "<asset>"

RAW_UNKNOWN: str = rpc.UNKNOWN
"""How the unknown looks on the wire itself, for those who read it there."""

_SIGNATURE = rpc._special_sig_key
_FILES = (rpc._special_asset_sig, rpc._special_archive_sig)


def decode(struct: struct_pb2.Struct) -> dict[str, Any]:
    """The properties of a request, keys sorted."""
    return {key: _decode(struct.fields[key]) for key in sorted(struct.fields)}


def _decode(value: struct_pb2.Value) -> Any:
    kind = value.WhichOneof("kind")
    if kind == "string_value":
        return UNKNOWN if value.string_value == rpc.UNKNOWN else value.string_value
    if kind == "number_value":
        number = value.number_value
        return int(number) if number.is_integer() else number
    if kind == "bool_value":
        return value.bool_value
    if kind == "list_value":
        return [_decode(item) for item in value.list_value.values]
    if kind == "struct_value":
        return _decode_struct(value.struct_value)
    return None


def _decode_struct(struct: struct_pb2.Struct) -> Any:
    signature = struct.fields[_SIGNATURE].string_value if _SIGNATURE in struct.fields else None
    if signature is None:
        return decode(struct)
    plain = {key: _decode(item) for key, item in sorted(struct.fields.items()) if key != _SIGNATURE}
    if signature == rpc._special_secret_sig:
        return {SECRET: plain.get("value")}
    if signature == rpc._special_resource_sig:
        return {RESOURCE: plain["urn"]}
    if signature in _FILES:
        return {ASSET: plain}
    if signature == rpc._special_output_value_sig:
        inner = plain.get("value", UNKNOWN)
        return {SECRET: inner} if plain.get("secret") else inner
    return plain


def encode(values: Mapping[str, Any]) -> struct_pb2.Struct:
    """Plain values as properties of an answer. `UNKNOWN` and `{SECRET: value}` are understood."""
    struct = struct_pb2.Struct()
    for key, value in values.items():
        struct.fields[key].CopyFrom(_encode(value))
    return struct


def _encode(value: Any) -> struct_pb2.Value:
    if value is None:
        return struct_pb2.Value(null_value=struct_pb2.NULL_VALUE)
    if isinstance(value, bool):
        return struct_pb2.Value(bool_value=value)
    if isinstance(value, int | float):
        return struct_pb2.Value(number_value=value)
    if isinstance(value, str):
        return struct_pb2.Value(string_value=rpc.UNKNOWN if value == UNKNOWN else value)
    if isinstance(value, Mapping):
        if set(value) == {SECRET}:
            marked = {_SIGNATURE: rpc._special_secret_sig, "value": value[SECRET]}
            return struct_pb2.Value(struct_value=encode(marked))
        return struct_pb2.Value(struct_value=encode(value))
    if isinstance(value, Sequence):
        return struct_pb2.Value(list_value=struct_pb2.ListValue(values=[_encode(item) for item in value]))
    raise TypeError(f"{type(value).__name__} cannot travel to a program; use plain JSON values")


def reveal(value: Any) -> Any:
    """The same value with the secret marks taken off. For deriving and checking, never for printing."""
    if isinstance(value, Mapping):
        if set(value) == {SECRET}:
            return reveal(value[SECRET])
        return {key: reveal(item) for key, item in value.items()}
    if isinstance(value, list):
        return [reveal(item) for item in value]
    return value


def conceal(value: Any) -> Any:
    """The same value with what is secret replaced by the mark. For printing."""
    if isinstance(value, Mapping):
        if set(value) == {SECRET}:
            return SECRET
        return {key: conceal(item) for key, item in value.items()}
    if isinstance(value, list):
        return [conceal(item) for item in value]
    return value
