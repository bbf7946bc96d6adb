"""What is wrong with the shape of a component's inputs, before the SDK maps them to Python.

The SDK (3.272) drops keys that it does not know, and takes a map that is computed, or no map at all, for an empty one:
defaults would then apply in silence.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pulumi

from floodplain.problem import Problem, did_you_mean

Schema = Mapping[str, Any]


def input_problems(inputs: Mapping[str, Any], properties: Schema, types: Schema, path: str = "") -> Iterator[Problem]:
    """Unknown keys, maps and lists that are none, and computed values where a preview must see plain ones."""
    for key, value in inputs.items():
        where = f"{path}.{key}" if path else key
        if key not in properties:
            remedy = did_you_mean(key, properties) or f"known here: {', '.join(sorted(properties))}"
            yield Problem(where, "is not a known key", remedy)
        elif value is not None:
            yield from _value_problems(value, properties[key], types, where)


def _value_problems(value: Any, expected: Schema, types: Schema, where: str) -> Iterator[Problem]:
    made_of = _made_of(expected, types)
    if isinstance(value, pulumi.Output):
        if expected.get("plain") or made_of is not None:
            yield Problem(
                where, "is computed by another resource, or secret", "give a plain value, so that preview can check it"
            )
    elif made_of is not None or expected.get("type") == "object":
        if not isinstance(value, Mapping):
            yield Problem(where, "should be a map", "write its keys", value)
        elif made_of is not None:
            yield from input_problems(value, made_of, types, where)
    elif expected.get("type") == "array":
        if not isinstance(value, list | tuple):
            yield Problem(where, "should be a list", "write a list, also for one item", value)
            return
        for index, item in enumerate(value):
            yield from _value_problems(item, expected.get("items", {}), types, f"{where}[{index}]")


def _made_of(expected: Schema, types: Schema) -> Schema | None:
    """The properties of the object type that a property holds; None for enums and everything else."""
    reference = str(expected.get("$ref", ""))
    found = types.get(reference.removeprefix("#/types/"), {})
    properties: Schema | None = found.get("properties")
    return properties
