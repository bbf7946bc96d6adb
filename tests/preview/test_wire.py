from __future__ import annotations

from typing import Any

import pytest
from google.protobuf import struct_pb2  # type: ignore[import-untyped]
from hypothesis import given, settings
from hypothesis import strategies as st
from pulumi.runtime import rpc

from preview import wire

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
    | st.just(wire.UNKNOWN),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=60)
@given(st.dictionaries(st.text(max_size=5), VALUES, max_size=4))
def test_whatever_goes_out_comes_back_the_same(values: dict[str, Any]) -> None:
    assert wire.decode(wire.encode(values)) == values


@settings(max_examples=30)
@given(VALUES)
def test_a_secret_comes_back_marked_and_can_be_opened_or_hidden(value: Any) -> None:
    back = wire.decode(wire.encode({"a": [{wire.SECRET: value}]}))
    assert back == {"a": [{wire.SECRET: value}]}
    assert wire.reveal(back) == {"a": [value]}
    assert wire.conceal(back) == {"a": [wire.SECRET]}


def test_whole_numbers_are_integers_again_and_keys_are_sorted() -> None:
    struct = struct_pb2.Struct()
    struct.update({"b": 3.0, "a": 2.5})
    back = wire.decode(struct)
    assert list(back.items()) == [("a", 2.5), ("b", 3)]
    assert isinstance(back["b"], int)


@pytest.mark.parametrize(
    ("signature", "body", "expected"),
    [
        (rpc._special_resource_sig, {"urn": "urn:x", "id": "1"}, {wire.RESOURCE: "urn:x"}),
        (rpc._special_asset_sig, {"text": "hello"}, {wire.ASSET: {"text": "hello"}}),
        (rpc._special_output_value_sig, {"value": 1, "secret": True}, {wire.SECRET: 1}),
        (rpc._special_output_value_sig, {}, wire.UNKNOWN),
    ],
)
def test_marked_values_of_the_protocol_are_understood(signature: str, body: dict[str, Any], expected: Any) -> None:
    struct = struct_pb2.Struct()
    struct.update({"it": {rpc._special_sig_key: signature, **body}})
    assert wire.decode(struct) == {"it": expected}


def test_a_value_that_cannot_travel_is_refused() -> None:
    with pytest.raises(TypeError, match="object cannot travel to a program; use plain JSON values"):
        wire.encode({"a": object()})
