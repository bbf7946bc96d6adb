"""The page's templates and the files it loads, read once from the package. Edge."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined

_TYPES = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8"}


@dataclass(frozen=True)
class StaticFile:
    """One file, with an address that changes with its content, so that browsers may keep it."""

    content: bytes
    media_type: str
    address: str


def static_files() -> Mapping[str, StaticFile]:
    """By name."""
    found = {}
    for entry in files("floodplain.service").joinpath("static").iterdir():
        kind = _TYPES.get(entry.name.rpartition(".")[2])
        if kind is not None:
            content = entry.read_bytes()
            digest = hashlib.sha256(content).hexdigest()[:12]
            found[entry.name] = StaticFile(content, kind, f"/static/{entry.name}?v={digest}")
    return found


def templates() -> Environment:
    """Whatever they show is escaped; a name that they do not know is an error."""
    return Environment(
        loader=PackageLoader("floodplain.service"),
        autoescape=True,
        undefined=StrictUndefined,
        auto_reload=False,
        trim_blocks=True,
        lstrip_blocks=True,
    )
