"""Read YAML as Pulumi does, and refuse what its parser, yaml.v3 of Go, takes for something else than its reader.

`yes` and 1:30 are texts to both. A plain date is a time there, 010 is eight, 1_000 a number, and every value goes
through a second writing, so that a plain 1.10 reaches the program as 1.1. Such values must be put in quotes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from floodplain.problem import Problem

from .problems import PreviewError

MOST_NODES = 50_000
"""Values in a file once its aliases are written out. A stack of hundreds of pools has a tenth of it."""
MOST_DEPTH = 100

_CORE = "tag:yaml.org,2002:"
_SCALARS = {
    "bool": r"true|True|TRUE|false|False|FALSE",
    "int": r"[-+]?(?:0|[1-9][0-9]*|0x[0-9a-fA-F]+|0o[0-7]+)",
    "float": r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?",
    "null": r"~|null|Null|NULL|",
}
# What yaml.v3 resolves in its own way (resolve.go). A tag with a space cannot be written in a file.
_REFUSED = {
    "read: date": (
        r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt ].*)?",
        "is a time to Pulumi, which the program gets in another form",
    ),
    "read: zero": (r"[-+]?0[0-9]+", "has a zero first, which makes it an octal number to Pulumi"),
    "read: base": (r"[-+]?0[bBXO][0-9a-fA-F_]+", "is a number of another base to Pulumi"),
    "read: apart": (
        r"(?=.*_)[-+]?[0-9][0-9_]*(?:\.[0-9_]*)?(?:[eE][-+]?[0-9_]+)?|[-+]?0[xo][0-9a-fA-F_]*_[0-9a-fA-F_]*",
        "is a number without its underscores to Pulumi",
    ),
    "read: no number": (r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)", "is a number that JSON cannot hold"),
}
_QUOTES = "put it in quotes"


class Loader(yaml.SafeLoader):
    """A safe loader with the plain scalars of YAML 1.2."""


Loader.yaml_implicit_resolvers = {}
for _tag, (_pattern, _) in _REFUSED.items():
    Loader.add_implicit_resolver(_tag, re.compile(f"^(?:{_pattern})$"), list("-+.0123456789"))
for _tag, _pattern, _first in (
    ("bool", _SCALARS["bool"], list("tTfF")),
    ("int", _SCALARS["int"], list("-+0123456789")),
    ("float", _SCALARS["float"], list("-+0123456789.")),
    ("null", _SCALARS["null"], ["~", "n", "N", ""]),
    ("merge", "<<", ["<"]),
):
    Loader.add_implicit_resolver(f"{_CORE}{_tag}", re.compile(f"^(?:{_pattern})$"), _first)


def _integer(_: Loader, node: yaml.ScalarNode) -> int:
    return int(str(node.value), 0)


def _number(_: Loader, node: yaml.ScalarNode) -> int | float:
    """Go writes 2.0 as 2."""
    value = float(node.value)
    return int(value) if value.is_integer() else value


Loader.add_constructor(f"{_CORE}int", _integer)
Loader.add_constructor(f"{_CORE}float", _number)


@dataclass(frozen=True)
class YamlFile:
    """What a file holds: a mapping with texts for keys."""

    content: dict[str, Any]


def read(path: Path, shown: str, texts_of: str = "config") -> YamlFile:
    """The mapping in a file; `shown` names the file. The values right below `texts_of` reach programs as texts.

    Raises PreviewError when the file cannot be read, is not YAML or no mapping, repeats a key, or holds what
    Pulumi would read in another way.
    """
    try:
        loader = Loader(path.read_text(encoding="utf-8"))
        node = loader.get_single_node()
        if node is not None:
            _check(node, shown, texts_of)
        content = loader.construct_document(node) if node is not None else None
    except OSError as error:
        rule = f"cannot be read ({error.strerror or error})"
        raise PreviewError([Problem(shown, rule, "make it a file that you may read")]) from None
    except UnicodeDecodeError as error:
        raise PreviewError([Problem(shown, f"is not UTF-8 text (byte {error.start})", "save it as UTF-8")]) from None
    except RecursionError:
        raise PreviewError([_too_deep(shown)]) from None
    except (yaml.YAMLError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        place = f"{shown}:{mark.line + 1}:{mark.column + 1}" if mark else shown
        what = getattr(error, "problem", None) or " ".join(str(error).split())
        raise PreviewError([Problem(place, f"is not YAML ({what})", "mend the line")]) from None
    if not isinstance(content, dict):
        remedy = f"start it with `{texts_of}:`"
        raise PreviewError([Problem(shown, "must hold a mapping", remedy, content)])
    return YamlFile(content)


def _check(node: yaml.Node, shown: str, texts_of: str) -> None:
    nodes, depth = _size(node, {}, (), shown)
    if depth > MOST_DEPTH:
        raise PreviewError([_too_deep(shown)])
    if nodes > MOST_NODES:
        rule = f"holds more than {MOST_NODES:,} values when its aliases are written out"
        raise PreviewError([Problem(shown, rule, "use fewer aliases (`*name`)")])
    problems = list(_problems(node, (), shown, texts_of, set()))
    if problems:
        raise PreviewError(problems)


def _too_deep(shown: str) -> Problem:
    return Problem(shown, f"is nested more than {MOST_DEPTH} levels deep", "take the brackets or levels apart")


def _size(node: yaml.Node, known: dict[int, tuple[int, int]], above: tuple[int, ...], shown: str) -> tuple[int, int]:
    """How many values a node stands for, and how deep they go. An alias is the node that it names."""
    if id(node) in above:
        place = f"{shown}:{node.start_mark.line + 1}"
        raise PreviewError([Problem(place, "has an anchor that contains itself", "take the alias out of it")])
    if id(node) not in known:
        sizes = [_size(child, known, (*above, id(node)), shown) for child in _children(node)]
        known[id(node)] = (1 + sum(size for size, _ in sizes), 1 + max((depth for _, depth in sizes), default=0))
    return known[id(node)]


def _children(node: yaml.Node) -> list[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        return [child for pair in node.value for child in pair]
    return list(node.value) if isinstance(node, yaml.SequenceNode) else []


def _problems(node: yaml.Node, path: tuple[str, ...], shown: str, texts_of: str, seen: set[int]) -> Iterator[Problem]:
    """What is wrong with each node, once. Merge keys still stand where they are written."""
    if id(node) in seen:
        return
    seen.add(id(node))
    where = _place(shown, path, texts_of)
    if isinstance(node, yaml.ScalarNode):
        yield from _scalar_problems(node, where, direct=len(path) == 2 and path[0] == texts_of)
        return
    if node.tag not in (f"{_CORE}map", f"{_CORE}seq"):
        yield Problem(where, f"has the tag `{_short(node.tag)}`, which no stack file needs", "take the tag off")
    if isinstance(node, yaml.SequenceNode):
        for number, item in enumerate(node.value):
            yield from _problems(item, (*path, f"[{number}]"), shown, texts_of, seen)
    elif isinstance(node, yaml.MappingNode):
        keys: set[str] = set()
        for key, value in node.value:
            name = str(key.value) if isinstance(key, yaml.ScalarNode) else "[...]"
            if not isinstance(key, yaml.ScalarNode) or key.tag not in (f"{_CORE}str", f"{_CORE}merge"):
                yield Problem(where, f"has the key `{name}`, which is no text to Pulumi", _QUOTES)
            elif name in keys:
                place = f"{shown}:{key.start_mark.line + 1}"
                yield Problem(place, f"has the key `{name}` twice in one mapping", "keep one")
            keys.add(name)
            yield from _problems(value, (*path, name), shown, texts_of, seen)


def _scalar_problems(node: yaml.ScalarNode, where: str, *, direct: bool) -> Iterator[Problem]:
    text, tag = str(node.value), node.tag.removeprefix(_CORE)
    if node.tag in _REFUSED:
        yield Problem(where, _REFUSED[node.tag][1], _QUOTES, text)
    elif tag in _SCALARS and node.tag.startswith(_CORE):
        if not re.fullmatch(_SCALARS[tag], text):
            yield Problem(where, f"is not what its tag `!!{tag}` says", "take the tag off", text)
        elif _too_large(tag, text):
            yield Problem(where, "is a number of more than 64 bits", _QUOTES, text)
        # Go writes a number in the shortest way, from a million on with an exponent.
        elif tag == "float" and direct and not re.fullmatch(r"-?(0|[1-9]\d{0,5})\.(?!0000)\d{0,9}[1-9]", text):
            yield Problem(where, "is a number that Pulumi hands over in another spelling", _QUOTES, text)
    elif node.tag != f"{_CORE}str":
        yield Problem(where, f"has the tag `{_short(node.tag)}`, which no stack file needs", "take the tag off")


def _too_large(tag: str, text: str) -> bool:
    if tag == "int":
        return len(text) > 18 and not -(2**63) <= int(text, 0) < 2**64
    return tag == "float" and math.isinf(float(text))


def _short(tag: str) -> str:
    return f"!!{tag.removeprefix(_CORE)}" if tag.startswith(_CORE) else tag


def _place(shown: str, path: tuple[str, ...], texts_of: str) -> str:
    """As findings name it: without the first key of a stack file, `config`."""
    steps = path[1:] if len(path) > 1 and path[0] == texts_of else path
    written = "".join(step if step.startswith("[") else f".{step}" for step in steps).removeprefix(".")
    return f"{shown}: {written}" if written else shown
