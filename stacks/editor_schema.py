"""The JSON schema of stack files, so that an editor completes keys and marks faults while one types.

Shapes come from `StackConfig`, descriptions from the component package's schema: neither is written twice.
`python -m stacks.editor_schema` prints it; stacks/schema.json holds it, and a test keeps it fresh.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from components.package import package_schema

from .config import PROJECT, SECRET_KEYS, StackConfig

Node = dict[str, Any]


def editor_schema() -> Node:
    """JSON schema (draft 2020-12) of a whole stack file."""
    shape = StackConfig.model_json_schema(by_alias=True)
    package = package_schema()
    definitions: Node = shape.pop("$defs", {})
    platform = package["resources"]["floodplain:index:Platform"]
    shape["properties"] = {key: node for key, node in shape["properties"].items() if key not in SECRET_KEYS}
    _describe(shape, {"properties": platform["inputProperties"]}, definitions, package["types"], set())
    keys: Node = {f"{PROJECT}:{key}": node for key, node in shape["properties"].items()}
    keys |= {
        f"{PROJECT}:{key}": {"description": platform["inputProperties"][key]["description"]}
        for key in sorted(SECRET_KEYS)
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A stack of floodplain",
        "type": "object",
        "required": ["config"],
        "properties": {
            "config": {
                "type": "object",
                "properties": keys,
                "required": [f"{PROJECT}:{key}" for key in shape["required"]],
                # Keys of other namespaces, such as pulumi:disable-default-providers, are not ours to judge.
                "patternProperties": {f"^(?!{PROJECT}:)": {}},
                "additionalProperties": False,
            }
        },
        "$defs": definitions,
    }


def _describe(node: Node, source: Node, definitions: Node, types: Node, done: set[str]) -> None:
    """Put the component schema's descriptions on the matching properties, following both schemas' references."""
    for key, description in source.get("properties", {}).items():
        target = node.get("properties", {}).get(key)
        if target is None:
            continue
        target.pop("title", None)
        if "description" in description:
            target["description"] = description["description"]
        for inner in _references(target):
            name = inner.rsplit("/", 1)[-1]
            for reference in _references(description):
                if name not in done:
                    done.add(name)
                    definitions[name].pop("title", None)
                    token = reference.removeprefix("#/types/")
                    _describe(definitions[name], types.get(token, {}), definitions, types, done)


def _references(node: Any) -> Iterator[str]:
    """Every `$ref` in a property's own shape, not below it."""
    if isinstance(node, dict):
        if "$ref" in node:
            yield node["$ref"]
        for key in ("items", "additionalProperties", "anyOf", "allOf", "oneOf"):
            yield from _references(node.get(key))
    elif isinstance(node, list):
        for item in node:
            yield from _references(item)


def text() -> str:
    """The schema as it stands in stacks/schema.json."""
    return json.dumps(editor_schema(), indent=2, sort_keys=True) + "\n"


if __name__ == "__main__":
    print(text(), end="")
