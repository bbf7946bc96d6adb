"""Tables of a component's inputs, outputs and types, from the published package schema.

Every type has one home: the page of the first component that reaches it. Other pages link there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from components.package import package_schema
from docs.markdown_table import cell, code, table

Node = Mapping[str, Any]

PAGES = {
    "SwapNodePool": "swap-node-pool",
    "KarpenterController": "karpenter-controller",
    "Controllers": "controllers",
    "Guardrails": "guardrails",
    "SizingService": "sizing-service",
    "WorkerPools": "worker-pools",
    "Platform": "platform",
}
"""Component to the page that describes it, in the order of the docs."""


def inputs(component: str) -> str:
    """What the component takes."""
    shape = _resource(component)
    return _properties(shape["inputProperties"], shape.get("requiredInputs", []), component)


def outputs(component: str) -> str:
    """What the component gives back."""
    found = _resource(component).get("properties", {})
    return table(
        ("Output", "Type", "What it is"),
        ((code(name), _shape(node, component), node.get("description", "")) for name, node in found.items()),
    )


def types(component: str) -> str:
    """Every type whose home is this component's page, each under a heading of its own."""
    parts = []
    for name in (name for name, home in _homes().items() if home == component):
        node = _type_node(name)
        if _values_only(node):
            continue
        parts.append(f"### {name}\n\n{cell(node.get('description') or '')}\n\n{_body(node, component)}")
    return "\n".join(parts)


def _body(node: Node, component: str) -> str:
    if "enum" not in node:
        return _properties(node.get("properties", {}), node.get("required", []), component)
    rows = ((code(one["value"]), one.get("description") or "") for one in node["enum"])
    return table(("Value", "Meaning"), rows)


def _properties(found: Mapping[str, Node], required: list[str], component: str) -> str:
    return table(
        ("Key", "Type", "Required", "What it is"),
        (
            (code(name), _type(node, component), "yes" if name in required else "", node.get("description", ""))
            for name, node in found.items()
        ),
    )


def _type(node: Node, component: str) -> str:
    """The type in words. Values that other resources may compute are marked; the rest must be plain."""
    computed = not node.get("plain") or not _inner(node).get("plain", True)
    return f"{_shape(node, component)} (input)" if computed else _shape(node, component)


def _inner(node: Node) -> Node:
    """What a list or map holds; a stand-in that is plain for anything else."""
    if node.get("type") == "array":
        return dict(node["items"])
    inner = node.get("additionalProperties")
    return {"plain": False, **inner} if isinstance(inner, Mapping) and inner.get("type") else {"plain": True}


def _shape(node: Node, component: str) -> str:
    if "$ref" in node:
        name = node["$ref"].rsplit(":", 1)[-1]
        values = _type_node(name).get("enum", ())
        if _values_only(_type_node(name)):
            return " or ".join(code(one["value"]) for one in values)
        return _link(name, component)
    kind = node.get("type", "any")
    if kind == "array":
        return f"list of {_shape(node['items'], component)}"
    if kind == "object":
        inner = node.get("additionalProperties")
        return f"map of {_shape(inner, component)}" if inner and inner.get("type") else "map"
    return "any" if kind == "any" else str(kind)


def _values_only(node: Node) -> bool:
    """An enumeration whose values explain themselves has no table."""
    return "enum" in node and not any(one.get("description") for one in node["enum"])


def _link(name: str, component: str) -> str:
    home = _homes()[name]
    page = "" if home == component else f"{PAGES[home]}.md"
    return f"[{name}]({page}#{name.lower()})"


@cache
def _homes() -> dict[str, str]:
    homes: dict[str, str] = {}
    for component in PAGES:
        for node in _resource(component)["inputProperties"].values():
            for name in _reached(node, set()):
                homes.setdefault(name, component)
    return homes


def _reached(node: Any, seen: set[str]) -> Iterator[str]:
    for reference in re.findall(r"#/types/floodplain:index:(\w+)", str(node)):
        if reference not in seen:
            seen.add(reference)
            yield reference
            yield from _reached(_type_node(reference).get("properties", {}), seen)


def _resource(component: str) -> Node:
    found: Node = package_schema()["resources"][f"floodplain:index:{component}"]
    return found


def _type_node(name: str) -> Node:
    found: Node = package_schema()["types"][f"floodplain:index:{name}"]
    return found
