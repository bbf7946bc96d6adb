"""Tables of what a person writes: the keys of a stack file, and the commands."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import typer

from docs.markdown_table import code, table
from floodplain.cli import app as floodplain_app
from preview.cli import app as preview_app
from stacks.editor_schema import editor_schema

Node = Mapping[str, Any]


def stack_keys() -> str:
    """Every key of a stack file, from the schema that editors use: one table for each key that holds others."""
    schema = editor_schema()
    config = schema["properties"]["config"]
    found = {
        key: list(_rows(key, node, schema["$defs"], key in config["required"]))
        for key, node in config["properties"].items()
    }
    single = [row for rows in found.values() if len(rows) == 1 for row in rows]
    parts = [f"### {code(key)}\n\n{_table(rows)}" for key, rows in found.items() if len(rows) > 1]
    return "\n".join([*parts, f"### Keys without others below\n\n{_table(single)}"])


def _table(rows: list[tuple[str, ...]]) -> str:
    return table(("Key", "Type", "Default", "What it is"), rows)


def _rows(path: str, node: Node, definitions: Node, required: bool) -> Iterator[tuple[str, ...]]:
    target = _resolved(node, definitions)
    default = "required" if required else _default(node, target)
    yield code(path), _words(node, definitions), default, node.get("description", target.get("description", ""))
    item = _resolved(target.get("items", {}), definitions)
    for holder, suffix in ((target, ""), (item, "[]")):
        for name, inner in holder.get("properties", {}).items():
            short = f"{path.rpartition(':')[2]}{suffix}.{name}"
            yield from _rows(short, inner, definitions, name in holder.get("required", []))


def _resolved(node: Node, definitions: Node) -> Node:
    """What a property is, behind references and `or null`."""
    for option in node.get("anyOf", ()):
        if option.get("type") != "null":
            return _resolved(option, definitions)
    if "$ref" in node:
        return _resolved(definitions[node["$ref"].rsplit("/", 1)[-1]], definitions)
    return node


def _default(node: Node, target: Node) -> str:
    value = node.get("default")
    if value in (None, [], {}, "") or target.get("properties"):
        return ""
    return code(value if isinstance(value, str) else json.dumps(_without_nulls(value)))


def _without_nulls(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value


def _words(node: Node, definitions: Node) -> str:
    target = _resolved(node, definitions)
    if "enum" in target:
        return " or ".join(code(value) for value in target["enum"])
    kind = target.get("type")
    if kind == "array":
        return f"list of {_words(target['items'], definitions)}"
    if kind == "object":
        return "map"
    bounds = [
        f"{word} {target[key]:,}"
        for key, word in (
            ("exclusiveMinimum", "above"),
            ("minimum", "from"),
            ("exclusiveMaximum", "below"),
            ("maximum", "to"),
        )
        if key in target
    ]
    return " ".join([str(kind or "string"), *bounds])


PROGRAMS: Mapping[str, tuple[Any, str]] = {
    "preview": (preview_app, "python -m preview"),
    "floodplain": (floodplain_app, "floodplain"),
}
"""Each command line program: its typer app, and how one calls it."""


def commands(program: str) -> str:
    """The commands of a program, with their options."""
    app, name = PROGRAMS[program]
    rows = [
        (code(" ".join([usage, *_arguments(command)])), _sentence(_without_escapes(command.help)), _options(command))
        for usage, command in every_command(typer.main.get_command(app), name)
    ]
    return table(("Command", "What it does", "Options"), rows)


def every_command(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    """A program's commands at every depth, each with the words that call it."""
    below: Mapping[str, Any] = getattr(command, "commands", {})
    if not below:
        yield name, command
    for word, inner in below.items():
        yield from every_command(inner, f"{name} {word}")


def options_of(command: Any) -> dict[str, str]:
    """Every spelling of a command's options, and what it is for."""
    options = (one for one in command.params if one.param_type_name == "option")
    return {spelling: one.help or "" for one in options for spelling in (*one.opts, *one.secondary_opts)}


def _arguments(command: Any) -> Iterator[str]:
    for one in command.params:
        if one.param_type_name == "argument":
            yield str(one.metavar or one.name.upper())


def _options(command: Any) -> str:
    return "<br>".join(
        f"{code(spelling)} {_sentence(text)}"
        for spelling, text in options_of(command).items()
        if spelling.startswith("--") and spelling != "--help"
    )


def _without_escapes(markup: str | None) -> str | None:
    """Rich takes words in brackets for styles, so help escapes them."""
    return None if markup is None else markup.replace("\\[", "[")


def _sentence(text: str | None) -> str:
    return " ".join((text or "").split())
