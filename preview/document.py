"""A recording as one plain document: the form of golden files, of comparisons and of the machine's output.

Secrets are replaced by a mark here, so a document may be printed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import yaml

from . import wire
from .recording import Invoke, Read, Recorded, Recording

_Dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


class _Readable(_Dumper):  # type: ignore[misc,valid-type]  # the C dumper where libyaml is present
    """Texts of several lines as blocks, nothing shared by anchors."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _represent(dumper: Any, text: str) -> Any:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Readable.add_representer(str, _represent)


def of(recording: Recording) -> dict[str, Any]:
    """Everything recorded, empty parts left out."""
    return {
        "resources": [_fields(resource) for resource in recording.resources],
        "outputs": wire.conceal(dict(recording.outputs)),
        "reads": [_fields(read) for read in recording.reads],
        "invokes": [_fields(invoke) for invoke in recording.invokes],
        "messages": [{"severity": one.severity, "text": one.text, "urn": one.urn} for one in recording.messages],
    }


def _fields(thing: Recorded | Read | Invoke) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for field in fields(thing):
        value = getattr(thing, field.name)
        if isinstance(value, tuple):
            value = list(value)
        elif isinstance(value, Mapping):
            value = {key: list(item) if isinstance(item, tuple) else wire.conceal(item) for key, item in value.items()}
        if value not in ("", [], {}) or field.name == "inputs":
            found[field.name] = value
    return found


def as_yaml(value: Any) -> str:
    """A plain value for people: keys in their order, texts of several lines as blocks."""
    return str(yaml.dump(value, Dumper=_Readable, sort_keys=False, allow_unicode=True, width=110))
