"""Annotations that carry an estimate to admission, which reads no raster: for one container, or into a manifest. Pure.

A manifest is changed on its YAML nodes, so that every other scalar stays as it was spelt; comments are not kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import yaml

from floodplain.admission.annotations import ENGINE, ESTIMATE, IMAGES, MEGAPIXELS, OPTIONS, PEAK
from floodplain.problem import Problem, ProblemsError
from floodplain.quantity import MIB
from floodplain.raster.two_pools import mib
from floodplain.sizing.workload import LONGEST_ESTIMATE, Engine

_OF_ODM = (IMAGES, OPTIONS, MEGAPIXELS)
_TEMPLATES = {"Pod": (), "Job": ("spec", "template"), "CronJob": ("spec", "jobTemplate", "spec", "template")}
"""Where the pod is in a manifest of a kind."""
_TEXT = "tag:yaml.org,2002:str"
_MAP = "tag:yaml.org,2002:map"


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
        documents = [one for one in yaml.compose_all(manifest, Loader=yaml.SafeLoader) if one is not None]
    except yaml.YAMLError as error:
        where = getattr(error, "problem_mark", None)
        place = f", line {where.line + 1}" if where else ""
        told = getattr(error, "problem", None) or error
        raise ManifestError([Problem(f"the manifest{place}", f"is not YAML ({told})", "mend it")]) from error
    pods = [(one, found) for one in documents if (found := _pod(one)) is not None]
    if len(pods) != 1:
        kinds = ", ".join(_text(_child(one, "kind")) or "something without a kind" for one in documents) or "nothing"
        rule = f"has {len(pods)} of {', '.join(_TEMPLATES)} and must have one (there: {kinds})"
        raise ManifestError([Problem("the manifest", rule, "name one with a single pod")])
    ((whole, pod),) = pods
    problems = list(_contradictions(whole, pod))
    if problems:
        raise ManifestError(problems)
    for metadata in _metadata(whole, pod):
        there = _child(metadata, "annotations") if metadata is not pod else None
        if isinstance(there, yaml.MappingNode):
            for key in annotations:
                if _child(there, key) is not None:
                    _set(there, key, annotations[key])
    target = _below(_below(pod, "metadata"), "annotations")
    for key, value in annotations.items():
        _set(target, key, value)
    return str(yaml.serialize_all(documents, Dumper=yaml.SafeDumper, width=10_000, allow_unicode=True))


def _pod(document: yaml.Node) -> yaml.MappingNode | None:
    """The part of a document that is a pod's template, or the pod."""
    kind = _text(_child(document, "kind"))
    if kind not in _TEMPLATES:
        return None
    found: yaml.Node | None = document
    for key in _TEMPLATES[kind]:
        found = _child(found, key)
    if not isinstance(found, yaml.MappingNode):
        path = ".".join(_TEMPLATES[kind]) or "the manifest"
        raise ManifestError([Problem(path, "is no map", f"write the {kind} with its template")])
    return found


def _metadata(whole: yaml.Node, pod: yaml.MappingNode) -> Iterator[yaml.Node]:
    for part in (whole, pod):
        metadata = _child(part, "metadata")
        if metadata is not None and (part is not pod or whole is pod):
            yield metadata


def _contradictions(whole: yaml.Node, pod: yaml.MappingNode) -> Iterator[Problem]:
    for part in dict.fromkeys((whole, pod)):
        for key in ("metadata", "annotations"):
            part = _child(part, key)  # type: ignore[assignment]
            if part is not None and not isinstance(part, yaml.MappingNode) and not _is_null(part):
                yield Problem(key, "is no map", "write key: value lines below it", _text(part))
        engine = _child(part, ENGINE)
        if engine is not None and _text(engine) != Engine.RASTER.value:
            yield Problem(ENGINE, "is another engine", "take its annotations away first", _text(engine))
        for key in _OF_ODM:
            if _child(part, key) is not None:
                yield Problem(key, f"does not go with engine {Engine.RASTER.value}", "take it away first")


def _child(node: yaml.Node | None, key: str) -> yaml.Node | None:
    if not isinstance(node, yaml.MappingNode):
        return None
    return next((value for name, value in node.value if _text(name) == key), None)


def _below(node: yaml.MappingNode, key: str) -> yaml.MappingNode:
    """The map at a key, made where there is none."""
    found = _child(node, key)
    if isinstance(found, yaml.MappingNode):
        return found
    made = yaml.MappingNode(_MAP, [], flow_style=False)
    _put(node, key, made)
    return made


def _set(node: yaml.MappingNode, key: str, value: str) -> None:
    _put(node, key, yaml.ScalarNode(_TEXT, value))


def _put(node: yaml.MappingNode, key: str, value: yaml.Node) -> None:
    for place, (name, _) in enumerate(node.value):
        if _text(name) == key:
            node.value[place] = (name, value)
            return
    node.value.append((yaml.ScalarNode(_TEXT, key), value))


def _text(node: yaml.Node | None) -> str | None:
    return node.value if isinstance(node, yaml.ScalarNode) else None


def _is_null(node: yaml.Node) -> bool:
    return node.tag == "tag:yaml.org,2002:null"
