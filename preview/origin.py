"""Which key of the stack file is behind a property of a resource?

By names: an entry of a list in the stack file makes the resources that bear its `name`. Where nothing is found
the answer is "", and a finding then names the property only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from components.pool_origin import setting_behind
from components.worker_names import WORKERS_LABEL

from .paths import join
from .recording import Recorded
from .stackfile import StackFile
from .urn import parse

_WORKERS = "floodplain:index:WorkerPools"
_COMPONENT_KEYS: Mapping[str, str] = {
    "floodplain:index:KarpenterController": "karpenter",
    "floodplain:index:Controllers": "controllers",
    "floodplain:index:Guardrails": "guardrails",
    "floodplain:index:SizingService": "sizing",
    _WORKERS: "workerPools",
}


def place(stackfile: StackFile, resource: Recorded, property_path: str = "") -> str:
    """`stacks/Pulumi.prod.yaml: floodplain:pools[0].limits`, or ""."""
    workers = _workers(resource)
    names = {workers} if workers else set(_names(resource))
    list_of_workers = f"{stackfile.project}:{_COMPONENT_KEYS[_WORKERS]}["
    found = ""
    for path, entry in stackfile.named:
        if path.startswith(list_of_workers) == bool(workers) and entry["name"] in names:
            found = path if workers else path + _setting(property_path, entry)
            break
    if not found:
        found = _of_component(stackfile, resource)
    return f"{stackfile.path}: {found}" if found else ""


def _workers(resource: Recorded) -> str:
    """The name of the raster workers that an object belongs to, which a pool may have as well."""
    labels = resource.inputs.get("metadata", {}).get("labels", {}) if _WORKERS in parse(resource.urn).types else {}
    return str(labels.get(WORKERS_LABEL, ""))


def _names(resource: Recorded) -> Iterator[str]:
    """Names the resource goes by. Children are called after their component: `spill-nodepool`."""
    yield resource.name
    if resource.parent:
        yield parse(resource.parent).name
    metadata = resource.inputs.get("metadata")
    if isinstance(metadata, Mapping):
        name = str(metadata.get("name", ""))
        yield name
        # The objects of a pool beside its NodePool: RuntimeClass, PriorityClass, headroom.
        yield name.removeprefix("floodplain-").removeprefix("headroom-")
    pool = resource.outputs.get("poolName")
    if isinstance(pool, str):
        yield pool


def _setting(property_path: str, entry: Mapping[str, Any]) -> str:
    """The pool's setting behind the property, as far down as the entry of the stack file goes."""
    written = ""
    above: Any = entry
    for depth, step in enumerate(setting_behind(property_path)):
        known = _has(above, step)
        # A key that may be added beside others is named, too; of a list only what is there.
        if depth >= 2 and not known:
            break
        written = join(written, step)
        above = above[step] if known else None
    return f".{written}" if written else ""


def _has(value: Any, step: str | int) -> bool:
    if isinstance(value, list):
        return isinstance(step, int) and step < len(value)
    return isinstance(value, Mapping) and step in value


def _of_component(stackfile: StackFile, resource: Recorded) -> str:
    for type_token in reversed(parse(resource.urn).types):
        key = f"{stackfile.project}:{_COMPONENT_KEYS.get(type_token, '')}"
        if key in stackfile.values:
            return key
    return ""
