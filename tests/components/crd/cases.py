"""Reads the corpus: objects that are right, and objects that break a rule, each with what is to be said of it.

A case is a YAML document with
  name          a sentence of its own
  manifest      a whole object, or
  base, patch   a base of bases.yaml and a JSON merge patch (RFC 7396) over it
  many          {at, count, item | entry | text}: a list of `count` items, a map of as many entries, or a text of as
                many repetitions at a dotted path; {n} in item and entry is the number of each
  before        (changes.yaml) the patch of the base that stands in the cluster when the case replaces it
  verdict_api   what the API server answers: accept or reject
  breaks        CRD rules as in rules.tsv that are broken: path, keyword and for CEL its digest
  void          CRD rules that stand where they have no effect, and that the case would break otherwise
  problems      what `violations` (in changes.yaml: `changed_immutably`) says: at, where, says
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

FOLDER = Path(__file__).parent / "corpus"


@dataclass(frozen=True)
class Case:
    """One object of the corpus and what is to be said of it."""

    file: str
    name: str
    manifest: dict[str, Any]
    before: dict[str, Any] | None
    verdict_api: str
    problems: list[dict[str, str]]
    breaks: tuple[str, ...] = ()
    void: tuple[str, ...] = ()
    raw: dict[str, Any] = field(default_factory=dict, repr=False)

    @property
    def label(self) -> str:
        """How test reports name the case."""
        return f"{self.file}: {self.name}"


def merged(target: Any, patch: Any) -> Any:
    """A JSON merge patch applied (RFC 7396), without changing its inputs."""
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return copy.deepcopy(result)


def put(manifest: Any, path: str, value: Any) -> None:
    """Set a value at a dotted path, making maps on the way; numbers are positions in lists."""
    *way, last = [int(part) if part.isdecimal() else part for part in path.split(".")]
    for part in way:
        manifest = manifest[part] if isinstance(part, int) else manifest.setdefault(part, {})
    manifest[last] = value


def _numbered(item: Any, number: int) -> Any:
    if isinstance(item, dict):
        return {_numbered(key, number): _numbered(value, number) for key, value in item.items()}
    if item == "{n}":
        return number
    return item.replace("{n}", str(number)) if isinstance(item, str) else item


def _many(wish: dict[str, Any]) -> Any:
    numbers = range(wish["count"])
    if "text" in wish:
        return wish["text"] * wish["count"]
    if "entry" in wish:
        return {key: value for n in numbers for key, value in _numbered(wish["entry"], n).items()}
    return [_numbered(wish["item"], n) for n in numbers]


def documents(path: Path) -> list[dict[str, Any]]:
    """The YAML documents of a file."""
    return [document for document in yaml.safe_load_all(path.read_text()) if document]


def cases() -> list[Case]:
    """Every case of the corpus."""
    bases = {entry["base"]: entry["manifest"] for entry in documents(FOLDER / "bases.yaml")}
    found = []
    for path in sorted(FOLDER.glob("*.yaml")):
        for raw in documents(path) if path.name != "bases.yaml" else ():
            base = bases.get(raw.get("base", ""))
            manifest = raw.get("manifest") or merged(base, raw.get("patch", {}))
            if "many" in raw:
                put(manifest, raw["many"]["at"], _many(raw["many"]))
            found.append(
                Case(
                    file=path.stem,
                    name=raw["name"],
                    manifest=manifest,
                    before=merged(base, raw["before"]) if "before" in raw else None,
                    verdict_api=raw["verdict_api"],
                    problems=raw.get("problems", []),
                    breaks=tuple(raw.get("breaks", ())),
                    void=tuple(raw.get("void", ())),
                    raw=raw,
                )
            )
    return found
