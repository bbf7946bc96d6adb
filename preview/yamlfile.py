"""Read YAML as Go's parser does, on which Pulumi relies: `yes` is text, a date is text, a key stands once.

PyYAML follows YAML 1.1, where `on` is a truth value, 010 is eight and 1:30 is ninety.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from floodplain.problem import Problem

from .problems import PreviewError


class Loader(yaml.SafeLoader):
    """A safe loader with the plain scalars of YAML 1.2."""


Loader.yaml_implicit_resolvers = {}
for _tag, _pattern, _first in (
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("int", r"[-+]?(?:[0-9]+|0x[0-9a-fA-F]+|0o[0-7]+)", "-+0123456789"),
    (
        "float",
        r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN)",
        "-+0123456789.",
    ),
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("merge", r"<<", "<"),
):
    Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(f"^(?:{_pattern})$"), list(_first))


def _integer(loader: Loader, node: yaml.ScalarNode) -> int:
    text = str(node.value)
    return int(text, 0) if "x" in text or "o" in text else int(text, 10)


Loader.add_constructor("tag:yaml.org,2002:int", _integer)


@dataclass(frozen=True)
class YamlFile:
    """`content` is the value; `texts` the scalars of the mapping at `texts_of`, as they are written."""

    content: dict[str, Any]
    texts: Mapping[str, str]


def read(path: Path, shown: str, texts_of: str = "config") -> YamlFile:
    """Raises PreviewError when the file is not YAML, not a mapping, or repeats a key. `shown` names it."""
    try:
        loader = Loader(path.read_text(encoding="utf-8"))
        node = loader.get_single_node()
        content = loader.construct_document(node) if node is not None else None
    except UnicodeDecodeError as error:
        raise PreviewError([Problem(shown, f"is not UTF-8 text (byte {error.start})", "save it as UTF-8")]) from None
    except (yaml.YAMLError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        place = f"{shown}:{mark.line + 1}:{mark.column + 1}" if mark else shown
        what = getattr(error, "problem", None) or str(error)
        raise PreviewError([Problem(place, f"is not YAML ({what})", "mend the line")]) from None
    repeated = list(_repeated(node)) if node is not None else []
    if repeated:
        raise PreviewError(
            Problem(f"{shown}:{line}", f"has the key `{key}` twice in one mapping", "keep one")
            for key, line in repeated
        )
    if not isinstance(content, dict):
        remedy = f"start it with `{texts_of}:`"
        raise PreviewError([Problem(shown, "must hold a mapping", remedy, content)])
    return YamlFile(content, _texts(node, texts_of))


def _repeated(node: yaml.Node) -> Iterator[tuple[str, int]]:
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            if str(key.value) in seen and key.value != "<<":
                yield str(key.value), key.start_mark.line + 1
            seen.add(str(key.value))
            yield from _repeated(value)
    elif isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from _repeated(item)


def _texts(node: yaml.Node | None, key: str) -> dict[str, str]:
    for name, below in node.value if isinstance(node, yaml.MappingNode) else ():
        if name.value == key and isinstance(below, yaml.MappingNode):
            return {
                str(inner.value): "" if value.tag.endswith(":null") else str(value.value)
                for inner, value in below.value
                if isinstance(value, yaml.ScalarNode)
            }
    return {}
