"""Annotations that carry an estimate to admission, which reads no raster: for one container, or into a manifest. Pure.

A manifest is changed on its YAML nodes, so that every other scalar stays as it was spelt; comments are not kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import yaml

from floodplain.admission.annotations import ENGINE, ESTIMATE, IMAGES, MEGAPIXELS, OPTIONS, PEAK
from floodplain.byte_amount import mib
from floodplain.problem import ABSENT, Problem, ProblemsError
from floodplain.quantity import MIB
from floodplain.sizing.workload import LONGEST_ESTIMATE, Engine

_OF_ODM = (IMAGES, OPTIONS, MEGAPIXELS)
_TEMPLATES = {"Pod": (), "Job": ("spec", "template"), "CronJob": ("spec", "jobTemplate", "spec", "template")}
"""Where the pod is in a manifest of a kind."""
_STR = "tag:yaml.org,2002:str"
_MAP = "tag:yaml.org,2002:map"
_PLAIN = re.compile(r"raster|[0-9]+Mi")


class ManifestError(ProblemsError):
    """A manifest that cannot be annotated. `problems` lists why."""


def annotations_of(
    marginal_bytes: int, baseline_bytes: int, terms: Mapping[str, int], *, of: str = ""
) -> dict[str, str]:
    """What a pod says of one task: engine, the container's peak in whole MiB, and what that consists of.

    `marginal_bytes` is the estimate, `of` says which task it is of.
    """
    peak = -(-(marginal_bytes + baseline_bytes) // MIB)
    parts = [("baseline", baseline_bytes), *sorted(terms.items(), key=lambda term: -term[1])]
    told = ", ".join(f"{name} {mib(count)}" for name, count in parts if count)
    text = f"{of}: {told}" if of else told
    short = text if len(text) <= LONGEST_ESTIMATE else f"{text[: LONGEST_ESTIMATE - 3]}..."
    return {ENGINE: Engine.RASTER.value, PEAK: f"{peak}Mi", ESTIMATE: short}


def to_yaml(annotations: Mapping[str, str]) -> str:
    """As lines below `annotations:`."""
    return yaml.safe_dump({"annotations": dict(annotations)}, sort_keys=False, width=10_000)


def patched(manifest: str, annotations: Mapping[str, str]) -> str:
    """The manifest with the annotations on its pod. Raises ManifestError.

    An annotation of ours that stands on a Job itself is set there too: both count as one set.
    """
    try:
        # The base loader takes every scalar as text in its own style, and so decides nothing that kubectl may decide
        # otherwise: 12:30:45 is a number in YAML 1.1 alone.
        documents = [one for one in yaml.compose_all(manifest, Loader=yaml.BaseLoader) if one and not _is_null(one)]
    except yaml.YAMLError as error:
        where = getattr(error, "problem_mark", None)
        place = f", line {where.line + 1}" if where else ""
        told = getattr(error, "problem", None) or error
        raise ManifestError([Problem(f"the manifest{place}", f"is not YAML ({told})", "mend it")]) from error
    whole = _one_with_a_pod(documents)
    path = (*_TEMPLATES[_text(_child(whole, "kind")) or ""], "metadata", "annotations")
    own = ("metadata", "annotations")
    problems = [problem for place in dict.fromkeys((own, path)) for problem in _problems(whole, place)]
    if problems:
        raise ManifestError(problems)
    if path != own and isinstance(there := _at(whole, own), yaml.MappingNode):
        for key in annotations:
            if _child(there, key) is not None:
                _put(_owned(whole, own), key, _scalar(annotations[key]))
    target = _owned(whole, path)
    for key, value in annotations.items():
        _put(target, key, _scalar(value))
    for document in documents:
        _in_blocks(document)
    return str(yaml.serialize_all(documents, Dumper=yaml.BaseDumper, width=10_000, allow_unicode=True))


def _one_with_a_pod(documents: Sequence[yaml.Node]) -> yaml.MappingNode:
    found = [one for one in documents if _text(_child(one, "kind")) in _TEMPLATES]
    if len(found) != 1 or not isinstance(found[0], yaml.MappingNode):
        kinds = ", ".join(_text(_child(one, "kind")) or "something without a kind" for one in documents) or "nothing"
        rule = f"has {len(found)} of {', '.join(_TEMPLATES)} and must have one (there: {kinds})"
        raise ManifestError([Problem("the manifest", rule, "name one with a single pod")])
    kind = _text(_child(found[0], "kind")) or ""
    if not isinstance(_at(found[0], _TEMPLATES[kind]), yaml.MappingNode):
        path = ".".join(_TEMPLATES[kind])
        raise ManifestError([Problem(path, "is no map", f"write the {kind} with its template")])
    return found[0]


def _problems(whole: yaml.MappingNode, path: Sequence[str]) -> Iterator[Problem]:
    """Of the annotations at a place, and of the maps on the way."""
    node: yaml.Node | None = whole
    for depth, key in enumerate(path, start=1):
        if _child(node, "<<") is not None:
            yield Problem(".".join(path[: depth - 1]) or "the manifest", "is merged (<<)", "write the map out")
        node = _child(node, key)
        if node is not None and not isinstance(node, yaml.MappingNode) and not _is_null(node):
            value = ABSENT if _text(node) is None else _text(node)
            yield Problem(".".join(path[:depth]), "is no map", "write key: value lines below it", value)
    engine = _child(node, ENGINE)
    if engine is not None and _text(engine) != Engine.RASTER.value:
        yield Problem(ENGINE, "is another engine", "take its annotations away first", _text(engine))
    for key in _OF_ODM:
        if _child(node, key) is not None:
            yield Problem(key, f"does not go with engine {Engine.RASTER.value}", "take it away first")


def _child(node: yaml.Node | None, key: str) -> yaml.Node | None:
    if not isinstance(node, yaml.MappingNode):
        return None
    return next((value for name, value in node.value if _text(name) == key), None)


def _at(node: yaml.Node | None, path: Sequence[str]) -> yaml.Node | None:
    for key in path:
        node = _child(node, key)
    return node


def _owned(node: yaml.MappingNode, path: Sequence[str]) -> yaml.MappingNode:
    """The map at a path, made where there is none. An alias of one that stands elsewhere too becomes a copy."""
    for key in path:
        found = _child(node, key)
        copied = yaml.MappingNode(_MAP, list(found.value) if isinstance(found, yaml.MappingNode) else [])
        _put(node, key, copied)
        node = copied
    return node


def _put(node: yaml.MappingNode, key: str, value: yaml.Node) -> None:
    for place, (name, _) in enumerate(node.value):
        if _text(name) == key:
            node.value[place] = (name, value)
            return
    node.value.append((yaml.ScalarNode(_STR, key), value))


def _scalar(value: str) -> yaml.ScalarNode:
    return yaml.ScalarNode(_STR, value, style=None if _PLAIN.fullmatch(value) else "'")


def _in_blocks(node: yaml.Node) -> None:
    """Without braces: within them a plain 12:30:45 would have to be quoted, and so become a text."""
    waiting, seen = [node], set()
    while waiting:
        one = waiting.pop()
        if not isinstance(one, yaml.CollectionNode) or id(one) in seen:
            continue
        seen.add(id(one))
        one.flow_style = False
        for item in one.value:
            waiting += item if isinstance(item, tuple) else (item,)


def _text(node: yaml.Node | None) -> str | None:
    return node.value if isinstance(node, yaml.ScalarNode) else None


def _is_null(node: yaml.Node) -> bool:
    return isinstance(node, yaml.ScalarNode) and not node.style and node.value in ("", "~", "null", "Null", "NULL")
