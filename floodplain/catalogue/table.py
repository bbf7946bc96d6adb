"""The catalogue as text: tab-separated, one instance type a line, comments first. Package data and exchange.

Reads and writes; where the facts come from is catalogue.refresh, what they mean catalogue.instance_type.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import fields
from functools import cache
from importlib.resources import files
from typing import Any

from floodplain.catalogue.instance_type import InstanceType, name_parts
from floodplain.problem import Problem, ProblemsError
from floodplain.tab_separated import rows

COLUMNS = tuple(field.name for field in fields(InstanceType))
PACKAGED = "instance-types.tsv"


class TableError(ProblemsError):
    """A table that cannot be read. `problems` lists every line that is wrong."""


@cache
def load() -> tuple[InstanceType, ...]:
    """The packaged instance types, in the table's order."""
    return parse(files("floodplain.catalogue").joinpath(PACKAGED).read_text(encoding="ascii"))


def parse(text: str, origin: str = PACKAGED) -> tuple[InstanceType, ...]:
    """The types in a table. Raises TableError with every problem."""
    kinds: list[InstanceType] = []
    problems: list[Problem] = []
    seen: set[str] = set()
    for one in rows(text, COLUMNS, origin=origin, rule="is not a catalogue"):
        if isinstance(one, Problem):
            problems.append(one)
            continue
        where, row = one.where, one.cells
        found = [Problem(f"{where}, {name}", rule, "", row[name]) for name, rule in _wrong_cells(row)]
        if row["name"] in seen:
            found.append(Problem(where, "is listed twice", "keep one line a type", row["name"]))
        seen.add(row["name"])
        problems += found
        if not found:
            kinds.append(InstanceType(**{name: _READERS[name](cell) for name, cell in row.items()}))
    if problems:
        raise TableError(problems)
    return tuple(kinds)


def render(kinds: Iterable[InstanceType], comment: str = "") -> str:
    """The table of `kinds`, in their order. `comment` goes before it, each line marked with `#`."""
    lines = [f"# {line}".rstrip() for line in comment.splitlines()]
    lines.append("\t".join(COLUMNS))
    lines += ["\t".join(_cell(getattr(kind, name)) for name in COLUMNS) for kind in kinds]
    return "\n".join(lines) + "\n"


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _optional(text: str) -> int | None:
    return int(text) if text else None


_READERS: dict[str, Callable[[str], Any]] = {
    **dict.fromkeys(COLUMNS, str),
    **dict.fromkeys(("generation", "vcpu", "memory_mib", "nvme_gb", "pods"), int),
    **dict.fromkeys(("network_mbps", "ebs_mbps", "gpu_count"), _optional),
    "encryption_in_transit": "true".__eq__,
}
_CHOICES = {
    "arch": ("amd64", "arm64"),
    "storage": ("ssd", "hdd"),
    "hypervisor": ("nitro", "xen", ""),
    "encryption_in_transit": ("true", "false"),
}


def _wrong_cells(row: dict[str, str]) -> Iterable[tuple[str, str]]:
    parts = name_parts(row["name"])
    if parts is None:
        yield "name", "is not the name of an instance type"
    else:
        for name in ("family", "category", "generation", "size"):
            if row[name] != str(getattr(parts, name)):
                yield name, f"does not fit the name {row['name']}"
    for name, choices in _CHOICES.items():
        if row[name] not in choices:
            yield name, f"is none of {', '.join(choice or '(empty)' for choice in choices)}"
    for name in ("vcpu", "memory_mib", "nvme_gb", "pods"):
        if not (row[name].isascii() and row[name].isdigit() and int(row[name]) > 0):
            yield name, "is not a whole number above zero"
    for name in ("network_mbps", "ebs_mbps", "gpu_count"):
        if row[name] and not (row[name].isascii() and row[name].isdigit()):
            yield name, "is neither empty nor a whole number"
